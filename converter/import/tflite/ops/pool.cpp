// TensorFlow Lite rows: pooling and resizing of images.
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

void BuildResizeNearest(TfliteBuilder& b) {
  const auto options = b.Options<tflite::ResizeNearestNeighborOptions>();
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
