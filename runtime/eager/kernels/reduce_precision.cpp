// ReducePrecision: the numbers of a floating-point format of few bits, in the dtype of the input.
// The formats: IEEE 754's rules with the changes of "FP8 Formats for Deep Learning" (arXiv:2209.05433),
// "8-bit Numerical Formats for Deep Neural Networks" (arXiv:2206.02915; the ones without a negative zero) and
// the OCP Microscaling Formats Specification 1.0 (4 bits; the scales of blocks).
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct FormatRow {
  FloatFormat format;
  int mantissa_bits;
  int min_exponent;  ///< Of normal numbers.
  double largest;
  double beyond;      ///< What is larger becomes this, unless it saturates.
  double not_number;  ///< What a NaN becomes.
  bool signed_zero;
  bool zero = true;
};
constexpr FormatRow kFormats[] = {
    {FloatFormat::kFloat8E4M3Fn, 3, -6, 448, kNaN, kNaN, true},
    {FloatFormat::kFloat8E4M3Fnuz, 3, -7, 240, kNaN, kNaN, false},
    {FloatFormat::kFloat8E5M2, 2, -14, 57344, std::numeric_limits<double>::infinity(), kNaN, true},
    {FloatFormat::kFloat8E5M2Fnuz, 2, -15, 57344, kNaN, kNaN, false},
    {FloatFormat::kFloat4E2M1Fn, 1, 0, 6, 6, 0, true},
    {FloatFormat::kFloat8E8M0Fnu, 0, -127, 0x1p127, kNaN, kNaN, false, false},
};

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    if (kFormats[i].format != static_cast<FloatFormat>(i)) return false;
  }
  return std::size(kFormats) == std::size(EnumNames<FloatFormat>::kNames);
}
static_assert(RowsAreInOrder(), "a row is found by its format");

/// Of a positive number; too small for those below 2^-1022, which are below every format's smallest.
int ExponentOf(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52) - 1023; }

double Rounded(double steps, RoundingMode mode) {
  if (mode == RoundingMode::kUp) return std::ceil(steps);
  return mode == RoundingMode::kDown ? std::floor(steps) : std::nearbyint(steps);
}

double Reduced(double x, const FormatRow& format, const ReducePrecisionAttrs& attrs) {
  if (std::isnan(x)) return format.not_number;
  double magnitude = std::fabs(x);
  if (magnitude > 0 && std::isfinite(magnitude)) {
    const int exponent = std::max(ExponentOf(magnitude), format.min_exponent);
    const double step = std::ldexp(1.0, exponent - format.mantissa_bits);
    magnitude = Rounded(magnitude / step, attrs.rounding) * step;
  }
  if (magnitude > format.largest) magnitude = attrs.saturate ? format.largest : format.beyond;
  if (format.zero) return magnitude == 0 && !format.signed_zero ? 0 : std::copysign(magnitude, x);
  // Powers of two have no sign and no zero.
  const double smallest = std::ldexp(1.0, format.min_exponent);
  return magnitude < smallest ? (attrs.saturate ? smallest : kNaN) : magnitude;
}

}  // namespace

Status KernelReducePrecision(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const auto& attrs = args.As<ReducePrecisionAttrs>();
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  const FormatRow& format = kFormats[static_cast<size_t>(attrs.format)];
  const LoadFn<double> load = Loader<double>(x.dtype);
  const StoreFn<double> store = Storer<double>(x.dtype);
  const int64_t total = args.outputs[0].shape.elements();
  double lanes[kChunk];
  for (int64_t done = 0; done < total; done += kChunk) {
    const int64_t count = std::min(total - done, kChunk);
    load(x.data, done, 1, count, lanes);
    for (int64_t i = 0; i < count; ++i) lanes[i] = Reduced(lanes[i], format, attrs);
    store(args.outputs[0].data, done, count, lanes);
  }
  return OkStatus();
}

}  // namespace skiff
