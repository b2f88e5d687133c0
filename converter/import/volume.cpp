#include "import/volume.h"

#include "import/emit.h"

namespace skiff {
namespace {

/// The sum over the taps; `slice` cuts the planes under one tap out of a volume.
template <class Slice>
ValueId SumOverDepth(NodeBuilder& b, int64_t taps, Slice&& slice, const PlanesOfTap& plane) {
  constexpr int64_t kMostTaps = 64;  // They become nodes.
  if (taps > kMostTaps)
    b.Unsupported("has {} taps along its depth; at most {} are supported", taps, kMostTaps);
  ValueId sum = kNoValue;
  ValueId volume = kNoValue;
  for (int64_t tap = 0; tap < taps; ++tap) {
    volume = slice(tap);
    const ValueId part = plane(FoldDepth(b, volume), tap);
    sum = tap == 0 ? part : EmitAdd(b, "sum", sum, part);
  }
  return UnfoldDepth(b, sum, volume);
}

/// The volume with stride - 1 planes of zeros behind every plane.
ValueId StretchDepth(NodeBuilder& b, ValueId x, int64_t stride) {
  if (stride == 1) return x;
  const ValueId apart = EmitUnsqueeze(b, "apart", x, {2});
  const ValueId padded = PadAxis(b, "zeros_between", apart, 2, 0, stride - 1);
  return ReshapeToExtents(b, "stretched", padded,
                          {ExtentsOf(b, x, 0, 1), ProductOf(b, padded, 1, 3), ExtentsOf(b, x, 2, 5)});
}

}  // namespace

ValueId FoldDepth(NodeBuilder& b, ValueId x) {
  return ReshapeToExtents(b, "planes", x, {ProductOf(b, x, 0, 2), ExtentsOf(b, x, 2, 5)});
}

ValueId UnfoldDepth(NodeBuilder& b, ValueId planes, ValueId like) {
  return ReshapeToExtents(b, "volume", planes, {ExtentsOf(b, like, 0, 2), ExtentsOf(b, planes, 1, 4)});
}

ValueId ConvolveVolume(NodeBuilder& b, ValueId x, const WindowAxis& depth, const PlanesOfTap& plane) {
  x = PadAxis(b, "padded", x, 1, depth.pad_begin, depth.pad_end);
  return SumOverDepth(
      b, depth.kernel,
      [&](int64_t tap) {
        const int64_t at = tap * depth.dilation;
        return SliceAxis(b, "under_tap", x, 1, at, depth.Span() - 1 - at, depth.stride);
      },
      plane);
}

/// Output plane o is the sum of the stretched input's planes o + pad_begin - tap * dilation.
ValueId ConvolveVolumeTransposed(NodeBuilder& b, ValueId x, const WindowAxis& depth, int64_t output_pad,
                                 const PlanesOfTap& plane) {
  const int64_t reach = depth.Span() - 1;
  x = PadAxis(b, "padded", StretchDepth(b, x, depth.stride), 1, reach - depth.pad_begin,
              reach - depth.pad_end + output_pad - (depth.stride - 1));
  return SumOverDepth(
      b, depth.kernel,
      [&](int64_t tap) {
        const int64_t at = tap * depth.dilation;
        return SliceAxis(b, "under_tap", x, 1, reach - at, at);
      },
      plane);
}

}  // namespace skiff
