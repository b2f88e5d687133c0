// TensorFlow Lite rows: pooling and resizing of images.
#include <algorithm>
#include <cmath>

#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

Pool2dAttrs WindowOf(const TfliteBuilder& b, const tflite::Pool2DOptionsT& options) {
  Pool2dAttrs attrs;
  attrs.kernel = {options.filter_h, options.filter_w};
  attrs.strides = {options.stride_h, options.stride_w};
  attrs.auto_pad = PaddingOf(options.padding);
  for (const int64_t extent : attrs.kernel) b.CheckRange("window", extent, 1);
  for (const int64_t stride : attrs.strides) b.CheckRange("stride", stride, 1);
  return attrs;
}

void BuildPool(TfliteBuilder& b) {
  const auto options = b.Options<tflite::Pool2DOptions>();
  const Pool2dAttrs attrs = WindowOf(b, options);
  const ValueId x = b.Operand(0);
  if (options.activation == tflite::Activation::NONE) return b.Output(b.op(), {x}, attrs);
  if (!b.OutputIsQuantized())
    return b.OutputActivated(b.Emit("pooled", b.op(), {x}, attrs), options.activation);
  const auto& declared = b.DeclaredOutput();
  const ValueId pooled = b.EmitQuantized("pooled", b.op(), {x}, attrs, declared.dtype, declared.quantization);
  if (!TfliteBuilder::HasRange(options.activation))
    return b.OutputActivated(b.Real("real", pooled), options.activation);
  b.Output(OpCode::kClamp, {pooled}, TfliteBuilder::RangeOf(options.activation));
}

void BuildL2Pool(TfliteBuilder& b) {
  const auto options = b.Options<tflite::Pool2DOptions>();
  const ValueId x = b.Real("real", b.Input(0));
  const ValueId mean =
      b.Emit("mean", OpCode::kAveragePool2d, {EmitMul(b, "squares", x, x)}, WindowOf(b, options));
  b.OutputActivated(b.Emit("norm", OpCode::kSqrt, {mean}), options.activation);
}

/// Input 1 is (height, width).
void Resize(TfliteBuilder& b, const ResizeAttrs& attrs) {
  const ValueId sizes = b.Integers("sizes", b.Input(1));
  b.Output(OpCode::kResize2d, {b.Operand(0), sizes}, attrs);
}

void BuildResizeBilinear(TfliteBuilder& b) {
  const auto options = b.Options<tflite::ResizeBilinearOptions>();
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::kLinear;
  attrs.coordinates = options.align_corners        ? ResizeCoordinates::kAlignCorners
                      : options.half_pixel_centers ? ResizeCoordinates::kHalfPixel
                                                   : ResizeCoordinates::kAsymmetric;
  Resize(b, attrs);
}

/// Nearest as LiteRT has it where corners are aligned and centers lie at half pixels: the pixel that
/// (i + 0.5) * (input - 1) / (output - 1) rounds to, in f32. No coordinates of Resize2d are these.
void BuildAlignedHalfPixels(TfliteBuilder& b) {
  const std::optional<TensorData> sizes = b.KnownValueOf(b.Input(1));
  const char* const kWhat =
      "aligns corners and has centers at half pixels, for which its sizes must be known";
  if (!sizes) b.Unsupported("{}", kWhat);
  if (sizes->elements() != 2 || IsFloat(sizes->dtype())) b.Invalid("its sizes must be two integers");
  const std::vector<int64_t> outputs = sizes->ToInts();
  std::vector<ValueId> indices;
  for (size_t axis = 0; axis < 2; ++axis) {
    const std::optional<int64_t> input = b.ExtentOf(b.Input(0), static_cast<int64_t>(axis) + 1);
    if (!input) b.Unsupported("{}", kWhat);
    b.CheckRange("size", outputs[axis], 1);
    b.CheckRoom(outputs[axis] * static_cast<int64_t>(sizeof(int64_t)));
    const int64_t ends = outputs[axis] > 1 ? 1 : 0;
    const float scale = static_cast<float>(*input - ends) / static_cast<float>(outputs[axis] - ends);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < outputs[axis]; ++i) {
      const float at = std::round((static_cast<float>(i) + 0.5F) * scale);
      places.push_back(std::clamp<int64_t>(static_cast<int64_t>(at), 0, std::max<int64_t>(*input - 1, 0)));
    }
    indices.push_back(b.ConstantInts("places", places));
  }
  const ValueId rows = b.Emit("rows", OpCode::kGather, {b.Operand(0), indices[0]}, AxisAttrs{1});
  b.Output(OpCode::kGather, {rows, indices[1]}, AxisAttrs{2});
}

void BuildResizeNearest(TfliteBuilder& b) {
  const auto options = b.Options<tflite::ResizeNearestNeighborOptions>();
  if (options.align_corners && options.half_pixel_centers) return BuildAlignedHalfPixels(b);
  ResizeAttrs attrs;
  attrs.nearest = options.align_corners ? ResizeNearest::kRoundPreferCeil : ResizeNearest::kFloor;
  attrs.coordinates = options.align_corners        ? ResizeCoordinates::kAlignCorners
                      : options.half_pixel_centers ? ResizeCoordinates::kTfHalfPixelForNn
                                                   : ResizeCoordinates::kAsymmetric;
  Resize(b, attrs);
}

constexpr TfliteOp kRows[] = {
    {Op::AVERAGE_POOL_2D, BuildPool, OpCode::kAveragePool2d},
    {Op::MAX_POOL_2D, BuildPool, OpCode::kMaxPool2d},
    {Op::L2_POOL_2D, BuildL2Pool},
    {Op::RESIZE_BILINEAR, BuildResizeBilinear, OpCode::kResize2d},
    {Op::RESIZE_NEAREST_NEIGHBOR, BuildResizeNearest, OpCode::kResize2d},
};

}  // namespace

std::span<const TfliteOp> TflitePoolOps() { return kRows; }

}  // namespace skiff
