// TensorFlow Lite rows: normalisations.
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

void BuildSoftmax(TfliteBuilder& b) {
  const float beta = b.Options<tflite::SoftmaxOptions>().beta;
  const ValueId x = b.Operand(0);
  if (beta == 1.0f) return b.Output(OpCode::kSoftmax, {x}, AxisAttrs{-1});
  const ValueId real = b.Real("real", x);
  const ValueId scaled =
      EmitMul(b, "scaled", real, b.Scalar("beta", b.DTypeOf(real), static_cast<double>(beta)));
  b.OutputValue(b.Emit("shares", OpCode::kSoftmax, {scaled}, AxisAttrs{-1}));
}

void BuildLogSoftmax(TfliteBuilder& b) { b.Output(OpCode::kLogSoftmax, {b.Operand(0)}, AxisAttrs{-1}); }

/// Along the last axis; a vector shorter than 1e-6 is divided by that.
void BuildL2Normalization(TfliteBuilder& b) {
  const ValueId x = b.Real("real", b.Input(0));
  ReduceAttrs last;
  last.axes = {-1};
  const ValueId sum = b.Emit("sum", OpCode::kReduceSum, {EmitMul(b, "squares", x, x)}, last);
  const ValueId length = b.Emit("length", OpCode::kSqrt, {sum});
  const ValueId divisor = b.Emit("divisor", OpCode::kMax, {length, b.Scalar("least", b.DTypeOf(x), 1e-6)});
  b.OutputActivated(EmitDiv(b, "unit", x, divisor), b.Options<tflite::L2NormOptions>().activation);
}

/// x / (bias + alpha * sum of squares of the channels within the radius) ^ beta. The sums are windows over an
/// image whose height is the channels, [pixels, channels, 1, 1].
void BuildLocalResponseNormalization(TfliteBuilder& b) {
  const auto options = b.Options<tflite::LocalResponseNormalizationOptions>();
  b.CheckRange("radius", options.radius, 0);
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const std::optional<int64_t> channels = b.ExtentOf(x, b.RankOf(x) - 1);
  if (!channels) b.Unsupported("needs to know its number of channels");
  const auto number = [&](const char* name, double value) { return b.Scalar(name, dtype, value); };
  const double width = 2.0 * options.radius + 1;
  Pool2dAttrs window;
  window.kernel = {2 * int64_t{options.radius} + 1, 1};
  window.pads = {options.radius, 0, options.radius, 0};
  window.count_include_pad = true;
  const ValueId image = EmitReshape(b, "image", x, {-1, *channels, 1, 1});
  const ValueId mean = b.Emit("mean", OpCode::kAveragePool2d, {EmitMul(b, "squares", image, image)}, window);
  const ValueId scaled =
      EmitMul(b, "scaled", mean, number("alpha", width * static_cast<double>(options.alpha)));
  const ValueId biased = EmitAdd(b, "biased", scaled, number("bias", static_cast<double>(options.bias)));
  const ValueId power =
      b.Emit("power", OpCode::kPow, {biased, number("beta", static_cast<double>(options.beta))});
  const ValueId normal = EmitDiv(b, "normal", image, power);
  b.Output(OpCode::kReshape, {normal, b.Emit("shape", OpCode::kShape, {x}, ShapeAttrs{})},
           ReshapeAttrs{.allow_zero = true});
}

constexpr TfliteOp kRows[] = {
    {Op::SOFTMAX, BuildSoftmax, OpCode::kSoftmax},
    {Op::LOG_SOFTMAX, BuildLogSoftmax, OpCode::kLogSoftmax},
    {Op::L2_NORMALIZATION, BuildL2Normalization},
    {Op::LOCAL_RESPONSE_NORMALIZATION, BuildLocalResponseNormalization},
};

}  // namespace

std::span<const TfliteOp> TfliteNormalizeOps() { return kRows; }

}  // namespace skiff
