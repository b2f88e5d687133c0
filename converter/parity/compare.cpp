#include "parity/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace skiff {
namespace {

/// Equal bits; integers beyond 2^53 that a double cannot tell apart must still differ.
bool SameBits(const TensorData& a, const TensorData& b, size_t i) {
  const auto size = static_cast<size_t>(DTypeSize(a.dtype()));
  return std::memcmp(a.as<uint8_t>() + i * size, b.as<uint8_t>() + i * size, size) == 0;
}

/// Quantised integers are compared as the numbers that they stand for.
bool StandsForReal(const TensorData& data) { return IsFloat(data.dtype()) || data.quantization() != nullptr; }

double ErrorOf(double expected, double got) {
  if (expected == got || (std::isnan(expected) && std::isnan(got))) return 0;
  if (!std::isfinite(expected) || !std::isfinite(got)) return std::numeric_limits<double>::infinity();
  return std::abs(expected - got);
}

}  // namespace

Tolerance DefaultTolerance(DType dtype, const TakesPart& takes_part) {
  const bool codes = takes_part.quantized && DTypeSize(dtype) == 1 && dtype != DType::kBool;
  const bool words = takes_part.quantized && (dtype == DType::kI16 || dtype == DType::kU16);
  if (!IsFloat(dtype) && !codes && !words) return {};
  if (words) return {.of_largest = 1e-2};
  if (takes_part.quantized) return {.of_largest = 1e-1};
  return {.of_largest = takes_part.f16 || dtype == DType::kF16 ? 1e-2 : 2e-5};
}

std::string Describe(const Tolerance& tolerance) {
  if (tolerance.of_largest > 0) return fmt::format("{} of the largest element", tolerance.of_largest);
  if (tolerance.atol == 0 && tolerance.rtol == 0) return "exact";
  return fmt::format("atol {}, rtol {}", tolerance.atol, tolerance.rtol);
}

double LargestFinite(std::span<const double> elements) {
  double largest = 0;
  for (const double value : elements) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

namespace {

/// `allowed_of(i, magnitude, largest)`: how far element i may be off.
template <class AllowedOf>
Comparison CompareElements(const TensorData& expected, const TensorData& got, const AllowedOf& allowed_of) {
  Comparison result;
  result.elements = expected.elements();
  const bool both_real = StandsForReal(expected) && StandsForReal(got);
  if (expected.dtype() != got.dtype() && !both_real) {
    result.problem = fmt::format("expected {}, got {}", DTypeName(expected.dtype()), DTypeName(got.dtype()));
  } else if (!(expected.shape() == got.shape())) {
    result.problem = fmt::format("expected the shape {}, got {}", ShapeText(expected.shape()).c_str(),
                                 ShapeText(got.shape()).c_str());
  }
  if (!result.problem.empty()) {
    result.ok = false;
    return result;
  }
  const std::vector<double> a = expected.ToDoubles();
  const std::vector<double> b = got.ToDoubles();
  result.largest = LargestFinite(a);
  std::pair<bool, double> worst{false, 0};
  for (size_t i = 0; i < a.size(); ++i) {
    double error = ErrorOf(a[i], b[i]);
    if (error == 0 && !both_real && !SameBits(expected, got, i)) error = 1;
    const double allowed = allowed_of(i, std::isfinite(a[i]) ? std::abs(a[i]) : 0, result.largest);
    const bool outside = std::isinf(error) || error > allowed;
    result.allowed = std::max(result.allowed, allowed);
    result.outside += outside ? 1 : 0;
    result.max_error = std::max(result.max_error, error);
    if (error > 0) result.share = std::max(result.share, error / allowed);
    if (const std::pair<bool, double> rank{outside, error}; rank > worst) {
      worst = rank;
      result.worst = static_cast<int64_t>(i);
      result.worst_expected = a[i];
      result.worst_got = b[i];
    }
  }
  result.ok = result.outside == 0;
  return result;
}

}  // namespace

Comparison Compare(const TensorData& expected, const TensorData& got, const Tolerance& tolerance) {
  return CompareElements(expected, got, [&](size_t, double magnitude, double largest) {
    return tolerance.atol + tolerance.rtol * magnitude + tolerance.of_largest * largest;
  });
}

Comparison CompareWithin(const TensorData& expected, const TensorData& got, std::span<const double> allowed) {
  return CompareElements(expected, got, [&](size_t i, double, double) { return allowed[i]; });
}

}  // namespace skiff
