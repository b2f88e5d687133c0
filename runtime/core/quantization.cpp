#include "skiff/quantization.h"

#include <cmath>

#include "core/code_range.h"
#include "core/features.h"

namespace skiff {
namespace {

constexpr CodeRange kRanges[] = {
    {DType::kI4, -8, 7},
    {DType::kU4, 0, 15},
    {DType::kI8, -128, 127},
    {DType::kU8, 0, 255},
    {DType::kI16, -32768, 32767},
    {DType::kU16, 0, 65535},
    {DType::kI32, INT32_MIN, INT32_MAX},
};

int64_t BlocksOf(int64_t extent, int64_t block) { return extent / block + (extent % block != 0 ? 1 : 0); }

}  // namespace

const CodeRange* CodeRangeOf(DType dtype) {
  for (const CodeRange& range : kRanges) {
    if (range.dtype == dtype) return &range;
  }
  return nullptr;
}

bool CanBeQuantized(DType dtype) { return CodeRangeOf(dtype) != nullptr; }

bool SameQuantization(const Quantization* a, const Quantization* b) {
  if (a == b) return true;
  if (!BuildHas(Feature::kQuantization) || a == nullptr || b == nullptr) return false;
  if (a->axis != b->axis || a->block != b->block || a->count != b->count) return false;
  if (a->scales != nullptr && a->scales == b->scales && a->zero_points == b->zero_points) return true;
  for (int64_t i = 0; i < a->count; ++i) {
    if (a->ScaleAt(i) != b->ScaleAt(i) || a->ZeroPointAt(i) != b->ZeroPointAt(i)) return false;
  }
  return true;
}

const char* QuantizationDefect(const Quantization& quantization, DType dtype, const Shape& shape) {
  const CodeRange* range = CodeRangeOf(dtype);
  if (range == nullptr) return "its dtype cannot be quantised";
  int64_t expected = 1;
  if (!quantization.per_tensor()) {
    const int axis = quantization.axis;
    if (axis < 0 || axis >= shape.rank()) return "the axis of its scales is not one of its axes";
    if (quantization.block < 0) return "its blocks have a negative length";
    expected = shape[axis];
    if (quantization.block > 0) {
      for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] < 0) return "its scales are along an open dimension";
        const int64_t extent = i == axis ? BlocksOf(shape[i], quantization.block) : shape[i];
        if (i == 0) expected = 1;
        if (__builtin_mul_overflow(expected, extent, &expected)) return "it has too many scales";
      }
    }
    if (expected < 0) return "its scales are along an open dimension";
  }
  if (quantization.count != expected) return "it has another number of scales than its shape asks for";
  if (!quantization.per_tensor() && expected > 0 && quantization.scales == nullptr)
    return "its scales are missing";
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (!(quantization.ScaleAt(i) > 0) || !std::isfinite(quantization.ScaleAt(i)))
      return "a scale is not a positive number";
    const int64_t zero = quantization.ZeroPointAt(i);
    if (zero < range->low || zero > range->high) return "a zero point is outside of its dtype";
  }
  return nullptr;
}

ScaleIndex::ScaleIndex(const Quantization& quantization, const Shape& shape)
    : per_tensor_(quantization.per_tensor()), block_(quantization.block) {
  if (per_tensor_) return;
  inner_ = shape.ElementsBetween(quantization.axis + 1, shape.rank());
  extent_ = shape[quantization.axis];
  if (inner_ == 0) inner_ = 1;  // Nothing is asked of an empty tensor.
  if (extent_ == 0) extent_ = 1;
  if (block_ > 0) blocks_ = BlocksOf(extent_, block_);
}

CodeLimits LimitsOf(const TensorView& view, float min, float max) {
  const Quantization& quantization = *view.quantization;
  const CodeRounder round(*CodeRangeOf(view.dtype));
  const auto scale = static_cast<double>(quantization.scale);
  return {static_cast<int32_t>(round(static_cast<double>(min) / scale, quantization.zero_point)),
          static_cast<int32_t>(round(static_cast<double>(max) / scale, quantization.zero_point))};
}

}  // namespace skiff
