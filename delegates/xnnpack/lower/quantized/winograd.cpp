// Convolutions of codes of 3 x 3 by Winograd's minimal filtering, in integers: the same codes as the direct
// way's, where that takes longer.
#if defined(__aarch64__)
#include <cpuinfo.h>
#endif

#include <algorithm>
#include <limits>
#include <optional>

#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/winograd_tiles.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

class CodeWinogradStep final : public WinogradTiles {
 public:
  CodeWinogradStep(const NodeView& node, const Environment& environment, const CodeWinogradKernels& kernels)
      : WinogradTiles(node, environment), kernels_(kernels) {}

  Status Reshape() override {
    product_.run = product_.x_stride = static_cast<size_t>(node_.in(1).shape[3]);
    product_.outputs = static_cast<size_t>(node_.in(1).shape[0]);
    const Kernels& kernels = *environment_.kernels;
    product_.y_stride = DenseColumns(product_, kernels);
    point_words_ = (2 + product_.words(2)) * product_.y_stride;
    SKIFF_RETURN_IF_ERROR(DescribeTiles(kernels_.tile, sizeof(int16_t), sizeof(int32_t), product_.y_stride,
                                        product_, product_.words(2), &args_));
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
    const size_t parameters[] = {product_.run, outputs, environment_.kernels->dense_outputs, kernels_.tile};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    const size_t words = WinogradPoints(kernels_.tile) * point_words_;
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

  /// Channels whose weights are transformed at once.
  static constexpr size_t kBlock = 16;
  using Block = int16_t[kBlock];
  static constexpr size_t kMostEdge = 6;  ///< Points along an edge.

  void PackWeights(const ProductTerms& terms, int32_t* to) const {
    const size_t panel = environment_.kernels->dense_outputs;
    const size_t columns = product_.y_stride;
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      int32_t* const words = to + first * (2 + product_.words(2)) + 2 * width;
      const size_t end = std::min(first + width, product_.outputs);
      for (size_t channel = 0; channel < product_.run; channel += kBlock) {
        for (size_t output = first; output < end; ++output)
          PackBlock(terms, output, channel, width, output - first, words + channel / 2 * width);
      }
    }
  }

  /// To column `at` of a panel of `width`.
  void PackBlock(const ProductTerms& terms, size_t output, size_t channel, size_t width, size_t at,
                 int32_t* to) const {
    const TensorView& w = node_.in(1);  // [outputs, 3, 3, channels]
    const size_t count = std::min(kBlock, product_.run - channel);
    Block taps[9] = {};
    for (size_t tap = 0; tap < 9; ++tap) {
      const size_t from = (output * 9 + tap) * product_.run + channel;
      for (size_t k = 0; k < count; ++k) taps[tap][k] = terms.WeightAt(w, from + k);
    }
    Block points[kMostEdge * kMostEdge];
    Transform(taps, points);
    // From an output to the next, and from one of a pair to the other.
    const size_t step = halves_apart_ ? 1 : 2;
    const size_t apart = halves_apart_ ? width : 1;
    auto* made = reinterpret_cast<int16_t*>(to) + at * step;
    for (size_t point = 0; point < WinogradPoints(kernels_.tile); ++point, made += 2 * point_words_) {
      for (size_t k = 0; k < count; ++k) made[k / 2 * 2 * width + k % 2 * apart] = points[point][k];
    }
  }

  /// Of any codes less any zero point, results fit 16 bits.
  void Transform(const Block (&taps)[9], Block* points) const {
    const auto sum = [&](size_t row, const Block& a, const Block& b, const Block& c, Block& made) {
      const int8_t(&by)[3] = kernels_.weights[row];
      for (size_t k = 0; k < kBlock; ++k)
        made[k] = static_cast<int16_t>(by[0] * a[k] + by[1] * b[k] + by[2] * c[k]);
    };
    const size_t edge = kernels_.tile + 2;
    for (size_t r = 0; r < edge; ++r) {
      Block columns[3];
      for (size_t i = 0; i < 3; ++i) sum(r, taps[i], taps[3 + i], taps[6 + i], columns[i]);
      for (size_t i = 0; i < edge; ++i) sum(i, columns[0], columns[1], columns[2], points[r * edge + i]);
    }
  }

  const CodeWinogradKernels& kernels_;
  const bool halves_apart_ = environment_.kernels->codes.halves_apart;
  CodeWinogradArgs args_;
  CodeDenseArgs product_;
  size_t point_words_ = 0;  ///< Of packed weights.
};

/// Whether `times` the sums of products of any codes with an output's weights fit 32 bits.
bool SumsFit(const NodeView& node, int32_t times) {
  const TensorView& x = node.in(0);
  const TensorView& w = node.in(1);
  const int64_t most = std::numeric_limits<int32_t>::max() / times;
  const int least_code = x.dtype == DType::kI8 ? -128 : 0;
  const int64_t below = x.quantization->zero_point - least_code;
  const int64_t above = least_code + 255 - x.quantization->zero_point;
  const int64_t count = w.shape.ElementsBetween(1, 4);
  if (count * 255 * 255 <= most) return true;
  const auto sign = static_cast<uint8_t>(w.dtype == DType::kI8 ? 0 : 0x80);
  const int zero_point = w.quantization->ZeroPointAt(0) - sign;
  const auto* codes = w.as<const uint8_t>();
  for (int64_t output = 0; output < w.shape[0]; ++output, codes += count) {
    int64_t positive = 0;
    int64_t sum = 0;
    constexpr int64_t kChunk = 1 << 20;  // Sums of which fit 32 bits.
    for (int64_t first = 0; first < count; first += kChunk) {
      const int64_t end = std::min(count, first + kChunk);
      int some_positive = 0;
      int some = 0;
      for (int64_t i = first; i < end; ++i) {
        const int weight = static_cast<int8_t>(codes[i] ^ sign) - zero_point;
        some_positive += std::max(weight, 0);
        some += weight;
      }
      positive += some_positive;
      sum += some;
    }
    const int64_t negative = positive - sum;
    if (std::max(positive * above + negative * below, positive * below + negative * above) > most)
      return false;
  }
  return true;
}

/// Fitted to 16 to 512 channels and 7 to 56 lines on a Xeon with VNNI, which multiplies twice as many pairs
/// of i16 as of f32 in a second, and without it as many; on Arm what it is for floats.
#if defined(__aarch64__)
constexpr double kTransformCost = 8;
#else
constexpr double kTransformCost = 15;
#endif

class WinogradByShapeStep final : public ByShapeStep {
 public:
  using ByShapeStep::ByShapeStep;

 private:
  static_assert(kWays > kWinogradSizes);
  const CodeWinogradKernels& KernelsOf(size_t way) const {
    return environment_.kernels->codes.winograd[way - 1];
  }

  /// The fastest for these extents: the direct way, then by size.
  size_t Choose() override {
    const Shape& w = node_.in(1).shape;
    const Shape& y = node_.out(0).shape;
    const bool fast = HasFasterSums(*environment_.kernels);
    const WinogradCosts costs = {kTransformCost, LoadCost(*environment_.kernels) / (fast ? 1 : 2)};
    if (products_at_once_ == 0) products_at_once_ = ProductsAtOnce();
    double least = DirectCost(y, costs) / products_at_once_;
    size_t best = 0;
    // A limit of memory makes a session exact, and weights of larger tiles are twice as large.
    const size_t ways = environment_.exact ? 1 : kWinogradSizes;
    for (size_t way = 1; way <= ways; ++way) {
      const double cost = WinogradCost(KernelsOf(way).tile, w, y, Ints{1, 1}, costs);
      if (cost * kLeastWinogradGain >= least || !Fits(way)) continue;
      least = cost;
      best = way;
    }
    return best;
  }
  Result<StepPointer> Make(size_t way) const override {
    const auto& attrs = node_.As<Conv2dAttrs>();
    if (way > 0) return MakeStep<CodeWinogradStep>(node_, environment_, KernelsOf(way));
    return kHasOwnKernels ? LowerCodeDense(node_, environment_, {attrs.min, attrs.max, /*transposed=*/false})
                          : LowerXnnpackQuantizedConv2d(node_, environment_);
  }

  bool Fits(size_t way) {
    std::optional<bool>& fits = fits_[way - 1];
    if (!fits) fits = SumsFit(node_, KernelsOf(way).times);
    return *fits;
  }
  /// The direct way's in the time of one of a pair.
  double ProductsAtOnce() const {
#if defined(__aarch64__)
    // Instructions for four products, or for eight of which two are added in 16 bits.
    if (cpuinfo_has_arm_neon_dot()) return 4;
    return node_.in(0).dtype == DType::kI8 ? 4.0 / 3 : 1;
#else
    if (HasFasterSums(*environment_.kernels)) return 2;
    return MultipliesBytes(node_, environment_) ? 4.0 / 3 : 1;
#endif
  }

  double products_at_once_ = 0;
  std::optional<bool> fits_[kWinogradSizes];
};

}  // namespace

bool MayRunCodeWinograd(const NodeView& node, const Environment& environment) {
  const CodeKernels& kernels = environment.kernels->codes;
  const size_t least = kernels.winograd_channels;
  if (least == 0 || kernels.sums == nullptr) return false;
  if (kHasOwnKernels && !RunsCodeDense(node, environment)) return false;
  const int64_t channels = node.in(1).shape[3];
  const Ints& dilations = node.As<Conv2dAttrs>().dilations;
  if (dilations[0] != 1 || dilations[1] != 1) return false;
  return IsWinogradShape(node, *environment.kernels) && channels >= static_cast<int64_t>(least);
}

Result<StepPointer> LowerCodeWinograd(const NodeView& node, const Environment& environment) {
  return MakeStep<WinogradByShapeStep>(node, environment);
}

}  // namespace skiff::xnnpack
