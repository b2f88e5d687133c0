// Operators that are no part of TensorFlow Lite but common in its files, by name.
#include <cstring>

#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Of MediaPipe: a transposed convolution whose options are those of the format's own structs
/// (TfLiteTransposeConvParams: padding, stride_width, stride_height), and whose output is as large as the
/// padding makes it.
void BuildConvolution2DTransposeBias(TfliteBuilder& b) {
  struct Params {
    int32_t padding;  // 1: SAME, 2: VALID.
    int32_t stride_w;
    int32_t stride_h;
  } params = {};
  const Span<const uint8_t> bytes = b.CustomOptions();
  if (bytes.size() < sizeof(params)) b.Invalid("its options have {} bytes", bytes.size());
  std::memcpy(&params, bytes.data(), sizeof(params));
  if (params.padding != 1 && params.padding != 2) b.Invalid("its padding is {}", params.padding);
  b.CheckRange("stride", params.stride_h, 1);
  b.CheckRange("stride", params.stride_w, 1);
  const auto [x, weights] = ProductOperands(b, 0, 1);
  ConvTranspose2dAttrs attrs;
  attrs.strides = {params.stride_h, params.stride_w};
  for (int axis = 0; axis < 2; ++axis) {
    const std::optional<int64_t> kernel = b.ExtentOf(weights, 1 + axis);
    if (!kernel) b.Unsupported("needs to know the size of its kernel");
    b.CheckRange("kernel", *kernel, 1);
    const int64_t beyond = params.padding == 1 ? *kernel - attrs.strides[axis] : 0;
    if (beyond < 0) {
      attrs.output_pads[axis] = -beyond;
      continue;
    }
    attrs.pads[axis] = beyond / 2;
    attrs.pads[2 + axis] = beyond - beyond / 2;
  }
  b.Output(OpCode::kConvTranspose2d, {x, weights, BiasOf(b, 2, x, weights)}, attrs);
}

constexpr TfliteCustomOp kRows[] = {
    {"Convolution2DTransposeBias", BuildConvolution2DTransposeBias},
};

}  // namespace

std::span<const TfliteCustomOp> TfliteCustomOps() { return kRows; }

}  // namespace skiff
