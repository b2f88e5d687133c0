// Shape rules of operators that sample an image.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

constexpr int64_t kMaxSampleParameter = int64_t{1} << 30;
/// Samples per axis of one output cell; more only repeat the same few pixels.
constexpr int64_t kMaxSamplingRatio = int64_t{1} << 7;

template <class D>
Status CheckImage(const InferContext<D>& context) {
  const InferInput<D>& x = context.inputs[0];
  if (x.rank != 4) return context.Error("the input must be NHWC of rank 4, not %d", x.rank);
  for (int axis = 1; axis < 3; ++axis) {
    if (IsKnown(x.extents[axis]) && KnownValue(x.extents[axis]) <= 0) {
      return context.Error("the input's height and width must be at least 1");
    }
  }
  return OkStatus();
}

}  // namespace

/// Inputs: x (NHWC), grid [N, height, width, 2] of any floating-point dtype.
template <class D>
Status InferGridSample2d(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(CheckImage(context));
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& grid = context.inputs[1];
  if (!IsFloat(grid.dtype)) return context.Error("the grid must be of floats, not %s", DTypeName(grid.dtype));
  if (grid.rank != 4 || !SameExtent(grid.extents[3], D(2))) {
    return context.Error("the grid must be [batch, height, width, 2], its rank is %d", grid.rank);
  }
  if (!SameExtent(grid.extents[0], x.extents[0])) {
    return context.Error("the grid is for %lld images, the input has %lld",
                         static_cast<long long>(KnownValue(grid.extents[0])),
                         static_cast<long long>(KnownValue(x.extents[0])));
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  for (int axis = 0; axis < 3; ++axis) out.extents[axis] = grid.extents[axis];
  out.extents[3] = x.extents[3];
  return OkStatus();
}

/// Inputs: x (NHWC), regions [count, 4] of x's dtype, and the image of each.
template <class D>
Status InferRoiAlign(InferContext<D>& context) {
  const auto& attrs = context.template As<RoiAlignAttrs>();
  SKIFF_RETURN_IF_ERROR(CheckImage(context));
  const InferInput<D>& x = context.inputs[0];
  const InferInput<D>& regions = context.inputs[1];
  const InferInput<D>& images = context.inputs[2];
  if (regions.rank != 2 || !SameExtent(regions.extents[1], D(4)) || regions.dtype != x.dtype) {
    return context.Error("the regions must be [count, 4] of dtype %s, not %s of rank %d", DTypeName(x.dtype),
                         DTypeName(regions.dtype), regions.rank);
  }
  if (images.rank != 1 || !SameExtent(images.extents[0], regions.extents[0]) ||
      (images.dtype != DType::kI64 && images.dtype != DType::kI32)) {
    return context.Error("the image indices must be one i64 or i32 for each of the %lld regions",
                         static_cast<long long>(KnownValue(regions.extents[0])));
  }
  if (attrs.height <= 0 || attrs.width <= 0 || attrs.height > kMaxSampleParameter ||
      attrs.width > kMaxSampleParameter) {
    return context.Error("the output's height and width must be positive and below 2^30, not %lld and %lld",
                         static_cast<long long>(attrs.height), static_cast<long long>(attrs.width));
  }
  if (attrs.sampling_ratio < 0 || attrs.sampling_ratio > kMaxSamplingRatio) {
    return context.Error("the sampling ratio must lie between 0 and %lld, not %lld",
                         static_cast<long long>(kMaxSamplingRatio),
                         static_cast<long long>(attrs.sampling_ratio));
  }
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 4;
  out.extents[0] = regions.extents[0];
  out.extents[1] = D(attrs.height);
  out.extents[2] = D(attrs.width);
  out.extents[3] = x.extents[3];
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferGridSample2d);
SKIFF_INSTANTIATE_RULE(InferRoiAlign);

}  // namespace skiff
