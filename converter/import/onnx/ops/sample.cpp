// ONNX rows: operators that sample images at computed positions, and those that place them.
#include "import/onnx/choice.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "import/onnx/volume_sample.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// The names of the modes changed with opset 20.
constexpr OnnxChoice<GridSampleMode> kGridModes[] = {{"nearest", GridSampleMode::kNearest},
                                                     {"linear", GridSampleMode::kLinear},
                                                     {"bilinear", GridSampleMode::kLinear},
                                                     {"cubic", GridSampleMode::kCubic},
                                                     {"bicubic", GridSampleMode::kCubic}};
constexpr OnnxChoice<GridSamplePadding> kGridPaddings[] = {{"zeros", GridSamplePadding::kZeros},
                                                           {"border", GridSamplePadding::kBorder},
                                                           {"reflection", GridSamplePadding::kReflection}};
constexpr OnnxChoice<RoiAlignMode> kRoiModes[] = {{"avg", RoiAlignMode::kAverage},
                                                  {"max", RoiAlignMode::kMax}};
constexpr OnnxChoice<bool> kRoiCoordinates[] = {{"half_pixel", true}, {"output_half_pixel", false}};

void BuildGridSample(OnnxBuilder& b) {
  const int rank = b.RankOf(b.Input(0));
  if (rank != 4 && rank != 5) b.Unsupported("samples {} spatial axes; 2 and 3 are supported", rank - 2);
  GridSampleAttrs attrs;
  attrs.mode = ChooseValue(b, "mode", "bilinear", kGridModes);
  attrs.padding = ChooseValue(b, "padding_mode", "zeros", kGridPaddings);
  attrs.align_corners = b.Flag("align_corners");
  if (const DType dtype = b.DTypeOf(b.Input(0)); attrs.mode != GridSampleMode::kNearest && !IsFloat(dtype))
    b.Unsupported("interpolates between elements of {}; floats, or the mode 'nearest', are supported",
                  DTypeName(dtype));
  if (rank == 5) {
    if (attrs.mode == GridSampleMode::kCubic)
      b.Invalid("cubic sampling is defined for 2 spatial axes, not 3");
    const ValueId y = VolumeSample(b, b.Input(0), b.Input(1), attrs);
    return b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}});
  }
  OutputFromNhwc(b, b.Emit("sampled", OpCode::kGridSample2d, {ToNhwc(b, b.Input(0), 2), b.Input(1)}, attrs),
                 2);
}

/// Before opset 16 there was no half pixel.
void BuildRoiAlign(OnnxBuilder& b) {
  RoiAlignAttrs attrs;
  attrs.mode = ChooseValue(b, "mode", "avg", kRoiModes);
  attrs.height = b.Int("output_height", 1);
  attrs.width = b.Int("output_width", 1);
  attrs.sampling_ratio = b.Int("sampling_ratio", 0);
  attrs.spatial_scale = b.Float("spatial_scale", 1.0f);
  attrs.half_pixel =
      b.opset() >= 16 && ChooseValue(b, "coordinate_transformation_mode", "half_pixel", kRoiCoordinates);
  const ValueId x = ToNhwc(b, b.Input(0), 2);
  OutputFromNhwc(b, b.Emit("aligned", OpCode::kRoiAlign, {x, b.Input(1), b.Input(2)}, attrs), 2);
}

/// (2 i + 1 - extent) / (extent - 1 or extent), for i = 0, 1, ...: the centres of the pixels in [-1, 1].
ValueId PixelCentres(OnnxBuilder& b, ValueId extent, bool align_corners, DType dtype) {
  const ValueId zero = b.Scalar("zero", DType::kI64, 0);
  const ValueId one = b.Scalar("one", DType::kI64, 1);
  const ValueId two = b.Scalar("two", DType::kI64, 2);
  const ValueId odd = b.Emit("from", OpCode::kSub, {one, extent}, ClampAttrs{});
  const ValueId steps = b.Emit("steps", OpCode::kRange, {zero, extent, one});
  const ValueId doubled = b.Emit("doubled", OpCode::kMul, {steps, two}, ClampAttrs{});
  const ValueId above = b.Emit("above", OpCode::kAdd, {doubled, odd}, ClampAttrs{});
  ValueId below = extent;
  if (align_corners) {
    below = b.Emit("gaps", OpCode::kMax, {b.Emit("less", OpCode::kSub, {extent, one}, ClampAttrs{}), one});
  }
  return b.Emit("centres", OpCode::kDiv,
                {b.CastTo("above_as_float", above, dtype), b.CastTo("below_as_float", below, dtype)},
                ClampAttrs{});
}

/// The grid is the sum of the columns of theta [N, K, K + 1] times the coordinate of each axis, plus the last
/// column: broadcast products instead of a matrix product.
void BuildAffineGrid(OnnxBuilder& b) {
  const ValueId theta = b.Input(0);
  const ValueId size = b.Input(1);
  const std::optional<int64_t> numbers = b.ExtentOf(size, 0);
  if (!b.HasRank(size, 1) || (numbers != 4 && numbers != 5)) {
    b.Unsupported("needs a size of 4 or 5 numbers, known at conversion");
  }
  const int64_t axes = *numbers - 2;
  const bool align_corners = b.Flag("align_corners");
  const DType dtype = b.DTypeOf(theta);
  // [N, 1, ..., 1, K]
  const AxesAttrs spread{axes == 2 ? Ints{1, 2} : Ints{1, 2, 3}};
  const auto column = [&](int64_t i) {
    return b.Emit("column", OpCode::kUnsqueeze, {Pick(b, "translation", theta, 2, i)}, spread);
  };
  ValueId sum = column(axes);
  // Column 0 belongs to x, the last axis.
  for (int64_t i = 0; i < axes; ++i) {
    ValueId place = PixelCentres(b, Pick(b, "extent", size, 0, 1 + axes - i), align_corners, dtype);
    AxesAttrs behind;  // [E, 1, ..., 1] with the axes behind it and that of the coordinates.
    for (int64_t axis = 1; axis <= i + 1; ++axis) behind.axes[behind.axes.size++] = axis;
    place = b.Emit("place", OpCode::kUnsqueeze, {place}, behind);
    const ValueId part = b.Emit("part", OpCode::kMul, {column(i), place}, ClampAttrs{});
    if (i + 1 == axes) return b.Output(OpCode::kAdd, {sum, part}, ClampAttrs{});
    sum = b.Emit("sum", OpCode::kAdd, {sum, part}, ClampAttrs{});
  }
}

/// A pad by half the difference on either side, the larger half behind; negative pads crop. Integer division
/// rounds towards zero, which is what the specification asks for in both directions.
void BuildCenterCropPad(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  const auto axes = b.IntList("axes");
  const DType dtype = b.DTypeOf(b.Input(1));
  const ValueId target = b.CastTo("target", b.Input(1), DType::kI64);
  if (dtype != DType::kI64 && dtype != DType::kI32) b.Invalid("the shape must be integers");
  ValueId extents = b.Emit("extents", OpCode::kShape, {x}, ShapeAttrs{});
  ValueId axes_value = kNoValue;
  if (axes) {
    std::vector<int64_t> places = *axes;
    for (int64_t& axis : places) {
      if (axis < -rank || axis >= rank) b.Invalid("axis {} is outside an input of rank {}", axis, rank);
      if (axis < 0) axis += rank;
    }
    axes_value = b.ConstantInts("axes", places);
    extents = b.Emit("chosen", OpCode::kGather, {extents, axes_value}, AxisAttrs{0});
  }
  const ValueId added = b.Emit("added", OpCode::kSub, {target, extents}, ClampAttrs{});
  const ValueId in_front =
      b.Emit("in_front", OpCode::kDiv, {added, b.ConstantInts("two", {2})}, ClampAttrs{});
  const ValueId behind = b.Emit("behind", OpCode::kSub, {added, in_front}, ClampAttrs{});
  const ValueId pads = b.Emit("pads", OpCode::kConcat, {in_front, behind}, AxisAttrs{0});
  b.Output(OpCode::kPad, {x, pads, kNoValue, axes_value}, PadAttrs{});
}

constexpr OnnxOp kRows[] = {
    {"GridSample", 16, kNewest, BuildGridSample},
    {"RoiAlign", 10, kNewest, BuildRoiAlign},
    {"AffineGrid", 20, kNewest, BuildAffineGrid},
    {"CenterCropPad", 18, kNewest, BuildCenterCropPad},
};

}  // namespace

std::span<const OnnxOp> OnnxSampleOps() { return kRows; }

}  // namespace skiff
