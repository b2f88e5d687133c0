// TensorFlow Lite rows: spectra. A transform is one product with a matrix of cosines and sines.
#include "import/spectrum.h"
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// The last two axes, cropped or filled up with zeros to the lengths of the transform.
ValueId EmitFrame(TfliteBuilder& b, ValueId x, const std::vector<int64_t>& lengths) {
  const int rank = b.RankOf(x);
  for (int i = 0; i < 2; ++i) {
    const int axis = rank - 2 + i;
    const std::optional<int64_t> extent = b.ExtentOf(x, axis);
    if (!extent) b.Unsupported("has an open length; convert the net with fixed shapes");
    x = PadAxis(b, fmt::format("frame_{}", i).c_str(), x, axis, 0, lengths[static_cast<size_t>(i)] - *extent);
  }
  return x;
}

/// One-sided along the last axis, then along the one in front of it.
void BuildRfft2d(TfliteBuilder& b) {
  const ValueId x = b.Real("real", b.Input(0));
  const std::vector<int64_t> lengths = b.ConstantInts(1, "lengths of the transform");
  if (lengths.size() != 2 || b.RankOf(x) < 2)
    b.Invalid("it transforms a rank of {} by {} lengths", b.RankOf(x), lengths.size());
  for (const int64_t length : lengths) b.CheckRange("length", length, 1);
  const auto [height, width] = std::pair(lengths[0], lengths[1]);
  const int64_t bins = width / 2 + 1;
  if (std::max({width * bins, height * height}) > kMostDftElements)
    b.Unsupported(
        "has a transform of {} times {} elements, which is too long for a product; cut the model in front of "
        "it, and transform in the program",
        height, width);
  const ValueId frame = EmitFrame(b, x, lengths);
  const auto product = [&](const char* suffix, ValueId left, ValueId right) {
    return b.Emit(suffix, OpCode::kMatMul, {left, right}, MatMulAttrs{});
  };
  const auto cosines = [&](const char* suffix, int64_t length, int64_t columns) {
    return b.Table(suffix, fmt::format("cosines {} {}", length, columns),
                   [&] { return DftCosines(length, length, columns); });
  };
  const auto minus_sines = [&](const char* suffix, int64_t length, int64_t columns) {
    return b.Table(suffix, fmt::format("minus sines {} {}", length, columns),
                   [&] { return DftMinusSines(length, length, columns); });
  };
  ValueId real = product("real_part", frame, cosines("cosines", width, bins));
  ValueId imaginary = product("imaginary_part", frame, minus_sines("minus_sines", width, bins));
  if (height > 1) {
    // (c + is)(a + ib) = (ca - sb) + i (cb + sa), where s is minus the sine.
    const ValueId c = cosines("cosines_down", height, height);
    const ValueId s = minus_sines("minus_sines_down", height, height);
    const ValueId down = EmitSub(b, "real_down", product("ca", c, real), product("sb", s, imaginary));
    imaginary = EmitAdd(b, "imaginary_down", product("cb", c, imaginary), product("sa", s, real));
    real = down;
  }
  b.OutputValue(real);
  b.OutputImaginary(imaginary);
}

void BuildComplexAbs(TfliteBuilder& b) {
  const ValueId imaginary = b.ImaginaryInput(0);
  const ValueId power = EmitAdd(b, "power", EmitMul(b, "real_squared", b.Input(0), b.Input(0)),
                                EmitMul(b, "imaginary_squared", imaginary, imaginary));
  b.OutputValue(b.Emit("root", OpCode::kSqrt, {power}));
}

void BuildReal(TfliteBuilder& b) {
  b.ImaginaryInput(0);
  b.OutputValue(b.Input(0));
}

void BuildImag(TfliteBuilder& b) { b.OutputValue(b.ImaginaryInput(0)); }

constexpr TfliteOp kRows[] = {
    {Op::RFFT2D, BuildRfft2d},
    {Op::COMPLEX_ABS, BuildComplexAbs},
    {Op::REAL, BuildReal},
    {Op::IMAG, BuildImag},
};

}  // namespace

std::span<const TfliteOp> TfliteSpectrumOps() { return kRows; }

}  // namespace skiff
