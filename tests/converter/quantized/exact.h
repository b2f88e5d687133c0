/// Real numbers without rounding: what operators compute on quantised tensors, written a second time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace skiff::testing {

__extension__ using Wide = __int128;

/// Element i stands for numbers[i] / (2^exponent * divisor).
struct Exact {
  Shape shape;
  std::vector<Wide> numbers;
  int exponent = 0;
  int64_t divisor = 1;

  double Real(size_t i) const;
};

/// Operands have this exponent, products twice as much. Scales and floats are multiples of 2^-32.
inline constexpr int kOperandExponent = 32;

/// Of a quantised tensor, or of one of f32.
Exact ExactOf(const TensorData& data);
/// A bias as the products of two operands are; where its scales are meant to be those of the products, they
/// are.
Exact ExactBias(const TensorData& bias, const TensorData& x, const TensorData& weights);

/// Which of its scales an element has.
int64_t ScaleOf(const Quantization& quantization, const Shape& shape, int64_t element);

/// What two shapes are broadcast to, and where an element of that lies in one of them.
Shape BroadcastShape(const Shape& a, const Shape& b);
size_t BroadcastAt(const Shape& from, const Shape& shape, int64_t element);

/// Element i, rounded half to even into the output's quantisation, saturating.
int64_t RoundedCode(const Exact& exact, size_t i, DType dtype, float scale, int32_t zero_point);

/// Where element i lies half way between two steps of this scale: the lower one.
std::optional<int64_t> StepBelowTie(const Exact& exact, size_t i, float scale);

/// The bounds of a clamp, which are multiples of 2^-32.
Exact Clamped(Exact exact, float min, float max);

Exact ExactUnary(OpCode op, const AttrStorage& attrs, const Exact& x);
Exact ExactBinary(OpCode op, const AttrStorage& attrs, const Exact& a, const Exact& b);
Exact ExactPool(OpCode op, const AttrStorage& attrs, const Exact& x);
/// Over one axis.
Exact ExactReduce(OpCode op, const AttrStorage& attrs, const Exact& x);
Exact ExactConv(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias);
Exact ExactConvTranspose(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias);
Exact ExactFullyConnected(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias);
/// `b` is a matrix; `a` has as many axes as it likes.
Exact ExactMatMul(const AttrStorage& attrs, const Exact& a, const Exact& b);

/// Elements [lowest, highest] of a dtype that can be quantised.
struct CodeRange {
  int64_t low;
  int64_t high;
};
CodeRange RangeOf(DType dtype);

/// A tensor of integers, which may be packed.
TensorData OfCodes(DType dtype, const Shape& shape, const std::vector<int64_t>& codes);

}  // namespace skiff::testing
