#include "import/onnx/nhwc.h"

#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {

ValueId ToNhwc(OnnxBuilder& b, ValueId x, int spatial_rank, const char* suffix) {
  if (spatial_rank == 1) x = b.Emit("as_2d", OpCode::kUnsqueeze, {x}, AxesAttrs{{2}});
  return b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{{0, 2, 3, 1}});
}

ValueId FromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank) {
  y = b.Emit("nchw", OpCode::kTranspose, {y}, TransposeAttrs{{0, 3, 1, 2}});
  return spatial_rank == 1 ? b.Emit("as_1d", OpCode::kSqueeze, {y}, AxesAttrs{{2}}) : y;
}

void OutputFromNhwc(OnnxBuilder& b, ValueId y, int spatial_rank, size_t i) {
  const TransposeAttrs back{{0, 3, 1, 2}};
  if (spatial_rank != 1) return b.Output(OpCode::kTranspose, {y}, back, i);
  b.Output(OpCode::kSqueeze, {b.Emit("nchw", OpCode::kTranspose, {y}, back)}, AxesAttrs{{2}}, i);
}

ValueId ChannelsToFront(OnnxBuilder& b, const char* suffix, ValueId x) {
  const int rank = b.RankOf(x);
  Ints perm{0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) perm[perm.size++] = axis;
  return b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{perm});
}

ValueId ChannelsToBack(OnnxBuilder& b, const char* suffix, ValueId x) {
  Ints perm{0};
  for (int axis = 2; axis < b.RankOf(x); ++axis) perm[perm.size++] = axis;
  perm[perm.size++] = 1;
  return b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{perm});
}

ValueId ToNdhwc(OnnxBuilder& b, ValueId x) {
  return b.Emit("ndhwc", OpCode::kTranspose, {x}, TransposeAttrs{{0, 2, 3, 4, 1}});
}

ValueId FromNdhwc(OnnxBuilder& b, ValueId y) {
  return b.Emit("ncdhw", OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
}

WindowAxis ResolvedDepth(OnnxBuilder& b, const WindowAttributes& window, ValueId x) {
  WindowAxis depth = window.depth;
  const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  const std::optional<int64_t> extent = b.ExtentOf(x, 2);
  if (same && !extent && depth.stride != 1)
    b.Unsupported("derives the pads of an open extent from auto_pad; export with pads instead");
  // With stride 1 the pads are the same for any extent.
  const AxisPads pads = ResolvePads(window.auto_pad, extent.value_or(depth.Span()), depth.kernel,
                                    depth.stride, depth.dilation, depth.pad_begin, depth.pad_end);
  depth.pad_begin = pads.begin;
  depth.pad_end = pads.end;
  return depth;
}

}  // namespace skiff
