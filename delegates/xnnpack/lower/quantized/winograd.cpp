// Convolutions of codes of 3 x 3 by Winograd's minimal filtering, in integers: the same codes as the direct
// way's, where that takes longer.
#include <algorithm>

#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/winograd_tiles.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// 4 times sums over 9 products of codes and weights, each less than 256, for more channels might not fit 32
/// bits.
constexpr int64_t kMostChannels = 900;

/// Three weights, or sums of them, by twice the matrix that transforms them.
void Transform(int a, int b, int c, int (&to)[4]) {
  const int ends = a + c;
  to[0] = 2 * a;
  to[1] = ends + b;
  to[2] = ends - b;
  to[3] = 2 * c;
}

class CodeWinogradStep final : public WinogradTiles {
 public:
  CodeWinogradStep(const NodeView& node, const Environment& environment)
      : WinogradTiles(node, environment), kernels_(environment.kernels->codes.winograd) {}

  Status Reshape() override {
    product_.run = product_.x_stride = static_cast<size_t>(node_.in(1).shape[3]);
    product_.outputs = static_cast<size_t>(node_.in(1).shape[0]);
    const Kernels& kernels = *environment_.kernels;
    product_.y_stride = DenseColumns(product_, kernels);
    point_words_ = (2 + product_.words(2)) * product_.y_stride;
    SKIFF_RETURN_IF_ERROR(DescribeTiles(kCodeWinogradTile, kCodeWinogradPoints, sizeof(int16_t),
                                        sizeof(int32_t), product_.y_stride, product_, product_.words(2),
                                        &args_));
    const TensorView& x = node_.in(0);
    const bool is_signed = x.dtype == DType::kI8;
    args_.x_sign = is_signed ? 0x80 : 0;
    args_.x_zero_point = static_cast<int16_t>(x.quantization->zero_point + (is_signed ? 128 : 0));
    return product_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    args_.codes = node_.in(0).as<const uint8_t>();
    args_.made = static_cast<uint8_t*>(node_.out(0).data);
    SetWorkspace(workspace);
    return OkStatus();
  }

 private:
  CodeWinogradArgs ArgsOf(size_t picture) const {
    CodeWinogradArgs args = args_;
    args.codes += picture * args.height * args.width * args.x_stride;
    args.made += picture * args.output_height * args.output_width * args.y_stride;
    return args;
  }

  void MakeWindows(size_t picture, size_t first_tile, size_t end_tile, uint8_t* windows) const override {
    kernels_.input(ArgsOf(picture), first_tile, end_tile, reinterpret_cast<int16_t*>(windows));
  }

  void MakeProducts(size_t point, size_t first_panel, size_t end_panel, size_t tiles, const uint8_t* windows,
                    uint8_t* products) const override {
    CodeDenseArgs args = product_;
    args.x = reinterpret_cast<const int16_t*>(windows) + point * args_.point_inputs;
    args.y = reinterpret_cast<int32_t*>(products) + point * args_.point_outputs;
    args.weights += point * point_words_;
    environment_.kernels->codes.sums(args, 0, tiles, first_panel, end_panel);
  }

  void MakeOutputs(size_t picture, size_t first_tile, size_t end_tile,
                   const uint8_t* products) const override {
    kernels_.output(ArgsOf(picture), first_tile, end_tile, reinterpret_cast<const int32_t*>(products));
  }

  /// For each point weights as CodeDenseArgs has them; then biases and factors.
  Status Pack() {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const size_t outputs = product_.outputs;
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, outputs, attrs.min, attrs.max));
    terms.SetCodes(node_.out(0).dtype, &args_);
    PackingKey key;
    key.kind = PackingKind::kCodeWinograd;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    const size_t parameters[] = {product_.run, outputs, environment_.kernels->dense_outputs};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    const size_t words = kCodeWinogradPoints * point_words_;
    key.packed_bytes = (words + 2 * outputs) * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      auto* const to = static_cast<int32_t*>(blob);
      std::fill_n(to, words, 0);
      PackWeights(terms, to);
      for (size_t i = 0; i < outputs; ++i) {
        to[words + i] = terms.bias() != nullptr ? terms.bias()[i] : 0;
        reinterpret_cast<float*>(to + words + outputs)[i] = terms.factor(i);
      }
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    product_.weights = static_cast<const int32_t*>(packed);
    args_.biases = product_.weights + words;
    args_.factors = reinterpret_cast<const float*>(args_.biases + outputs);
    return OkStatus();
  }

  void PackWeights(const ProductTerms& terms, int32_t* to) const {
    const size_t panel = environment_.kernels->dense_outputs;
    const size_t columns = product_.y_stride;
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      int32_t* const words = to + first * (2 + product_.words(2)) + 2 * width;
      const size_t end = std::min(first + width, product_.outputs);
      for (size_t channel = 0; channel < product_.run; channel += 2) {
        int32_t* word = words + channel / 2 * width;
        for (size_t output = first; output < end; ++output, ++word) {
          int16_t points[2][kCodeWinogradPoints] = {};
          TransformWeights(terms, output, channel, points[0]);
          if (channel + 1 < product_.run) TransformWeights(terms, output, channel + 1, points[1]);
          for (size_t point = 0; point < kCodeWinogradPoints; ++point)
            word[point * point_words_] =
                points[1][point] * (1 << 16) | static_cast<uint16_t>(points[0][point]);
        }
      }
    }
  }

  void TransformWeights(const ProductTerms& terms, size_t output, size_t channel, int16_t* points) const {
    const TensorView& w = node_.in(1);  // [outputs, 3, 3, channels]
    const size_t first = output * 9 * product_.run + channel;
    int columns[3][4];
    for (size_t i = 0; i < 3; ++i) {
      const auto tap = [&](size_t row) {
        return int{terms.WeightAt(w, first + (row * 3 + i) * product_.run)};
      };
      Transform(tap(0), tap(1), tap(2), columns[i]);
    }
    for (size_t r = 0; r < 4; ++r) {
      int line[4];
      Transform(columns[0][r], columns[1][r], columns[2][r], line);
      for (size_t i = 0; i < 4; ++i) points[r * 4 + i] = static_cast<int16_t>(line[i]);
    }
  }

  const CodeWinogradKernels& kernels_;
  CodeWinogradArgs args_;
  CodeDenseArgs product_;
  size_t point_words_ = 0;  ///< Of packed weights.
};

/// Twice as many integers as floats are multiplied in a second, and the transformed weights have 1.8 times
/// the bytes of those that the direct way reads: of 512 channels and 16 tiles (ResNet's last stage), which
/// gained nothing on a Zen 5, a net's weights no longer fit the last cache.
constexpr double kLoadCost = 24;

class WinogradByShapeStep final : public ByShapeStep {
 public:
  using ByShapeStep::ByShapeStep;

 private:
  size_t Choose() const override {
    const Shape& w = node_.in(1).shape;
    const Shape& y = node_.out(0).shape;
    const double by_tiles = WinogradCost(kCodeWinogradTile, kCodeWinogradPoints, w, y, Ints{1, 1}, kLoadCost);
    return by_tiles * kLeastWinogradGain < DirectCost(y, kLoadCost) ? 1 : 0;
  }
  Result<StepPointer> Make(size_t way) const override {
    const auto& attrs = node_.As<Conv2dAttrs>();
    return way == 1 ? MakeStep<CodeWinogradStep>(node_, environment_)
                    : LowerCodeDense(node_, environment_, {attrs.min, attrs.max, /*transposed=*/false});
  }
};

}  // namespace

bool MayRunCodeWinograd(const NodeView& node, const Environment& environment) {
  const CodeWinogradKernels& kernels = environment.kernels->codes.winograd;
  if (kernels.input == nullptr || !RunsCodeDense(node, environment)) return false;
  const int64_t channels = node.in(1).shape[3];
  const Ints& dilations = node.As<Conv2dAttrs>().dilations;
  if (dilations[0] != 1 || dilations[1] != 1) return false;
  return IsWinogradShape(node, *environment.kernels) && channels >= static_cast<int64_t>(kernels.channels) &&
         channels <= kMostChannels;
}

Result<StepPointer> LowerCodeWinograd(const NodeView& node, const Environment& environment) {
  return MakeStep<WinogradByShapeStep>(node, environment);
}

}  // namespace skiff::xnnpack
