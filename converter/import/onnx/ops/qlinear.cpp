// ONNX rows: convolutions and products of integers. Those that round are the float operators between what
// their integers stand for; those that do not are products of quantised values of scale 1, which are exact.
#include "import/onnx/dynamic_product.h"
#include "import/onnx/integer_product.h"
#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
#include "import/onnx/quantized_rows.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// The factors' scales may be those of rows and columns.
void BuildQLinearMatMul(OnnxBuilder& b) {
  const ValueId x = EmitReal(b, "a", b.Input(0), {b.Input(1), b.OptionalInput(2), -2});
  const ValueId y = EmitReal(b, "b", b.Input(3), {b.Input(4), b.OptionalInput(5), -1});
  const ValueId product = b.Emit("product", OpCode::kMatMul, {x, y}, MatMulAttrs{});
  EmitCodes(b, nullptr, product, b.DTypeOf(b.Input(7)), {b.Input(6), b.Input(7), -2});
}

void BuildMatMulInteger(OnnxBuilder& b) {
  EmitIntegerMatMul(b, nullptr, {b.Input(0), b.OptionalInput(2)}, {b.Input(1), b.OptionalInput(3)});
  NoteDynamicProduct(b, /*is_convolution=*/false);
}

void BuildConvInteger(OnnxBuilder& b) {
  const ValueId x = EmitSteps(b, "x", {b.Input(0), b.OptionalInput(2)}, 1);
  const ValueId w = EmitSteps(b, "w", {b.Input(1), b.OptionalInput(3)}, 0);
  const ValueId sums = EmitOnnxOfIntegers(b, "sums", "Conv", b.opset(), {x, w});
  b.Output(OpCode::kToCodes, {sums}, CastAttrs{static_cast<int64_t>(DType::kI32)});
  NoteDynamicProduct(b, /*is_convolution=*/true);
}

constexpr OnnxOp kRows[] = {
    {"QLinearConv", 10, kNewest, BuildQLinearConv},
    {"QLinearMatMul", 10, kNewest, BuildQLinearMatMul},
    {"MatMulInteger", 10, kNewest, BuildMatMulInteger},
    {"ConvInteger", 10, kNewest, BuildConvInteger},
};

}  // namespace

void BuildQLinearConv(OnnxBuilder& b) {
  const bool channels_last = b.Flag("channels_last");
  const ValueId w_scale = b.Input(4);
  ValueId x = EmitReal(b, "x", b.Input(0), {b.Input(1), b.OptionalInput(2)});
  if (channels_last) x = ChannelsToFront(b, "x_channels", x);
  const ValueId w = EmitReal(b, "w", b.Input(3), {w_scale, b.OptionalInput(5), 0});
  ValueId bias = kNoValue;
  if (b.HasInput(8))
    bias = EmitReal(b, "bias", b.Input(8),
                    {EmitProductOfScales(b, "bias_scale", b.Input(1), w_scale), kNoValue, 0});
  ValueId y = EmitOnnx(b, "conv", "Conv", kNewest, {x, w, bias}, NodeAttributes(b));
  if (channels_last) y = ChannelsToBack(b, "y_channels", y);
  EmitCodes(b, nullptr, y, b.DTypeOf(b.Input(7)), {b.Input(6), b.Input(7)});
}

std::span<const OnnxOp> OnnxQLinearOps() { return kRows; }

}  // namespace skiff
