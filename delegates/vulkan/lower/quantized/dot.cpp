#include "delegates/vulkan/lower/quantized/dot.h"

namespace skiff::vulkan {
namespace {

constexpr struct {
  DotProducts dot;
  uint32_t x, w;
} kForms[] = {
    {kSignedDot, kI8Codes, kI8Codes},
    {kMixedDot, kU8Codes, kI8Codes},
    {kMixedDot, kI8Codes, kU8Codes},
    {kUnsignedDot, kU8Codes, kU8Codes},
};

/// As signed (or unsigned) codes, which have a zero point of `none` when the others have 0.
bool HasZeroPoints(const Quantization& quantization, int32_t none) {
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (quantization.ZeroPointAt(i) != none) return true;
  }
  return false;
}

}  // namespace

DotChoice ChooseDot(uint32_t dots, const TensorView& x, const TensorView& w) {
  DotChoice best;
  uint32_t least = UINT32_MAX;
  for (const auto& form : kForms) {
    if ((dots & form.dot) == 0) continue;
    const bool flips_x = form.x != KindOf(x);
    const bool flips_w = form.w != KindOf(w);
    const int32_t flipped = form.w == kI8Codes ? 128 : -128;
    const bool zeros = HasZeroPoints(*w.quantization, flips_w ? flipped : 0);
    // Each is about an instruction for a word of x; weights are flipped for all pixels of an invocation.
    const uint32_t cost = (flips_x ? 2 : 0) + (flips_w ? 1 : 0) + (zeros ? 2 : 0);
    if (cost >= least) continue;
    least = cost;
    best = {true, (flips_x ? kFlipsX : 0u) | (flips_w ? kFlipsW : 0u) | (zeros ? kHasZeros : 0u)};
  }
  return best;
}

}  // namespace skiff::vulkan
