/// The operators as functions of eager tensors. docs/operators.md says what each computes and which dtypes it
/// takes; attribute structs are those of runtime/ops/attrs.h. Layout: two-dimensional convolution, pooling
/// and resize take NHWC, weights are OHWI.
///
/// Binary operators broadcast as NumPy's do: shapes are aligned at the last axis, and an extent of 1 (or a
/// missing axis) is repeated. Both operands have the same dtype, and so has the result (bool for
/// comparisons): nothing is promoted, so that a graph has the types that its author wrote; Cast() says a
/// change. A C++ number takes the other operand's dtype.
///
/// Every function throws skiff::Error that begins with the place of the call: kInvalidModel where shapes or
/// dtypes do not fit the operator, kUnsupported where there is no kernel for the dtype, kInvalidArgument for
/// values that it forbids.
#pragma once

#include <initializer_list>
#include <utility>

#include "trace/tensor.h"

namespace skiff::eager {

/// Integers that an operator wants as a tensor (a shape, axes, pads): a list, or a one-dimensional i64
/// Tensor.
class IntList {
 public:
  IntList(std::initializer_list<int64_t> values) : IntList(std::vector<int64_t>(values)) {}
  IntList(const std::vector<int64_t>& values) : tensor_(Tensor::Of(values)) {}  // NOLINT: a list is one
  IntList(const Shape& shape)                                                   // NOLINT
      : IntList(std::vector<int64_t>(shape.begin(), shape.end())) {}
  IntList(const Tensor& tensor) : tensor_(tensor) {}  // NOLINT
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

// Each operator without attributes that works element by element: Abs(x), Exp(x), Not(x), Add(a, b), Less(a,
// b), ... Two operands are broadcast.
#define SKIFF_UNARY(Name) Tensor Name(Operand x);
#define SKIFF_BINARY(Name) Tensor Name(Operand a, Operand b);
#include "trace/elementwise.inc"

// One element in, one out.
Tensor Identity(Operand x);
Tensor Relu(Operand x);
Tensor Clamp(Operand x, float min, float max);
Tensor Gelu(Operand x, const GeluAttrs& attrs = {});
Tensor LeakyRelu(Operand x, float alpha = 0.01f);
Tensor Elu(Operand x, float alpha = 1.0f);
Tensor HardSigmoid(Operand x, const HardSigmoidAttrs& attrs = {});
Tensor IsInf(Operand x, const IsInfAttrs& attrs = {});
Tensor Cast(Operand x, DType to);

/// Rounds real numbers to integers that stand for them: PerTensor(scale, zero_point), or PerAxis(axis,
/// scales). Operators on quantised tensors compute on the numbers that these stand for, and give f32.
Tensor Quantize(Operand x, DType dtype, const QuantizationPtr& quantization);
/// f32.
Tensor Dequantize(Operand x);
/// Other integers for the same numbers, rounded once.
Tensor Requantize(Operand x, DType dtype, const QuantizationPtr& quantization);

// Two operands, broadcast.
Tensor Mod(Operand a, Operand b, const ModAttrs& attrs = {});
/// Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.
Tensor Where(const Tensor& condition, Operand a, Operand b);

inline Tensor operator+(Operand a, Operand b) { return Add(a, b); }
inline Tensor operator-(Operand a, Operand b) { return Sub(a, b); }
inline Tensor operator*(Operand a, Operand b) { return Mul(a, b); }
inline Tensor operator/(Operand a, Operand b) { return Div(a, b); }
inline Tensor operator%(Operand a, Operand b) { return Mod(a, b); }
inline Tensor operator-(Operand x) { return Neg(x); }
inline Tensor operator<(Operand a, Operand b) { return Less(a, b); }
inline Tensor operator<=(Operand a, Operand b) { return LessOrEqual(a, b); }
inline Tensor operator>(Operand a, Operand b) { return Greater(a, b); }
inline Tensor operator>=(Operand a, Operand b) { return GreaterOrEqual(a, b); }
inline Tensor operator==(Operand a, Operand b) { return Equal(a, b); }
inline Tensor operator!=(Operand a, Operand b) { return Not(Equal(a, b)); }
inline Tensor operator&(Operand a, Operand b) { return And(a, b); }
inline Tensor operator|(Operand a, Operand b) { return Or(a, b); }
inline Tensor operator^(Operand a, Operand b) { return Xor(a, b); }
inline Tensor operator!(Operand x) { return Not(x); }

// Windows and products. An empty bias is none.
Tensor Conv2d(Operand x, const Tensor& weights, const Tensor& bias = {}, const Conv2dAttrs& attrs = {});
Tensor ConvTranspose2d(Operand x, const Tensor& weights, const Tensor& bias = {},
                       const ConvTranspose2dAttrs& attrs = {});
Tensor MaxPool2d(Operand x, const Pool2dAttrs& attrs);
Tensor AveragePool2d(Operand x, const Pool2dAttrs& attrs);
Tensor MaxPool2dIndices(Operand x, const Pool2dAttrs& attrs);
/// To (height, width).
Tensor Resize2d(Operand x, const IntList& size, const ResizeAttrs& attrs = {});
Tensor GridSample2d(Operand x, const Tensor& grid, const GridSampleAttrs& attrs = {});
Tensor RoiAlign(Operand x, const Tensor& regions, const Tensor& images, const RoiAlignAttrs& attrs);
Tensor MatMul(Operand a, const Tensor& b, const MatMulAttrs& attrs = {});
/// x [.., in] times weights [out, in], plus a bias [out].
Tensor FullyConnected(Operand x, const Tensor& weights, const Tensor& bias = {},
                      const ClampAttrs& attrs = {});

// Reductions and normalisations.
#define SKIFF_EAGER_REDUCE(apply) \
  apply(ReduceSum) apply(ReduceMean) apply(ReduceMax) apply(ReduceMin) apply(ReduceProd)
#define SKIFF_EAGER_DECLARE(Name) Tensor Name(Operand x, const ReduceAttrs& attrs = {});
SKIFF_EAGER_REDUCE(SKIFF_EAGER_DECLARE)
#undef SKIFF_EAGER_DECLARE
Tensor Softmax(Operand x, int64_t axis = -1);
Tensor LogSoftmax(Operand x, int64_t axis = -1);
Tensor LayerNorm(Operand x, const Tensor& scale, const Tensor& bias = {}, const NormAttrs& attrs = {});
Tensor BatchNorm(Operand x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                 const Tensor& variance, const NormAttrs& attrs = {});
Tensor ArgMax(Operand x, const ArgAttrs& attrs = {});
Tensor ArgMin(Operand x, const ArgAttrs& attrs = {});
/// The k largest elements along an axis, and their indices.
std::pair<Tensor, Tensor> TopK(Operand x, int64_t k, const TopKAttrs& attrs = {});
Tensor CumSum(Operand x, int64_t axis, const CumSumAttrs& attrs = {});

// Recurrent layers.
/// What they take where it is there; empty tensors are absent.
struct RecurrentInputs {
  Tensor bias = {};       ///< Of the recurrent product, [gates x H].
  Tensor state = {};      ///< The first, [B, H]; absent: 0.
  Tensor lengths = {};    ///< Steps of each sequence, [B], i32 or i64; absent: all.
  Tensor cell = {};       ///< Lstm: its first cell state, [B, H]; absent: 0.
  Tensor peepholes = {};  ///< Lstm: [3 x H], of the input, output and forget gate.
};
struct RecurrentResults {
  Tensor states;  ///< At each step, [T, B, H].
  Tensor state;   ///< The last, [B, H].
  Tensor cell;    ///< Lstm: its last cell state, [B, H].
};
/// x: the sequence times the input weights, [T, B, gates x H], one FullyConnected for all steps; weights: the
/// recurrent ones, [gates x H, H]. Gates: Lstm input, output, forget, cell; Gru update, reset, hidden; Rnn
/// one.
RecurrentResults Lstm(Operand x, const Tensor& weights, const RecurrentInputs& inputs = {},
                      const RecurrentAttrs& attrs = {});
RecurrentResults Gru(Operand x, const Tensor& weights, const RecurrentInputs& inputs = {},
                     const RecurrentAttrs& attrs = {});
RecurrentResults Rnn(Operand x, const Tensor& weights, const RecurrentInputs& inputs = {},
                     const RecurrentAttrs& attrs = {});

// Shapes and movement.
/// The extents as an i64 vector: what a function uses that must work at every size.
Tensor ShapeOf(Operand x, const ShapeAttrs& attrs = {});
/// One extent may be -1, a 0 copies the input's.
Tensor Reshape(Operand x, const IntList& shape, const ReshapeAttrs& attrs = {});
Tensor Flatten(Operand x, int64_t axis = 1);
Tensor Squeeze(Operand x, const Ints& axes = {});
Tensor Unsqueeze(Operand x, const Ints& axes);
Tensor Transpose(Operand x, const Ints& perm = {});
Tensor Concat(const Tensors& parts, int64_t axis, const Location& where = Location::current());
Tensors Split(Operand x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// Steps of 1 where there are none; all axes, in order, where none are named.
Tensor Slice(Operand x, const IntList& starts, const IntList& ends, const IntList& axes = Tensor(),
             const IntList& steps = Tensor());
Tensor Gather(Operand x, const Tensor& indices, int64_t axis = 0);
/// pads: before each axis, then behind each axis; an empty value is 0.
Tensor Pad(Operand x, const IntList& pads, const PadAttrs& attrs = {}, const Tensor& value = {});
Tensor Expand(Operand x, const IntList& shape);
Tensor Tile(Operand x, const IntList& repeats);
Tensor Fill(const IntList& shape, DType dtype, double value, const Location& where = Location::current());
/// start, start + delta, ... below the limit (above it for a negative delta); all of one dtype, rank 0.
Tensor Range(Operand start, const Tensor& limit, const Tensor& delta);
Tensor ChannelShuffle(Operand x, int64_t groups);
Tensor GatherElements(Operand x, const Tensor& indices, int64_t axis = 0);
Tensor GatherND(Operand x, const Tensor& indices, const GatherNDAttrs& attrs = {});
Tensor ScatterElements(Operand x, const Tensor& indices, const Tensor& updates,
                       const ScatterAttrs& attrs = {});
Tensor ScatterND(Operand x, const Tensor& indices, const Tensor& updates, const ScatterAttrs& attrs = {});
Tensor ReverseSequence(Operand x, const Tensor& lengths, const ReverseAttrs& attrs = {});
Tensor Trilu(Operand x, bool upper, int64_t diagonal = 0);

}  // namespace skiff::eager
