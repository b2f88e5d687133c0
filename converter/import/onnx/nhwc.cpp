#include "import/onnx/nhwc.h"

#include <algorithm>
#include <limits>

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

ValueId ToNdhwc(OnnxBuilder& b, ValueId x) {
  return b.Emit("ndhwc", OpCode::kTranspose, {x}, TransposeAttrs{{0, 2, 3, 4, 1}});
}

ValueId FromNdhwc(OnnxBuilder& b, ValueId y) {
  return b.Emit("ncdhw", OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
}

ValueId ExtentsOf(OnnxBuilder& b, ValueId x, int64_t start, int64_t end) {
  if (const auto known = b.ExtentsOf(x, start, end)) return b.ConstantInts("extents", *known);
  return b.Emit("extents", OpCode::kShape, {x}, ShapeAttrs{start, end});
}

ValueId ReshapeTo(OnnxBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents) {
  std::vector<int64_t> numbers;
  bool constant = true;
  for (ValueId part : extents) {
    const TensorData* data = b.ConstantOf(part);
    constant = constant && data != nullptr;
    if (!constant) continue;
    for (int64_t number : data->ToInts()) numbers.push_back(number);
  }
  const ValueId target = constant ? b.ConstantInts("target", numbers)
                                  : b.Emit("target", OpCode::kConcat, std::move(extents), AxisAttrs{0});
  return b.Emit(suffix, OpCode::kReshape, {x, target}, ReshapeAttrs{});
}

ValueId FoldDepth(OnnxBuilder& b, ValueId x) {
  return ReshapeTo(b, "planes", x, {b.ConstantInts("batch", {-1}), ExtentsOf(b, x, 2, 5)});
}

ValueId UnfoldDepth(OnnxBuilder& b, ValueId planes, ValueId like) {
  return ReshapeTo(b, "volume", planes, {ExtentsOf(b, like, 0, 2), ExtentsOf(b, planes, 1, 4)});
}

ValueId PadAxis(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t begin, int64_t end) {
  if (begin == 0 && end == 0) return x;
  return b.Emit(suffix, OpCode::kPad,
                {x, b.ConstantInts("pads", {begin, end}), kNoValue, b.ConstantInts("axis", {axis})},
                PadAttrs{});
}

ValueId SliceAxis(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t behind,
                  int64_t step) {
  if (start == 0 && behind == 0 && step == 1) return x;
  const int64_t end = behind == 0 ? std::numeric_limits<int64_t>::max() : -behind;
  return b.Emit(suffix, OpCode::kSlice,
                {x, b.ConstantInts("start", {start}), b.ConstantInts("end", {end}),
                 b.ConstantInts("axis", {axis}), b.ConstantInts("step", {step})});
}

ValueId Pick(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t index) {
  const ValueId one = b.Emit("element", OpCode::kSlice,
                             {x, b.ConstantInts("start", {index}), b.ConstantInts("end", {index + 1}),
                              b.ConstantInts("axis", {axis})});
  return b.Emit(suffix, OpCode::kSqueeze, {one}, AxesAttrs{{axis}});
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
