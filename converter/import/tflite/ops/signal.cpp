// The audio front end of TensorFlow Lite Micro: fixed-point arithmetic, to the last bit.
#include <cmath>

#include "import/tflite/exact.h"
#include "import/tflite/flex_options.h"
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

int64_t LastExtent(const TfliteBuilder& b, ValueId x) {
  const std::optional<int64_t> extent = b.ExtentOf(x, b.RankOf(x) - 1);
  if (!extent) b.Unsupported("has an open length; convert the net with fixed shapes");
  return *extent;
}

/// Samples times weights, less their fractional bits.
void BuildWindow(TfliteBuilder& b) {
  Exact math(b);
  const ValueId products = math.Mul(math.Input(0), math.Input(1));
  const ValueId shifted = math.ShiftRight(products, FlexOptions(b).Int("shift", 0, 31));
  b.OutputValue(b.Emit("window", OpCode::kClamp, {shifted}, ClampAttrs{INT16_MIN, INT16_MAX}));
}

/// As far to the left as the largest sample allows; output 1 says how far.
void BuildAutoScale(TfliteBuilder& b) {
  Exact math(b);
  const ValueId x = math.Input(0);
  ReduceAttrs all;
  all.keep_dims = false;
  const ValueId largest = b.Emit("largest", OpCode::kReduceMax, {b.Emit("sizes", OpCode::kAbs, {x})}, all);
  const ValueId room = math.Sub(math.Number(15), math.BitCount(largest));
  // Silence stays where it is.
  const ValueId limit = math.Mul(room, math.OneIf(math.Greater(largest, math.Number(0))));
  const ValueId bits = b.Emit("bits", OpCode::kMax, {limit, math.Number(0)});
  b.OutputValue(math.Mul(x, math.PowerOfTwo(bits)));
  if (b.output_count() > 1) b.OutputValue(bits, 1);
}

/// Rows filled up with zeros; the spectrum's parts take turns.
void BuildRfft(TfliteBuilder& b) {
  constexpr int64_t kLongest = 1 << 14;
  const FlexOptions options(b);
  const int64_t length = options.Int("fft_length", 4, kLongest);
  if (options.Int("T", 0, 127) != static_cast<int64_t>(tflite::TensorType::INT16))
    b.Unsupported("is not one of 16 bits; compute the spectrum in the program");
  if ((length & (length - 1)) != 0)
    b.Unsupported("has a length of {}, which is no power of two; compute the spectrum in the program",
                  length);
  Exact math(b);
  const ValueId x = math.Input(0);
  const int64_t samples = LastExtent(b, x);
  if (samples < 1 || samples > length)
    b.Invalid("it transforms {} samples to a length of {}", samples, length);
  const ValueId rows = EmitReshape(b, "rows", x, {-1, samples});
  const ExactComplex spectrum = EmitFft16(b, PadAxis(b, "filled", rows, 1, 0, length - samples), length);
  const ValueId pairs = b.Emit("pairs", OpCode::kConcat,
                               {EmitUnsqueeze(b, "reals", spectrum.real, {2}),
                                EmitUnsqueeze(b, "imaginaries", spectrum.imaginary, {2})},
                               AxisAttrs{2});
  b.OutputValue(ReshapeTo(b, "spectrum", pairs,
                          {ExtentsOf(b, x, 0, b.RankOf(x) - 1), b.ConstantInts("width", {length + 2})}));
}

/// Of bins [start, end); the others are whatever was in memory, and zeros here.
void BuildEnergy(TfliteBuilder& b) {
  const FlexOptions options(b);
  Exact math(b);
  const ValueId pairs = EmitReshape(b, "pairs", math.Input(0), {-1, 2});
  const std::optional<int64_t> bins = b.ExtentOf(pairs, 0);
  if (!bins) b.Unsupported("has an open length; convert the net with fixed shapes");
  const int64_t start = options.Int("start_index", 0, *bins);
  const int64_t end = options.Int("end_index", start, *bins);
  ReduceAttrs parts;
  parts.axes = {1};
  parts.keep_dims = false;
  const ValueId energy = b.Emit("energy", OpCode::kReduceSum, {math.Mul(pairs, pairs)}, parts);
  b.OutputValue(PadAxis(b, "bins", EmitSlice(b, "range", energy, 0, start, end), 0, start, *bins - end));
}

/// A channel adds up its bins, weighed, and those of the channel before it with the rest of their weights.
void BuildFilterBank(TfliteBuilder& b) {
  const int64_t channels = FlexOptions(b).Int("num_channels", 1, 1 << 12);
  const int64_t bins = LastExtent(b, b.Input(0));
  b.CheckRange("number of bins", bins, 1);
  if (bins > (int64_t{1} << 24) / channels) b.Invalid("it has {} bins", bins);
  const std::vector<int64_t> weights[] = {b.ConstantInts(1, "weights"), b.ConstantInts(2, "unweights")};
  const std::vector<int64_t> starts[] = {b.ConstantInts(3, "first bins"), b.ConstantInts(4, "first weights")};
  const std::vector<int64_t> widths = b.ConstantInts(5, "widths");
  for (const auto* list : {&starts[0], &starts[1], &widths}) {
    if (static_cast<int64_t>(list->size()) != channels + 1)
      b.Invalid("it has {} channels, and {} bands; one more was expected", channels, list->size());
  }
  std::vector<double> matrix(static_cast<size_t>(bins * channels));
  std::vector<double> sums(static_cast<size_t>(channels));
  for (int64_t band = 0; band <= channels; ++band) {
    const auto at = static_cast<size_t>(band);
    for (int64_t i = 0; i < widths[at]; ++i) {
      const int64_t bin = starts[0][at] + i;
      const int64_t weight = starts[1][at] + i;
      for (int64_t side = 0; side < 2; ++side) {
        const int64_t channel = band - 1 + side;
        if (channel < 0 || channel >= channels) continue;
        const std::vector<int64_t>& list = weights[side];
        if (bin < 0 || bin >= bins || weight < 0 || weight >= static_cast<int64_t>(list.size()))
          b.Invalid("its band {} reads bin {} and weight {}", band, bin, weight);
        const auto number = static_cast<double>(list[static_cast<size_t>(weight)]);
        if (number < 0) b.Unsupported("has weights below 0; compute the bands in the program");
        matrix[static_cast<size_t>(bin * channels + channel)] += number;
        sums[static_cast<size_t>(channel)] += number;
      }
    }
  }
  for (const double sum : sums) {
    if (sum >= 0x1p21) b.Unsupported("adds up to more than 53 bits; compute the bands in the program");
  }
  Exact math(b);
  const ValueId row = EmitReshape(b, "bins", math.Input(0), {1, bins});
  const ValueId bands =
      b.Emit("bands", OpCode::kMatMul, {row, math.Numbers(Shape{bins, channels}, matrix)}, MatMulAttrs{});
  b.OutputValue(EmitReshape(b, "channels", bands, {channels}));
}

/// Rounded to the nearest integer, up to 16 bits only where that fits into them; input 1 says how many bits
/// go.
void BuildSquareRoot(TfliteBuilder& b) {
  Exact math(b);
  const ValueId x = math.Input(0);
  ValueId root = math.Floor(b.Emit("root", OpCode::kSqrt, {x}));
  root = math.Sub(root, math.OneIf(math.Greater(math.Mul(root, root), x)));
  const ValueId up = math.OneIf(math.Greater(math.Sub(x, math.Mul(root, root)), root));
  const ValueId last = math.OneIf(math.Greater(math.Number(0x1p32), x));
  const ValueId at_last =
      math.Mul(last, math.OneIf(b.Emit("is_last", OpCode::kEqual, {root, math.Number(0xFFFF)})));
  const ValueId rounded = math.Add(root, math.Sub(up, math.Mul(up, at_last)));
  const ValueId scale = math.PowerOfTwo(math.Times(math.Input(1), -1));
  b.OutputValue(math.Floor(math.Mul(rounded, scale)));
}

/// The noise that it takes away is a running mean, of other weights in channels with an odd number.
void BuildSpectralSubtraction(TfliteBuilder& b) {
  constexpr int64_t kMostWeight = 1 << 20;
  if (b.output_count() != 2) b.Invalid("it has {} outputs; 2 were expected", b.output_count());
  const FlexOptions options(b);
  const int64_t channels = LastExtent(b, b.Input(0));
  if (options.Int("num_channels", 1, 1 << 12) != channels) b.Invalid("it has {} channels", channels);
  const int64_t bits = options.Int("spectral_subtraction_bits", 0, 31);
  const int64_t smoothing_bits = options.Int("smoothing_bits", 0, 31);
  std::vector<double> now;
  std::vector<double> before;
  for (int64_t i = 0; i < channels; ++i) {
    now.push_back(options.Real(i % 2 == 0 ? "smoothing" : "alternate_smoothing"));
    before.push_back(options.Real(i % 2 == 0 ? "one_minus_smoothing" : "alternate_one_minus_smoothing"));
    if (now.back() < 0 || now.back() >= kMostWeight || before.back() < 0 || before.back() >= kMostWeight)
      b.Invalid("its smoothing by {} and {} is no pair of weights", now.back(), before.back());
  }
  const auto remaining = static_cast<double>(options.Int("min_signal_remaining", 0, kMostWeight));
  Exact math(b);
  const Shape shape{channels};
  const ValueId x = math.Input(0);
  const std::string state = b.source().declare_variable(b.label() + "/noise", TensorData(DType::kU32, shape));
  const ValueId noise_before = b.CastTo("noise_before", b.source().read_variable(state), DType::kF64);
  const ValueId signal = math.Wrap(math.Times(x, std::ldexp(1.0, static_cast<int>(smoothing_bits))), 32);
  const ValueId mean = math.Add(math.Mul(signal, math.Numbers(shape, now)),
                                math.Mul(noise_before, math.Numbers(shape, before)));
  ValueId noise = math.Wrap(math.ShiftRight(mean, bits), 32);
  const ValueId taken = b.Emit("taken", OpCode::kMin, {noise, signal});
  if (options.Flag("clamping", false)) noise = taken;
  b.source().assign_variable(state, b.CastTo("noise", noise, DType::kU32));
  const ValueId least = math.Wrap(math.ShiftRight(math.Times(x, remaining), bits), 32);
  const ValueId left = math.ShiftRight(math.Sub(signal, taken), smoothing_bits);
  b.OutputValue(b.Emit("signal_left", OpCode::kMax, {left, least}));
  b.OutputValue(noise, 1);
}

/// A gain of the noise, from a table with a quadratic for each power of two, and a soft limit of the product.
void BuildPcan(TfliteBuilder& b) {
  constexpr int64_t kTable = 125;
  Exact math(b);
  const ValueId table = math.Input(2);
  if (b.ExtentOf(table, 0) != kTable || b.RankOf(table) != 1)
    b.Invalid("its table has not {} entries", kTable);
  const ValueId noise = math.Input(1);
  const ValueId bits = math.BitCount(noise);
  const ValueId scaled = math.Floor(math.Mul(noise, math.PowerOfTwo(math.Sub(math.Number(11), bits))));
  const ValueId place = math.Wrap(scaled, 10);
  const ValueId entry = b.Emit("segment", OpCode::kMax, {math.Plus(math.Times(bits, 4), -6), math.Number(0)});
  const ValueId square = math.ShiftRight(math.Mul(math.LookUp(table, math.Plus(entry, 2)), place), 5);
  const ValueId slope = math.Add(square, math.Times(math.LookUp(table, math.Plus(entry, 1)), 32));
  const ValueId rise = math.ShiftRight(math.Plus(math.WrapSigned(math.Mul(slope, place), 32), 1 << 14), 15);
  const ValueId smooth = math.WrapSigned(math.Add(rise, math.LookUp(table, entry)), 16);
  const ValueId small = math.LookUp(table, b.Emit("small", OpCode::kMin, {noise, math.Number(2)}));
  const ValueId gain = math.Where(math.Greater(noise, math.Number(2)), smooth, small);
  const ValueId product = math.Mul(math.Input(0), gain);
  const ValueId ratio = math.Wrap(math.ShiftRight(product, FlexOptions(b).Int("snr_shift", 0, 31)), 32);
  // Of 12 fractional bits: a quarter of the square below 2, else 1 less; of 6 bits then.
  const ValueId low = math.ShiftRight(math.Mul(ratio, ratio), 20);
  const ValueId high = math.Plus(math.ShiftRight(ratio, 6), -64);
  b.OutputValue(math.Where(math.Greater(math.Number(8192), ratio), low, high));
}

/// The natural logarithm, by a table of what log2(1 + x) has beyond x, in 128 segments.
void BuildLog(TfliteBuilder& b) {
  constexpr int kSegments = 128;
  constexpr double kUnit = 65536;
  constexpr double kLogOf2 = 45426;  // Of 16 fractional bits.
  const FlexOptions options(b);
  Exact math(b);
  std::vector<double> table;
  for (int i = 0; i <= kSegments; ++i) {
    const double x = static_cast<double>(i) / kSegments;
    table.push_back(std::round(kUnit * (std::log2(1 + x) - x)));
  }
  const auto correction = static_cast<int>(options.Int("input_correction_bits", 0, 31));
  const ValueId x = math.Wrap(math.Times(math.Input(0), std::ldexp(1.0, correction)), 32);
  const ValueId some = math.Greater(x, math.Number(1));
  const ValueId whole = math.Plus(math.BitCount(math.Where(some, x, math.Number(2))), -1);
  const ValueId beyond = math.Sub(x, math.PowerOfTwo(whole));
  const ValueId part = math.Floor(math.Mul(beyond, math.PowerOfTwo(math.Sub(math.Number(16), whole))));
  const ValueId inside = math.Where(some, part, math.Number(0));
  const ValueId segment = math.ShiftRight(inside, 9);
  const ValueId entries = math.Numbers(Shape{kSegments + 1}, table);
  const ValueId low = math.LookUp(entries, segment);
  const ValueId step = math.Sub(math.LookUp(entries, math.Plus(segment, 1)), low);
  const ValueId between = math.ShiftRight(math.Mul(step, math.Wrap(inside, 9)), 16);
  const ValueId log2 = math.Add(math.Times(whole, kUnit), math.Add(inside, math.Add(low, between)));
  const ValueId log = math.ShiftRight(math.Plus(math.Times(log2, kLogOf2), kUnit / 2), 16);
  const auto scale = static_cast<double>(options.Int("output_scale", 0, INT16_MAX));
  const ValueId scaled = math.ShiftRight(math.Wrap(math.Plus(math.Times(log, scale), kUnit / 2), 32), 16);
  const ValueId limited = b.Emit("limited", OpCode::kMin, {scaled, math.Number(INT16_MAX)});
  b.OutputValue(math.Where(some, limited, math.Number(0)));
}

constexpr TfliteCustomOp kRows[] = {
    {"SignalWindow", BuildWindow},
    {"SignalFftAutoScale", BuildAutoScale},
    {"SignalRfft", BuildRfft},
    {"SignalEnergy", BuildEnergy},
    {"SignalFilterBank", BuildFilterBank},
    {"SignalFilterBankSquareRoot", BuildSquareRoot},
    {"SignalFilterBankSpectralSubtraction", BuildSpectralSubtraction},
    {"SignalPCAN", BuildPcan},
    {"SignalFilterBankLog", BuildLog},
};

}  // namespace

std::span<const TfliteCustomOp> TfliteSignalOps() { return kRows; }

}  // namespace skiff
