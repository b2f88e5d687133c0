/// How far a fast path may be from the reference kernel: what rounding costs, operator by operator
/// (docs/numerics.md). The conformance tests hold every kernel to it; parity asks what it costs a whole net.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ops/attrs.h"
#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff {

/// How the difference follows from a node's elements; eps is that of the storage type.
enum class RoundingRule {
  kExact,  ///< The same value (or a subnormal one flushed to zero), or both NaN: elements moved or chosen.
  kUlp,    ///< `c` units in the last place of the result.
  kInput,  ///< c * eps * |x|: the formula cancels, so that its terms are as large as the input.
  kTerms,  ///< c * eps * sum of absolute terms, from the reference with absolute inputs.
  kLayerNorm,  ///< The same, by hand: the deviations cancel.
  kLargest,    ///< c * eps * (max|x| + max|y|): the largest of a row is subtracted from all.
  kFactors,    ///< c * eps * |y| for each factor of the product.
  kState,      ///< c * eps * max(1, max|y|), of every output: states of about 1, larger ones where a Relu
               ///< lets them, from gates whose rounding fades over the steps.
  kResize,     ///< c * eps * extent * max|x|: the sampling position is rounded in f32, and two pixels side by
               ///< side are up to 2 max|x| apart.
};

struct Rounding {
  RoundingRule rule = RoundingRule::kExact;
  double c = 0;
};

/// Of the delegate's fast path.
Rounding RoundingOf(OpCode op, DelegateKind delegate);

/// 2^-24 for f32, 2^-11 for f16, 2^-53 for f64.
double RoundingUnit(DType dtype);

/// A tensor's elements as numbers.
struct Numbers {
  Shape shape;
  std::span<const double> values;
};

/// A node that ran.
struct NodeNumbers {
  OpCode op{};
  const AttrStorage* attrs = nullptr;
  std::span<const Numbers> inputs;  ///< Without values where a rule does not ask: integers, absent ones.
  Numbers output;
  DType dtype = DType::kInvalid;  ///< Of the output.
  /// What the reference makes of AbsoluteInput() and WithoutClamp(). Called where the rule asks for it.
  std::function<std::vector<double>()> absolute_terms;
};

/// The largest difference that is allowed, for each element of an output; zeros where there is no rule.
std::vector<double> AllowedRounding(const NodeNumbers& node, const Rounding& rounding);

/// The element as a term that nothing cancels; `input`: which of the operator's inputs it belongs to.
double AbsoluteTerm(OpCode op, size_t input, double value);
/// A fused activation's limits; infinite where the operator has none.
std::pair<double, double> LimitsOf(OpCode op, const AttrStorage& attrs);
/// The operator's attributes without them.
AttrStorage WithoutClamp(OpCode op, const AttrStorage& attrs);

/// The same where a convolution of 3 x 3 may have been computed by Winograd's minimal filtering: a tile of
/// 4 x 4 outputs is computed as one, and each gets its share of the rounding of all. `shape`: NHWC.
std::vector<double> AllowedByWinograd(const Shape& shape, const Ints& dilations,
                                      const std::vector<double>& allowed);

}  // namespace skiff
