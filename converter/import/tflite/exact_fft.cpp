// KISS FFT (https://github.com/mborgerding/kissfft) in fixed point, with 16 bits: numbers have 15 fractional
// bits. A real transform is a complex one of half the length, of pairs of samples, and a step that takes the
// two apart.
#include <array>
#include <cmath>
#include <numbers>

#include "import/tflite/exact.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr double kOne = 32768;
constexpr double kLargest = 32767;

/// cos and sin of an angle, as fractions of 15 bits.
std::array<double, 2> Turned(double angle) {
  return {std::floor(0.5 + kLargest * std::cos(angle)) / kOne,
          std::floor(0.5 + kLargest * std::sin(angle)) / kOne};
}

class Fft16 {
 public:
  explicit Fft16(TfliteBuilder& b) : b_(b), math_(b) {}

  /// Of [rows, count].
  ExactComplex Transform(ExactComplex x, int64_t count) {
    std::vector<int64_t> factors;
    for (int64_t left = count; left > 1; left /= factors.back()) factors.push_back(left % 4 == 0 ? 4 : 2);
    int64_t done = 1;
    for (size_t i = factors.size(); i-- > 0; done *= factors[i]) x = Butterfly(x, count, factors[i], done);
    return Reshaped(x, {-1, count});
  }

  /// The spectrum of 2 * count samples from that of their pairs.
  ExactComplex TakeApart(ExactComplex pairs, int64_t count) {
    const auto columns = [&](ValueId x, int64_t start, int64_t end) {
      return EmitSlice(b_, "columns", x, 1, start, end);
    };
    const int64_t half = count / 2;
    std::vector<int64_t> mirrored;
    std::vector<double> cosines;
    std::vector<double> sines;
    for (int64_t k = 1; k <= half; ++k) {
      mirrored.push_back(count - k);
      const auto [cosine, sine] =
          Turned(-std::numbers::pi * (static_cast<double>(k) / static_cast<double>(count) + 0.5));
      cosines.push_back(cosine);
      sines.push_back(sine);
    }
    const auto mirror = [&](ValueId x) {
      return b_.Emit("mirrored", OpCode::kGather, {x, b_.ConstantInts("mirror", mirrored)}, AxisAttrs{1});
    };
    const ExactComplex near =
        Divided({columns(pairs.real, 1, half + 1), columns(pairs.imaginary, 1, half + 1)}, 2);
    const ExactComplex far =
        Divided({mirror(pairs.real), math_.WrapSigned(math_.Times(mirror(pairs.imaginary), -1), 16)}, 2);
    const ExactComplex sum = Sum(near, far);
    const ExactComplex turned = Product(Difference(near, far), math_.Numbers(Shape{half}, cosines),
                                        math_.Numbers(Shape{half}, sines));
    const ExactComplex first = Divided({columns(pairs.real, 0, 1), columns(pairs.imaginary, 0, 1)}, 2);
    const ValueId none = math_.Times(first.real, 0);
    // The middle bin is made twice; the second stays.
    const auto joined = [&](ValueId lowest, ValueId low, ValueId high, ValueId highest) {
      // `high` counts down from count - 1 to count - half.
      const ValueId up = Upwards(high, half);
      std::vector<ValueId> parts = {lowest};
      if (half > 1) parts.push_back(columns(low, 0, half - 1));
      parts.insert(parts.end(), {up, highest});
      return b_.Emit("spectrum", OpCode::kConcat, parts, AxisAttrs{1});
    };
    const auto halved = [&](ValueId x) { return math_.ShiftRight(x, 1); };
    ExactComplex spectrum;
    spectrum.real = joined(math_.WrapSigned(math_.Add(first.real, first.imaginary), 16),
                           halved(math_.Add(sum.real, turned.real)), halved(math_.Sub(sum.real, turned.real)),
                           math_.WrapSigned(math_.Sub(first.real, first.imaginary), 16));
    spectrum.imaginary = joined(none, halved(math_.Add(sum.imaginary, turned.imaginary)),
                                halved(math_.Sub(turned.imaginary, sum.imaginary)), none);
    return spectrum;
  }

 private:
  /// x [rows, done, radix, rest], of which `done` places are frequencies and the others samples.
  ExactComplex Butterfly(ExactComplex x, int64_t count, int64_t radix, int64_t done) {
    const int64_t rest = count / radix / done;
    x = Divided(Reshaped(x, {-1, done, radix, rest}), radix);
    std::vector<ExactComplex> parts;
    for (int64_t i = 0; i < radix; ++i) {
      ExactComplex part = {EmitSlice(b_, "part", x.real, 2, i, i + 1),
                           EmitSlice(b_, "part", x.imaginary, 2, i, i + 1)};
      if (i > 0) part = Twiddled(part, count, done, i * rest);
      parts.push_back(part);
    }
    std::vector<ExactComplex> made;
    if (radix == 2) {
      made = {Sum(parts[0], parts[1]), Difference(parts[0], parts[1])};
    } else {
      const ExactComplex even = Sum(parts[0], parts[2]);
      const ExactComplex odd = Sum(parts[1], parts[3]);
      const ExactComplex across = Difference(parts[0], parts[2]);
      const ExactComplex turned = Difference(parts[1], parts[3]);  // Times -i, and i.
      made = {Sum(even, odd),
              {math_.Add(across.real, turned.imaginary), math_.Sub(across.imaginary, turned.real)},
              Difference(even, odd),
              {math_.Sub(across.real, turned.imaginary), math_.Add(across.imaginary, turned.real)}};
    }
    const auto join = [&](ValueId ExactComplex::*side) {
      std::vector<ValueId> rows;
      for (const ExactComplex& part : made)
        rows.push_back(EmitReshape(b_, "row", part.*side, {-1, 1, done, rest}));
      return math_.WrapSigned(b_.Emit("rows", OpCode::kConcat, rows, AxisAttrs{1}), 16);
    };
    return {join(&ExactComplex::real), join(&ExactComplex::imaginary)};
  }

  ExactComplex Twiddled(ExactComplex x, int64_t count, int64_t done, int64_t step) {
    std::vector<double> cosines;
    std::vector<double> sines;
    for (int64_t k = 0; k < done; ++k) {
      const auto [cosine, sine] =
          Turned(-2 * std::numbers::pi * static_cast<double>(k * step) / static_cast<double>(count));
      cosines.push_back(cosine);
      sines.push_back(sine);
    }
    return Product(x, math_.Numbers(Shape{done, 1, 1}, cosines), math_.Numbers(Shape{done, 1, 1}, sines));
  }

  ExactComplex Reshaped(ExactComplex x, const std::vector<int64_t>& target) {
    return {EmitReshape(b_, "real", x.real, target), EmitReshape(b_, "imaginary", x.imaginary, target)};
  }
  ExactComplex Sum(ExactComplex x, ExactComplex y) {
    return {math_.Add(x.real, y.real), math_.Add(x.imaginary, y.imaginary)};
  }
  ExactComplex Difference(ExactComplex x, ExactComplex y) {
    return {math_.Sub(x.real, y.real), math_.Sub(x.imaginary, y.imaginary)};
  }
  ExactComplex Divided(ExactComplex x, int64_t divisor) {
    const double factor = std::floor(kLargest / static_cast<double>(divisor)) / kOne;
    return {math_.Round(math_.Times(x.real, factor)), math_.Round(math_.Times(x.imaginary, factor))};
  }
  ExactComplex Product(ExactComplex x, ValueId real, ValueId imaginary) {
    const ValueId re = math_.Sub(math_.Mul(x.real, real), math_.Mul(x.imaginary, imaginary));
    const ValueId im = math_.Add(math_.Mul(x.real, imaginary), math_.Mul(x.imaginary, real));
    return {math_.WrapSigned(math_.Round(re), 16), math_.WrapSigned(math_.Round(im), 16)};
  }
  /// The `count` columns in the opposite order.
  ValueId Upwards(ValueId x, int64_t count) {
    std::vector<int64_t> order;
    for (int64_t i = count; i-- > 0;) order.push_back(i);
    return b_.Emit("upwards", OpCode::kGather, {x, b_.ConstantInts("order", order)}, AxisAttrs{1});
  }

  TfliteBuilder& b_;
  Exact math_;
};

}  // namespace

ExactComplex EmitFft16(TfliteBuilder& b, ValueId rows, int64_t length) {
  const ValueId pairs = EmitReshape(b, "pairs", rows, {-1, length / 2, 2});
  Fft16 fft(b);
  const ExactComplex x = {Pick(b, "even", pairs, 2, 0), Pick(b, "odd", pairs, 2, 1)};
  return fft.TakeApart(fft.Transform(x, length / 2), length / 2);
}

}  // namespace skiff
