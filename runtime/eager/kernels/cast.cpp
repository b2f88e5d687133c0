// Cast. Floating point to integer truncates toward zero, saturates, and takes NaN to 0 (ONNX leaves both
// open); integer to integer keeps the low bits; anything to bool is "not zero".
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

/// [low, high] of an integer dtype, both as doubles: high + 1 is a power of two and exact, high need not be.
struct IntegerRange {
  double low;
  double end;
};

IntegerRange RangeOf(DType dtype) {
  const int bits = static_cast<int>(DTypeSize(dtype)) * 8;
  const bool is_signed =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  return is_signed ? IntegerRange{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1)}
                   : IntegerRange{0.0, std::ldexp(1.0, bits)};
}

/// The largest value of a range, in lanes; end - 1 cannot be computed in double.
template <class Lane>
Lane LargestOf(const IntegerRange& range) {
  return static_cast<Lane>(range.end / 2) + (static_cast<Lane>(range.end / 2) - 1);
}

template <class Lane>
Lane Truncated(double value, const IntegerRange& range, Lane largest) {
  if (std::isnan(value)) return 0;
  if (value <= range.low) return static_cast<Lane>(range.low);
  if (value >= range.end) return largest;
  return static_cast<Lane>(value);
}

/// An integer as a double that rounds to f32 and f16 as the integer itself does: odd where inexact.
template <class Lane>
double ToOddDouble(Lane value) {
  const double nearest = static_cast<double>(value);
  const auto bits = std::bit_cast<uint64_t>(nearest);
  if (nearest >= std::ldexp(1.0, std::is_signed_v<Lane> ? 63 : 64)) return std::bit_cast<double>(bits - 1);
  const Lane back = static_cast<Lane>(nearest);
  if (back == value || (bits & 1u) != 0) return nearest;
  const bool grow = value < Lane(0) ? value < back : value > back;
  return std::bit_cast<double>(grow ? bits + 1 : bits - 1);
}

template <class From, class To>
void Convert(const From* from, int64_t count, DType dtype, To* to) {
  if constexpr (std::is_same_v<From, double> && !std::is_same_v<To, double>) {
    if (dtype == DType::kBool) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0.0;
      return;
    }
    const IntegerRange range = RangeOf(dtype);
    const To largest = LargestOf<To>(range);
    for (int64_t i = 0; i < count; ++i) to[i] = Truncated(from[i], range, largest);
  } else if constexpr (!std::is_same_v<From, double> && std::is_same_v<To, double>) {
    const bool exact_target = dtype == DType::kF64;
    for (int64_t i = 0; i < count; ++i)
      to[i] = exact_target ? static_cast<double>(from[i]) : ToOddDouble(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  }
}

}  // namespace

Status KernelCast(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  return VisitLane(args.op, x.dtype, [&](auto from_tag) {
    return VisitLane(args.op, out.dtype, [&](auto to_tag) {
      using From = decltype(from_tag);
      using To = decltype(to_tag);
      const LoadFn<From> load = Loader<From>(x.dtype);
      const StoreFn<To> store = Storer<To>(out.dtype);
      const int64_t total = out.shape.elements();
      From from[kChunk];
      To to[kChunk];
      for (int64_t done = 0; done < total; done += kChunk) {
        const int64_t count = total - done < kChunk ? total - done : kChunk;
        load(x.data, done, 1, count, from);
        Convert(from, count, out.dtype, to);
        store(out.data, done, count, to);
      }
      return OkStatus();
    });
  });
}

}  // namespace skiff
