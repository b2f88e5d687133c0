// AudioSpectrogram and Mfcc: TensorFlow's front end of speech models. What depends on the options alone
// becomes constants, computed in f64.
#include <bit>
#include <cmath>
#include <numbers>

#include "import/spectrum.h"
#include "import/tflite/flex_options.h"
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// [2 bins, 1, window, 1]: each column of the transform's two matrices, under a periodic Hann window, as a
/// kernel.
TensorData SpectrumKernels(int64_t window, int64_t length, int64_t bins) {
  const TensorData parts[] = {DftCosines(length, window, bins), DftMinusSines(length, window, bins)};
  TensorData kernels(DType::kF32, Shape{2 * bins, 1, window, 1});
  auto* out = static_cast<float*>(kernels.mutable_data());
  for (const TensorData& part : parts) {
    for (int64_t bin = 0; bin < bins; ++bin) {
      for (int64_t i = 0; i < window; ++i) {
        const double turn = static_cast<double>(i) / static_cast<double>(window);
        const double weight = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * turn);
        *out++ = static_cast<float>(weight * static_cast<double>(part.as<float>()[i * bins + bin]));
      }
    }
  }
  return kernels;
}

/// [samples, channels] to [channels, frames, bins].
void BuildAudioSpectrogram(TfliteBuilder& b) {
  const FlexOptions options(b);
  const int64_t window = options.Int("window_size", 2, 1 << 20);
  const int64_t stride = options.Int("stride", 1, TfliteBuilder::kMaxWindowNumber);
  const auto length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window)));
  const int64_t bins = length / 2 + 1;
  if (window * bins > kMostDftElements)
    b.Unsupported(
        "has a window of {} samples, which is too long for a product; compute its spectrum in the program",
        window);
  const ValueId x = b.Real("real", b.Input(0));
  if (b.RankOf(x) != 2) b.Invalid("its samples have rank {}; [samples, channels] was expected", b.RankOf(x));
  const ValueId signal = EmitUnsqueeze(b, "signal", EmitTranspose(b, "channels", x, {1, 0}), {1, 3});
  const ValueId frames = b.Emit("frames", OpCode::kConv2d,
                                {signal, b.Table("kernels", fmt::format("spectrum {}", window),
                                                 [&] { return SpectrumKernels(window, length, bins); })},
                                Conv2dAttrs{.strides = {1, stride}});
  const ValueId rows = b.Emit("parts", OpCode::kSqueeze, {frames}, AxesAttrs{{1}});
  const ValueId squares = EmitMul(b, "squares", rows, rows);
  const ValueId power = EmitAdd(b, "power", EmitSlice(b, "real_squares", squares, 2, 0, bins),
                                EmitSlice(b, "imaginary_squares", squares, 2, bins, 2 * bins));
  b.OutputValue(options.Flag("magnitude_squared", false) ? power
                                                         : b.Emit("magnitude", OpCode::kSqrt, {power}));
}

struct MelBands {
  int64_t count = 0;
  double low = 0;  ///< In hertz.
  double high = 0;
  double rate = 0;
};

double Mel(double hertz) { return 1127 * std::log1p(hertz / 700); }

/// [bins, bands]. A bin gives to the band whose centre lies below it what is left of the distance to the next
/// centre, and to that one the rest; bins outside of [low, high] give nothing.
TensorData MelWeights(const MelBands& bands, int64_t bins) {
  std::vector<double> centres;
  const double spacing = (Mel(bands.high) - Mel(bands.low)) / static_cast<double>(bands.count + 1);
  for (int64_t i = 0; i <= bands.count; ++i)
    centres.push_back(Mel(bands.low) + spacing * static_cast<double>(i + 1));
  const double width = 0.5 * bands.rate / static_cast<double>(bins - 1);
  const auto first = static_cast<int64_t>(1.5 + bands.low / width);
  const auto last = std::min(static_cast<int64_t>(bands.high / width), bins - 1);
  TensorData weights(DType::kF32, Shape{bins, bands.count});
  auto* out = static_cast<float*>(weights.mutable_data());
  size_t next = 0;  // The band whose centre is the first that is not below the bin.
  for (int64_t bin = 0; bin <= last; ++bin) {
    const double mel = Mel(static_cast<double>(bin) * width);
    if (bin < first) continue;
    while (next < static_cast<size_t>(bands.count) && centres[next] < mel) ++next;
    const double below = next == 0 ? Mel(bands.low) : centres[next - 1];
    const double weight = (centres[next] - mel) / (centres[next] - below);
    float* row = out + bin * bands.count;
    if (next > 0) row[next - 1] = static_cast<float>(weight);
    if (next < static_cast<size_t>(bands.count)) row[next] = static_cast<float>(1 - weight);
  }
  return weights;
}

/// [bands, coefficients], the cosine transform of type II.
TensorData CosineWeights(int64_t bands, int64_t coefficients) {
  TensorData weights(DType::kF32, Shape{bands, coefficients});
  auto* out = static_cast<float*>(weights.mutable_data());
  const double norm = std::sqrt(2 / static_cast<double>(bands));
  for (int64_t band = 0; band < bands; ++band) {
    for (int64_t i = 0; i < coefficients; ++i) {
      const double step = std::numbers::pi / static_cast<double>(bands) * static_cast<double>(i);
      *out++ = static_cast<float>(norm * std::cos(step * (static_cast<double>(band) + 0.5)));
    }
  }
  return weights;
}

/// Of squared magnitudes [channels, frames, bins].
void BuildMfcc(TfliteBuilder& b) {
  constexpr double kLeast = 1e-12;  // Silence has a logarithm, too.
  constexpr int64_t kMostBands = 1 << 12;
  const FlexOptions options(b);
  MelBands bands;
  bands.high = options.Real("upper_frequency_limit");
  bands.low = options.Real("lower_frequency_limit");
  bands.count = options.Int("filterbank_channel_count", 1, kMostBands);
  const int64_t coefficients = options.Int("dct_coefficient_count", 1, bands.count);
  bands.rate = static_cast<double>(b.ConstantInt(1, "sample rate"));
  const ValueId x = b.Real("real", b.Input(0));
  const std::optional<int64_t> bins = b.ExtentOf(x, b.RankOf(x) - 1);
  if (!bins) b.Unsupported("has an open number of frequencies; convert the net with fixed shapes");
  if (*bins < 2 || *bins > kMostDftElements / bands.count) b.Invalid("it has {} frequencies", *bins);
  if (!(bands.low >= 0 && bands.low < bands.high && bands.high <= 1e9 && bands.rate > 0))
    b.Invalid("its frequencies from {} to {}, at {} samples a second, are no range", bands.low, bands.high,
              bands.rate);
  const auto product = [&](const char* suffix, ValueId left, TensorData matrix) {
    const ValueId right = b.Constant(fmt::format("{}_weights", suffix).c_str(), std::move(matrix));
    return b.Emit(suffix, OpCode::kMatMul, {left, right}, MatMulAttrs{});
  };
  const ValueId magnitudes = b.Emit("magnitudes", OpCode::kSqrt, {x});
  const ValueId energies = product("bands", magnitudes, MelWeights(bands, *bins));
  const ValueId heard = b.Emit("heard", OpCode::kMax, {energies, b.Scalar("least", DType::kF32, kLeast)});
  b.OutputValue(product("coefficients", b.Emit("log", OpCode::kLog, {heard}),
                        CosineWeights(bands.count, coefficients)));
}

constexpr TfliteCustomOp kRows[] = {
    {"AudioSpectrogram", BuildAudioSpectrogram},
    {"Mfcc", BuildMfcc},
};

}  // namespace

std::span<const TfliteCustomOp> TfliteAudioOps() { return kRows; }

}  // namespace skiff
