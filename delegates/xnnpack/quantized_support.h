/// What the XNNPACK delegate has lowerings for where an operand is quantised, by types alone.
#pragma once

#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::xnnpack {

/// The least factor from sums of products to codes that XNNPACK's kernels take. Below it no sum of 32 bits
/// reaches half a code: with this one, none does either.
inline constexpr float kLeastSumFactor = 0x1p-32f;

/// Only where ComputesQuantized().
bool SupportsQuantized(const NodeTypes& node);

/// One scale, or one for each index of `axis`, none of which is subnormal or 0.
bool HasNormalScales(const Quantization& quantization, int axis);
/// The same, around 0.
bool HasSymmetricScales(const Quantization& quantization, int axis);

/// What steps of operands are multiplied by where a binary operator of codes is computed in steps of its
/// output.
struct CodeFactors {
  float a = 1;
  float b = 1;
};
CodeFactors CodeFactorsOf(OpCode op, float a_scale, float b_scale, float y_scale);

}  // namespace skiff::xnnpack
