// ONNX rows: spectra and what audio front ends need around them. A discrete Fourier transform is one product
// with a matrix of cosines and sines, which the importer computes where the lengths are known. The matrices
// are computed in f64 from angles that integer arithmetic has reduced to one turn.
#include <cmath>
#include <limits>
#include <numbers>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;
constexpr double kTurn = 2 * std::numbers::pi;

ValueId Real(OnnxBuilder& b, const char* suffix, double number) {
  return b.Scalar(suffix, DType::kF64, number);
}
ValueId Integer(OnnxBuilder& b, const char* suffix, int64_t number) {
  return b.Scalar(suffix, DType::kI64, static_cast<double>(number));
}

/// What a transform computes; rows are elements of the input, columns of the output.
struct Transform {
  ValueId rows = kNoValue;    ///< Elements of the input, an i64 scalar.
  ValueId length = kNoValue;  ///< Of the transform, an i64 scalar.
  bool may_crop = false;      ///< There may be more rows than `length`.
  bool complex_input = false;
  bool inverse = false;
  bool onesided = false;
  bool RealOutput() const { return inverse && onesided; }
};

/// [rows, 1] or [1, columns].
ValueId AsColumn(OnnxBuilder& b, const char* suffix, ValueId x) { return EmitUnsqueeze(b, suffix, x, {1}); }

/// The factor of each row, [rows, 1], or kNoValue for 1. Rows behind the end of the transform count nothing;
/// of a one-sided spectrum, all but the first and (for an even length) the last element stand for two.
ValueId RowFactors(OnnxBuilder& b, const Transform& t, ValueId row) {
  ValueId factor = kNoValue;
  const auto as_real = [&](const char* suffix, OpCode op, ValueId x, ValueId y) {
    return b.CastTo(fmt::format("{}_f64", suffix).c_str(), b.Emit(suffix, op, {x, y}), DType::kF64);
  };
  if (t.RealOutput()) {
    const ValueId twice = EmitMul(b, "twice_row", row, Integer(b, "two", 2));
    const ValueId not_last = as_real("row_below_half", OpCode::kLess, twice, t.length);
    const ValueId not_above = as_real("row_to_half", OpCode::kLessOrEqual, twice, t.length);
    const ValueId not_first = as_real("row_above_0", OpCode::kGreater, row, Integer(b, "zero", 0));
    factor = EmitAdd(b, "row_factor", not_above, EmitMul(b, "row_twin", not_last, not_first));
  } else if (t.may_crop) {
    factor = as_real("row_inside", OpCode::kLess, row, t.length);
  }
  if (t.inverse) {
    const ValueId inverse_length =
        b.Emit("inverse_length", OpCode::kReciprocal, {b.CastTo("length_f64", t.length, DType::kF64)});
    factor = factor == kNoValue ? inverse_length : EmitMul(b, "row_scale", factor, inverse_length);
  }
  return factor;
}

/// The matrix [rows * (1 or 2), columns * (1 or 2)] in f64; the inner index is real, imaginary.
ValueId EmitMatrix(OnnxBuilder& b, const Transform& t) {
  const ValueId row = AsColumn(b, "row", EmitCount(b, "rows", t.rows));
  ValueId columns = t.length;
  if (t.onesided && !t.inverse) {
    columns = EmitAdd(b, "columns", EmitDiv(b, "half_length", t.length, Integer(b, "two_columns", 2)),
                      Integer(b, "one_column", 1));
  }
  const ValueId product = EmitMul(b, "row_column", row, EmitCount(b, "column", columns));
  const ValueId turns = EmitMul(b, "whole_turns", EmitDiv(b, "turns", product, t.length), t.length);
  const ValueId steps = b.CastTo("steps", EmitSub(b, "steps_i64", product, turns), DType::kF64);
  const ValueId step = EmitDiv(b, "angle_step", Real(b, "turn", t.inverse ? -kTurn : kTurn),
                               b.CastTo("angle_length", t.length, DType::kF64));
  const ValueId angle = EmitMul(b, "angle", steps, step);
  ValueId cosine = b.Emit("cosine", OpCode::kCos, {angle});
  ValueId sine = b.Emit("sine", OpCode::kSin, {angle});
  if (const ValueId factor = RowFactors(b, t, row); factor != kNoValue) {
    cosine = EmitMul(b, "cosine_scaled", cosine, factor);
    sine = EmitMul(b, "sine_scaled", sine, factor);
  }
  // (a + ib)(cos - i sin) = (a cos + b sin) + i (b cos - a sin)
  const auto stack = [&](const char* suffix, ValueId first, ValueId second, int64_t axis) {
    return b.Emit(suffix, OpCode::kConcat,
                  {EmitUnsqueeze(b, fmt::format("{}_0", suffix).c_str(), first, {axis}),
                   EmitUnsqueeze(b, fmt::format("{}_1", suffix).c_str(), second, {axis})},
                  AxisAttrs{axis});
  };
  const auto flatten = [&](ValueId matrix, int64_t axis) {
    return b.Emit("matrix", OpCode::kFlatten, {matrix}, AxisAttrs{axis});
  };
  if (t.RealOutput()) return t.complex_input ? flatten(stack("parts", cosine, sine, 1), 2) : cosine;
  const ValueId of_real = stack("of_real", cosine, b.Emit("minus_sine", OpCode::kNeg, {sine}), 2);
  if (!t.complex_input) return flatten(of_real, 1);
  return flatten(stack("parts", of_real, stack("of_imaginary", sine, cosine, 2), 1), 2);
}

/// Whether the last axis holds (real, imaginary) and not the real part alone.
bool IsComplex(OnnxBuilder& b, ValueId x) {
  const std::optional<int64_t> parts = b.ExtentOf(x, b.RankOf(x) - 1);
  if (!parts) {
    OnnxBuilder::Unsupported(
        "does not know whether its signal is real or complex; export with a fixed last extent");
  }
  if (parts != 1 && parts != 2) b.Invalid("the signal's last extent is {}; 1 or 2 was expected", *parts);
  return parts == 2;
}

void BuildDft(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  Transform t;
  t.inverse = b.Flag("inverse");
  t.onesided = b.Flag("onesided");
  t.complex_input = IsComplex(b, x);
  if (t.onesided && !t.inverse && t.complex_input) b.Invalid("a one-sided spectrum needs a real signal");
  const int rank = b.RankOf(x);
  int64_t wanted_axis = b.Int("axis", 1);
  if (b.opset() >= 20) {
    const std::vector<int64_t> given = b.HasInput(2) ? b.ConstantInts(2, "axis") : std::vector<int64_t>{-2};
    if (given.size() != 1) b.Invalid("the axis has {} elements; one was expected", given.size());
    wanted_axis = given[0];
  }
  const int axis = AxisOf(b, "axis", wanted_axis, rank);
  if (axis == rank - 1) b.Invalid("the axis is the last one, which holds the real and imaginary parts");

  Ints swap;
  for (int i = 0; i < rank; ++i) swap[swap.size++] = i == axis ? rank - 2 : i == rank - 2 ? axis : i;
  const ValueId moved = EmitTranspose(b, "axis_last", x, swap);
  t.rows = EmitExtent(b, "signal_length", moved, rank - 2);
  t.may_crop = b.HasInput(1);
  if (t.may_crop) {
    t.length = b.CastTo("length_i64", EmitScalarInput(b, "length", 1), DType::kI64);
  } else if (t.RealOutput()) {
    t.length = EmitMul(b, "length", EmitSub(b, "length_half", t.rows, Integer(b, "length_one", 1)),
                       Integer(b, "length_two", 2));
  } else {
    t.length = t.rows;
  }
  const ValueId matrix =
      b.CastTo("matrix_rounded", b.Precomputed("matrix_known", EmitMatrix(b, t)), b.DTypeOf(x));
  std::vector<int64_t> flat(static_cast<size_t>(rank - 2), 0);
  std::vector<int64_t> pairs = flat;
  flat.push_back(-1);
  pairs.insert(pairs.end(), {-1, t.RealOutput() ? 1 : 2});
  const ValueId y =
      b.Emit("product", OpCode::kMatMul, {EmitReshape(b, "flat", moved, flat), matrix}, MatMulAttrs{});
  b.Output(OpCode::kTranspose, {EmitReshape(b, "spectrum", y, pairs)}, TransposeAttrs{swap});
}

/// A convolution along the signal: each column of the transform's matrix, times the window, is a kernel.
void BuildStft(OnnxBuilder& b) {
  ValueId x = b.Input(0);
  if (b.RankOf(x) == 2) x = EmitUnsqueeze(b, "signal", x, {2});
  if (b.RankOf(x) != 3) b.Invalid("the signal has rank {}; [batch, length, parts] was expected", b.RankOf(x));
  const std::vector<int64_t> hop = b.ConstantInts(1, "frame step");
  if (hop.size() != 1 || hop[0] < 1 || hop[0] > OnnxBuilder::kMaxWindowNumber) {
    b.Invalid("the frame step must be one number from 1 to {}", OnnxBuilder::kMaxWindowNumber);
  }
  const ValueId window = b.OptionalInput(2);
  Transform t;
  t.complex_input = IsComplex(b, x);
  t.onesided = b.Flag("onesided", true);
  if (t.onesided && t.complex_input) b.Invalid("a one-sided spectrum needs a real signal");
  if (window != kNoValue) {
    t.length = EmitExtent(b, "length", window, 0);  // frame_length, where given, must be the same.
  } else if (b.HasInput(3)) {
    t.length = b.CastTo("length_i64", EmitScalarInput(b, "length", 3), DType::kI64);
  } else {
    t.length = EmitExtent(b, "length", x, 1);
  }
  // The columns become kernels, whose extents a convolution must know.
  if (!b.KnownValueOf(t.length)) {
    b.Unsupported("computes the length of its frames at run time; export the model so that it is constant");
  }
  t.rows = t.length;
  ValueId matrix = b.Precomputed("matrix_known", EmitMatrix(b, t));
  if (window != kNoValue) {
    // Each element of the window weighs the rows of one element of the frame.
    ValueId weights = AsColumn(b, "window_column", b.CastTo("window_f64", window, DType::kF64));
    if (t.complex_input) {
      const ValueId pair = b.Emit("window_pair", OpCode::kConcat, {weights, weights}, AxisAttrs{1});
      weights = EmitReshape(b, "window_parts", pair, {-1, 1});
    }
    matrix = EmitMul(b, "windowed", matrix, weights);
  }
  const int64_t parts = t.complex_input ? 2 : 1;
  const ValueId columns = b.Emit("kernels", OpCode::kTranspose,
                                 {b.CastTo("matrix_rounded", matrix, b.DTypeOf(x))}, TransposeAttrs{{1, 0}});
  const ValueId ohwi =
      EmitReshape(b, "kernels_ohwi", EmitUnsqueeze(b, "kernels_high", columns, {1, 3}), {0, 0, -1, parts});
  const ValueId frames = b.Emit("frames", OpCode::kConv2d, {EmitUnsqueeze(b, "signal_nhwc", x, {1}), ohwi},
                                Conv2dAttrs{.strides = {1, hop[0]}});
  const ValueId rows = b.Emit("spectra", OpCode::kSqueeze, {frames}, AxesAttrs{{1}});
  b.Output(OpCode::kReshape, {rows, b.ConstantInts("target", {0, 0, -1, 2})}, ReshapeAttrs{});
}

/// Cosine coefficients of one turn and of two.
struct CosineWindow {
  double constant;
  double once;
  double twice;
};
constexpr CosineWindow kHann = {0.5, -0.5, 0.0};
constexpr CosineWindow kHamming = {25.0 / 46.0, -21.0 / 46.0, 0.0};
constexpr CosineWindow kBlackman = {0.42, -0.5, 0.08};

/// The period is the size, or for a symmetric window one less (a window of one element has a period of 1).
template <const CosineWindow& kWindow>
void BuildWindow(OnnxBuilder& b) {
  const DType dtype = b.DTypeAttribute("output_datatype", DType::kF32);
  const ValueId size = b.CastTo("size_i64", EmitScalarInput(b, "size", 0), DType::kI64);
  ValueId period = size;
  if (!b.Flag("periodic", true)) {
    period = b.Emit("period", OpCode::kMax,
                    {EmitSub(b, "size_less_1", size, Integer(b, "one", 1)), Integer(b, "least", 1)});
  }
  const ValueId step =
      EmitDiv(b, "step", Real(b, "turn", kTurn), b.CastTo("period_f64", period, DType::kF64));
  const ValueId angle =
      EmitMul(b, "angle", b.CastTo("place", EmitCount(b, "places", size), DType::kF64), step);
  const auto term = [&](const char* suffix, ValueId of, double factor) {
    const ValueId cosine = b.Emit(fmt::format("{}_cosine", suffix).c_str(), OpCode::kCos, {of});
    return EmitMul(b, suffix, cosine, Real(b, fmt::format("{}_factor", suffix).c_str(), factor));
  };
  ValueId sum =
      EmitAdd(b, "raised", term("once", angle, kWindow.once), Real(b, "constant", kWindow.constant));
  if (kWindow.twice != 0.0) {
    const ValueId doubled = EmitMul(b, "angle_twice", angle, Real(b, "two", 2));
    sum = EmitAdd(b, "raised_twice", sum, term("twice", doubled, kWindow.twice));
  }
  b.Output(OpCode::kCast, {sum}, CastAttrs{static_cast<int64_t>(dtype)});
}

/// 2595 log10(1 + f / 700): hertz on the mel scale.
constexpr double kMelFactor = 2595 / std::numbers::ln10;
constexpr double kMelHertz = 700;

ValueId EmitMel(OnnxBuilder& b, const char* suffix, size_t input) {
  const auto name = [&](const char* step) { return fmt::format("{}_{}", suffix, step); };
  const ValueId hertz =
      b.CastTo(name("f64").c_str(), EmitScalarInput(b, name("hertz").c_str(), input), DType::kF64);
  const ValueId ratio = EmitDiv(b, name("ratio").c_str(), hertz, Real(b, name("scale").c_str(), kMelHertz));
  const ValueId log = b.Emit(name("log").c_str(), OpCode::kLog,
                             {EmitAdd(b, name("above_1").c_str(), ratio, Real(b, name("one").c_str(), 1))});
  return EmitMul(b, suffix, log, Real(b, name("factor").c_str(), kMelFactor));
}

/// The bins of the spectrum where the triangles begin, peak and end: [bands + 2], in f64.
ValueId EmitMelBins(OnnxBuilder& b, ValueId bands, ValueId dft_length) {
  const ValueId low = EmitMel(b, "low", 3);
  const ValueId high = EmitMel(b, "high", 4);
  const ValueId count = EmitAdd(b, "points", bands, Integer(b, "two_ends", 2));
  const ValueId step =
      EmitDiv(b, "mel_step", EmitSub(b, "mel_range", high, low), b.CastTo("points_f64", count, DType::kF64));
  const ValueId place = b.CastTo("point_f64", EmitCount(b, "point", count), DType::kF64);
  const ValueId mel = EmitAdd(b, "mel", EmitMul(b, "mel_above", place, step), low);
  const ValueId power =
      b.Emit("power", OpCode::kExp, {EmitDiv(b, "exponent", mel, Real(b, "mel_factor", kMelFactor))});
  const ValueId hertz = EmitMul(b, "hertz", EmitSub(b, "power_less_1", power, Real(b, "power_one", 1)),
                                Real(b, "mel_hertz", kMelHertz));
  const ValueId bins =
      b.CastTo("bins_f64", EmitAdd(b, "bins", dft_length, Integer(b, "one_bin", 1)), DType::kF64);
  const ValueId rate = b.CastTo("rate_f64", EmitScalarInput(b, "rate", 2), DType::kF64);
  return b.Emit("edges", OpCode::kFloor,
                {EmitDiv(b, "edge_ratio", EmitMul(b, "edge_scaled", bins, hertz), rate)});
}

/// One triangle per band over the spectrum's bins: min(rise, fall), not below 0, and 1 at the peak, where a
/// side of no width would say 0.
void BuildMelWeightMatrix(OnnxBuilder& b) {
  const DType dtype = b.DTypeAttribute("output_datatype", DType::kF32);
  const ValueId bands = b.CastTo("bands_i64", EmitScalarInput(b, "bands", 0), DType::kI64);
  const ValueId dft_length = b.CastTo("length_i64", EmitScalarInput(b, "length", 1), DType::kI64);
  const ValueId edges = EmitMelBins(b, bands, dft_length);
  const int64_t end = std::numeric_limits<int64_t>::max();
  const ValueId left = EmitSlice(b, "left", edges, 0, 0, -2);
  const ValueId peak = EmitSlice(b, "peak", edges, 0, 1, -1);
  const ValueId right = EmitSlice(b, "right", edges, 0, 2, end);
  const ValueId spectrum =
      EmitAdd(b, "spectrum", EmitDiv(b, "half", dft_length, Integer(b, "two", 2)), Integer(b, "one", 1));
  const ValueId bin = AsColumn(b, "bin", b.CastTo("bin_f64", EmitCount(b, "bin_i64", spectrum), DType::kF64));
  const auto slope = [&](const char* suffix, ValueId from, ValueId to, ValueId distance) {
    const ValueId width = EmitSub(b, fmt::format("{}_width", suffix).c_str(), to, from);
    const ValueId least = Real(b, fmt::format("{}_least", suffix).c_str(), 1);
    const ValueId divisor = b.Emit(fmt::format("{}_divisor", suffix).c_str(), OpCode::kMax, {width, least});
    return EmitDiv(b, suffix, distance, divisor);
  };
  const ValueId rise = slope("rise", left, peak, EmitSub(b, "above_left", bin, left));
  const ValueId fall = slope("fall", peak, right, EmitSub(b, "below_right", right, bin));
  const ValueId lower = b.Emit("lower", OpCode::kMin, {rise, fall});
  const ValueId sides = b.Emit("sides", OpCode::kMax, {lower, Real(b, "nothing", 0)});
  const ValueId at_peak = b.Emit("at_peak", OpCode::kEqual, {bin, peak});
  const ValueId triangles = b.Emit("triangles", OpCode::kWhere, {at_peak, Real(b, "peak_height", 1), sides});
  b.Output(OpCode::kCast, {b.Precomputed("triangles_known", triangles)},
           CastAttrs{static_cast<int64_t>(dtype)});
}

constexpr OnnxOp kRows[] = {
    {"DFT", 17, kNewest, BuildDft},
    {"STFT", 17, kNewest, BuildStft},
    {"HannWindow", 17, kNewest, BuildWindow<kHann>},
    {"HammingWindow", 17, kNewest, BuildWindow<kHamming>},
    {"BlackmanWindow", 17, kNewest, BuildWindow<kBlackman>},
    {"MelWeightMatrix", 17, kNewest, BuildMelWeightMatrix},
};

}  // namespace

std::span<const OnnxOp> OnnxSpectrumOps() { return kRows; }

}  // namespace skiff
