/// Between ONNX's layout, channels in front of one to three spatial axes, and the NHWC images that Skiff's
/// windows work on. The builders write the transposes, a pass cancels them.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// NCHW, or NCW as NC1W, to NHWC.
ValueId ToNhwc(OnnxBuilder& b, ValueId x, int spatial_rank, const char* suffix = "nhwc");
/// NHWC to NCHW or NCW.
ValueId FromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank);
/// NHWC to ONNX output i.
void OutputFromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank, size_t i = 0);

/// NCDHW to NDHWC and back.
ValueId ToNdhwc(OnnxBuilder& b, ValueId x);
ValueId FromNdhwc(OnnxBuilder& b, ValueId y);

/// Extents [start, end) of a value's shape, computed where they are not constant.
ValueId ExtentsOf(OnnxBuilder& b, ValueId x, int64_t start, int64_t end);
/// The value under a shape that is put together from vectors of extents.
ValueId ReshapeTo(OnnxBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents);
/// [N, D, H, W, C] as [N * D, H, W, C].
ValueId FoldDepth(OnnxBuilder& b, ValueId x);
/// The inverse, for planes that may have changed, with the first two extents of `like`.
ValueId UnfoldDepth(OnnxBuilder& b, ValueId planes, ValueId like);

/// Pads (or, where negative, crops) one axis with zeros.
ValueId PadAxis(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t begin, int64_t end);
/// Elements [start, extent - behind) of one axis, `step` apart.
ValueId SliceAxis(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t behind,
                  int64_t step = 1);
/// One element of an axis, which goes away.
ValueId Pick(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t index);

/// The pads of a window's depth, after auto_pad, over NC... input x.
WindowAxis ResolvedDepth(OnnxBuilder& b, const WindowAttributes& window, ValueId x);

}  // namespace skiff
