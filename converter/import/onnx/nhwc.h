/// Between ONNX's layout, channels in front of one to three spatial axes, and the NHWC images that Skiff's
/// windows work on. The builders write the transposes, a pass cancels them.
#pragma once

#include "import/emit.h"
#include "import/onnx/builder.h"

namespace skiff {

/// NCHW, or NCW as NC1W, to NHWC.
ValueId ToNhwc(OnnxBuilder& b, ValueId x, int spatial_rank, const char* suffix = "nhwc");
/// NHWC to NCHW or NCW.
ValueId FromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank);
/// NHWC to ONNX output i.
void OutputFromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank, size_t i = 0);

/// [N, spatial axes, C] to [N, C, spatial axes] of any rank, and back.
ValueId ChannelsToFront(OnnxBuilder& b, const char* suffix, ValueId x);
ValueId ChannelsToBack(OnnxBuilder& b, const char* suffix, ValueId x);

/// NCDHW to NDHWC and back.
ValueId ToNdhwc(OnnxBuilder& b, ValueId x);
ValueId FromNdhwc(OnnxBuilder& b, ValueId y);

/// The pads of a window's depth, after auto_pad, over NC... input x.
WindowAxis ResolvedDepth(OnnxBuilder& b, const WindowAttributes& window, ValueId x);

}  // namespace skiff
