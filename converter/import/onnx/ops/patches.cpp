// ONNX rows: operators that take images apart into patches, or put them together.
#include <algorithm>
#include <map>

#include "import/emit.h"
#include "import/onnx/convolution.h"
#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// Patches along one axis of an image.
struct PatchAxis {
  WindowAxis window;
  int64_t image = 0;
  int64_t patches = 0;
};

/// x [N, C, taps, ..., patches, ...] with the taps of axis i added up where they lie in the image. Those
/// whole strides apart meet in the same elements, the others lie between these. Pads and sums do without
/// products: 0 times an infinity would be NaN.
ValueId FoldAxis(OnnxBuilder& b, ValueId x, const std::vector<PatchAxis>& axes, size_t i) {
  const auto& [window, image, patches] = axes[i];
  const auto at = static_cast<int64_t>(1 + axes.size());  // Where the patches are, without the taps.
  const int64_t stride = patches == 1 ? 1 : window.stride;
  const int64_t last = (window.Span() - 1) / stride;
  std::map<int64_t, ValueId> phases;  // By the place in a stride.
  for (int64_t tap = 0; tap < window.kernel; ++tap) {
    const int64_t place = tap * window.dilation;
    const ValueId placed =
        PadAxis(b, "placed", Pick(b, "tap", x, 2, tap), at, place / stride, last - place / stride);
    const auto [phase, fresh] = phases.try_emplace(place % stride, placed);
    if (!fresh) phase->second = EmitAdd(b, "sum", phase->second, placed);
  }
  std::vector<ValueId> parts;
  for (auto phase = phases.begin(); phase != phases.end(); ++phase) {
    const auto next = std::next(phase);
    const int64_t end = next == phases.end() ? stride : next->first;
    parts.push_back(PadAxis(b, "phase", EmitUnsqueeze(b, "apart", phase->second, {at + 1}), at + 1, 0,
                            end - phase->first - 1));
  }
  const int64_t length = (patches + last) * stride;
  std::vector<int64_t> extents(static_cast<size_t>(at), 0);
  extents.push_back(length);
  for (size_t behind = i + 1; behind < axes.size(); ++behind) extents.push_back(axes[behind].patches);
  const ValueId strides = b.Emit("strides", OpCode::kConcat, std::move(parts), AxisAttrs{at + 1});
  return PadAxis(b, "folded", EmitReshape(b, "joined", strides, extents), at, -window.pad_begin,
                 image + window.pad_begin - length);
}

/// Col2Im: columns [N, C * taps, patches] summed up in images [N, C, image], axis by axis.
void BuildCol2Im(OnnxBuilder& b) {
  if (b.DTypeOf(b.Input(0)) == DType::kF16) return BuildAs(b, DType::kF32, BuildCol2Im);
  const std::vector<int64_t> image = b.ConstantInts(1, "image_shape");
  const std::vector<int64_t> block = b.ConstantInts(2, "block_shape");
  const auto rank = static_cast<int>(image.size());
  if (rank < 1 || rank > 3) b.Unsupported("works on {} spatial axes; 1 to 3 are supported", rank);
  if (block.size() != image.size()) {
    b.Invalid("the block has {} axes, the image has {}", block.size(), image.size());
  }
  b.CheckRange("image_shape", b.ToInts(image, "image_shape"), 1);
  b.CheckRange("block_shape", b.ToInts(block, "block_shape"), 1);
  const WindowAttributes given = b.Window(rank);
  constexpr int64_t kMostTaps = 1024;
  int64_t taps = 1;
  std::vector<PatchAxis> axes;
  std::vector<int64_t> columns = {0, -1};
  columns.insert(columns.end(), block.begin(), block.end());
  for (size_t i = 0; i < block.size(); ++i) {
    const int place = 2 - rank + static_cast<int>(i);  // -1: the depth.
    PatchAxis axis{given.depth, image[i]};
    if (place >= 0) {
      axis.window = {1, given.strides[place], given.dilations[place], given.pads[place],
                     given.pads[2 + place]};
    }
    axis.window.kernel = block[i];
    taps *= std::min(block[i], kMostTaps + 1);
    if (taps > kMostTaps) b.Unsupported("has more than {} elements in a block", kMostTaps);
    const int64_t room = image[i] + axis.window.pad_begin + axis.window.pad_end - axis.window.Span();
    if (room < 0) b.Invalid("the padded image is smaller than the block on axis {}", i);
    axis.patches = room / axis.window.stride + 1;
    columns.push_back(axis.patches);
    axes.push_back(axis);
  }
  ValueId y = EmitReshape(b, "columns", b.Input(0), columns);
  for (size_t i = 0; i < axes.size(); ++i) y = FoldAxis(b, y, axes, i);
  b.Output(OpCode::kIdentity, {y});
}

/// start, start + step, ... for every index below a computed extent, as f32.
ValueId Positions(OnnxBuilder& b, ValueId extent, int64_t start, int64_t step) {
  const auto number = [&](const char* suffix, int64_t value) {
    return b.Scalar(suffix, DType::kI64, static_cast<double>(value));
  };
  const ValueId indices = b.Emit("indices", OpCode::kRange, {number("zero", 0), extent, number("one", 1)});
  const ValueId scaled = b.Emit("scaled", OpCode::kMul, {indices, number("step", step)}, ClampAttrs{});
  return b.CastTo("positions", b.Emit("moved", OpCode::kAdd, {scaled, number("start", start)}, ClampAttrs{}),
                  DType::kF32);
}

/// Positions in pixels to the coordinates of a grid whose -1 and 1 are the outer edges: (2 p + 1) / extent
/// - 1.
ValueId GridCoordinate(OnnxBuilder& b, ValueId position, ValueId extent) {
  const auto number = [&](const char* suffix, double value) { return b.Scalar(suffix, DType::kF32, value); };
  const ValueId doubled = b.Emit("doubled", OpCode::kMul, {position, number("two", 2)}, ClampAttrs{});
  const ValueId centred = b.Emit("centred", OpCode::kAdd, {doubled, number("one", 1)}, ClampAttrs{});
  const ValueId part =
      b.Emit("part", OpCode::kDiv, {centred, b.CastTo("extent_f32", extent, DType::kF32)}, ClampAttrs{});
  return b.Emit("coordinate", OpCode::kSub, {part, number("one_more", 1)}, ClampAttrs{});
}

/// What DeformConv's helpers share.
struct Deformed {
  WindowAttributes window;
  ValueId out_height = kNoValue;  ///< Vectors of one.
  ValueId out_width = kNoValue;
  ValueId batch = kNoValue;
  int64_t offset_groups = 1;
};

/// [N, groups * kh * kw * parts, oh, ow] as [N, groups, kh, kw, parts, oh, ow], of which one group (and part)
/// is laid out as [N, oh, kh, ow, kw]: the taps of an output pixel side by side.
ValueId TapsOfGroup(OnnxBuilder& b, const Deformed& d, ValueId x, int64_t parts, int64_t group,
                    int64_t part) {
  const ValueId inner =
      b.ConstantInts("taps", {d.offset_groups, d.window.kernel[0], d.window.kernel[1], parts});
  const ValueId apart = ReshapeTo(b, "apart", x, {d.batch, inner, d.out_height, d.out_width});
  const ValueId one = Pick(b, "part", Pick(b, "group", apart, 1, group), 3, part);
  return b.Emit("by_pixel", OpCode::kTranspose, {one}, TransposeAttrs{{0, 3, 1, 4, 2}});
}

/// One offset group's samples of its channels: an image [N, oh * kh, ow * kw, channels].
ValueId SampleGroup(OnnxBuilder& b, const Deformed& d, ValueId channels, int64_t group) {
  const ValueId x = b.Input(0);
  const auto coordinate = [&](int axis) {
    const ValueId extent = Pick(b, "extent", axis == 0 ? d.out_height : d.out_width, 0, 0);
    const ValueId origin = Positions(b, extent, -d.window.pads[axis], d.window.strides[axis]);
    const ValueId tap =
        Positions(b, b.Scalar("taps", DType::kI64, static_cast<double>(d.window.kernel[axis])), 0,
                  d.window.dilations[axis]);
    // [oh, kh, 1, 1] or [ow, kw].
    const ValueId grid =
        b.Emit("grid", OpCode::kAdd, {b.Emit("origin", OpCode::kUnsqueeze, {origin}, AxesAttrs{{1}}), tap},
               ClampAttrs{});
    const ValueId base = axis == 0 ? b.Emit("rows", OpCode::kUnsqueeze, {grid}, AxesAttrs{{2, 3}}) : grid;
    const ValueId offset = b.CastTo("offset_f32", TapsOfGroup(b, d, b.Input(2), 2, group, axis), DType::kF32);
    const ValueId position = b.Emit("position", OpCode::kAdd, {offset, base}, ClampAttrs{});
    return b.Emit("last", OpCode::kUnsqueeze,
                  {GridCoordinate(b, position, ExtentsOf(b, x, 2 + axis, 3 + axis))}, AxesAttrs{{5}});
  };
  const ValueId rows = coordinate(0);
  const ValueId columns = coordinate(1);
  const ValueId pairs = b.Emit("pairs", OpCode::kConcat, {columns, rows}, AxisAttrs{5});
  const auto as_image = [&](const char* suffix, ValueId taps, int64_t last) {
    const ValueId height = b.Emit("height", OpCode::kMul,
                                  {d.out_height, b.ConstantInts("kh", {d.window.kernel[0]})}, ClampAttrs{});
    const ValueId width = b.Emit("width", OpCode::kMul,
                                 {d.out_width, b.ConstantInts("kw", {d.window.kernel[1]})}, ClampAttrs{});
    return ReshapeTo(b, suffix, taps, {d.batch, height, width, b.ConstantInts("last", {last})});
  };
  const ValueId sampled =
      b.Emit("sampled", OpCode::kGridSample2d, {channels, as_image("grid", pairs, 2)}, GridSampleAttrs{});
  if (!b.HasInput(4)) return sampled;
  const ValueId mask = as_image("mask", TapsOfGroup(b, d, b.Input(4), 1, group, 0), 1);
  return b.Emit("masked", OpCode::kMul, {sampled, mask}, ClampAttrs{});
}

/// The input is sampled where the offsets say, tap beside tap; a convolution whose stride is its kernel then
/// reads each tap once.
void BuildDeformConv(OnnxBuilder& b) {
  const ValueId w = b.Input(1);
  if (b.RankOf(w) != 4) b.Unsupported("works on {} spatial axes; 2 are supported", b.RankOf(w) - 2);
  Deformed d;
  d.window = b.Window(2);
  for (int i = 0; i < 2; ++i) {
    const std::optional<int64_t> extent = b.ExtentOf(w, 2 + i);
    if (!extent) b.Unsupported("has weights of unknown shape");
    if (b.HasAttribute("kernel_shape") && d.window.kernel[i] != *extent) {
      b.Invalid("attribute 'kernel_shape' says {} at spatial axis {}, the weights have {}",
                d.window.kernel[i], i, *extent);
    }
    d.window.kernel[i] = *extent;
  }
  constexpr int64_t kMostGroups = 64;
  d.offset_groups = b.Int("offset_group", 1);
  if (d.offset_groups < 1) b.Invalid("attribute 'offset_group' is {}", d.offset_groups);
  if (d.offset_groups > kMostGroups) b.Unsupported("has more than {} offset groups", kMostGroups);
  d.out_height = ExtentsOf(b, b.Input(2), 2, 3);
  d.out_width = ExtentsOf(b, b.Input(2), 3, 4);
  const ValueId x = ToNhwc(b, b.Input(0), 2);
  d.batch = ExtentsOf(b, x, 0, 1);
  if (d.offset_groups > 1 && !b.ExtentOf(b.Input(0), 1)) {
    b.Unsupported("has offset groups and an open number of channels");
  }
  const int64_t channels = b.ExtentOf(b.Input(0), 1).value_or(0);
  if (d.offset_groups > 1 && channels % d.offset_groups != 0) {
    b.Invalid("{} channels cannot be divided into {} offset groups", channels, d.offset_groups);
  }
  std::vector<ValueId> samples;
  for (int64_t group = 0; group < d.offset_groups; ++group) {
    const int64_t share = channels / d.offset_groups;
    const ValueId part = d.offset_groups == 1
                             ? x
                             : SliceAxis(b, "channels", x, 3, group * share, channels - (group + 1) * share);
    samples.push_back(SampleGroup(b, d, part, group));
  }
  const ValueId image =
      samples.size() == 1 ? samples[0] : b.Emit("samples", OpCode::kConcat, samples, AxisAttrs{3});
  Conv2dAttrs attrs;
  attrs.strides = d.window.kernel;
  attrs.groups = b.Int("group", 1);
  OutputFromNhwc(
      b, b.Emit("conv", OpCode::kConv2d, {image, ConvolutionWeights(b, w, 2), b.OptionalInput(3)}, attrs), 2);
}

constexpr OnnxOp kRows[] = {
    {"Col2Im", 18, kNewest, BuildCol2Im},
    {"DeformConv", 19, kNewest, BuildDeformConv},
};

}  // namespace

std::span<const OnnxOp> OnnxPatchOps() { return kRows; }

}  // namespace skiff
