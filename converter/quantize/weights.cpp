#include "quantize/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "core/half.h"
#include "quantize/range.h"

namespace skiff {
namespace {

constexpr int kPercentStep = 2;
constexpr int kLeastPercent = 50;
constexpr int kLargestCode = 127;
constexpr int kLargestOfFourBits = 7;

double ErrorWith(std::span<const float> numbers, std::span<const double> importance, double scale,
                 int largest_code) {
  double sum = 0;
  const double inverse = 1 / scale;
  const double most = largest_code;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<double>(numbers[i]);
    const double error = number - std::clamp(std::nearbyint(number * inverse), -most, most) * scale;
    sum += error * error * (importance.empty() ? 1 : importance[i]);
  }
  return sum;
}

/// Of codes in [-largest_code, largest_code].
float ScaleOf(std::span<const float> numbers, std::span<const double> importance, int largest_code,
              WeightScales scales) {
  double largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(static_cast<double>(number)));
  const double whole = largest / largest_code;
  if (!std::isnormal(static_cast<float>(whole))) return 1;
  if (scales == WeightScales::kLargest) return static_cast<float>(whole);
  double best = whole;
  double least = ErrorWith(numbers, importance, whole, largest_code);
  for (int percent = 100 - kPercentStep; percent >= kLeastPercent; percent -= kPercentStep) {
    const double share = percent / 100.0;
    const double error = ErrorWith(numbers, importance, whole * share, largest_code);
    if (error >= least) continue;
    least = error;
    best = whole * share;
  }
  return static_cast<float>(best);
}

void ChooseScales(const TensorData& weights, WeightScales scales, std::span<const double> importance,
                  WeightGrid& grid) {
  const auto line = static_cast<size_t>(grid.line);
  for (size_t from = 0; from < static_cast<size_t>(weights.elements()); from += line) {
    for (size_t at = 0; at < line; at += static_cast<size_t>(grid.run)) {
      const size_t count = std::min(static_cast<size_t>(grid.run), line - at);
      const size_t first = from + at;
      grid.scales.push_back(
          ScaleOf({weights.as<float>() + first, count},
                  importance.empty() ? importance : importance.subspan(first % importance.size(), count),
                  grid.largest_code, scales));
    }
  }
}

}  // namespace

WeightGrid GridPerChannel(const TensorData& weights, WeightScales scales,
                          const std::vector<double>& least_scales, std::span<const double> importance) {
  const int64_t row = weights.elements() / weights.shape()[0];
  WeightGrid grid{kLargestCode, row, row, 0, {}};
  ChooseScales(weights, scales, importance, grid);
  for (size_t c = 0; c < least_scales.size(); ++c)
    grid.scales[c] = std::max(grid.scales[c], static_cast<float>(least_scales[c]));
  return grid;
}

WeightGrid GridOfFourBits(const TensorData& weights, int64_t block, std::span<const double> importance) {
  const Shape& shape = weights.shape();
  const int64_t last = shape[shape.rank() - 1];
  const int64_t row = weights.elements() / shape[0];
  WeightGrid grid = last >= block ? WeightGrid{kLargestOfFourBits, last, block, shape.rank() - 1, {}}
                                  : WeightGrid{kLargestOfFourBits, row, row, 0, {}};
  ChooseScales(weights, WeightScales::kLeastSquares, importance, grid);
  return grid;
}

int NearestCode(double number, float scale, int largest_code) {
  const double code = std::nearbyint(number / static_cast<double>(scale));
  return static_cast<int>(std::clamp<double>(code, -largest_code, largest_code));
}

TensorData NearestCodes(const TensorData& weights, const WeightGrid& grid) {
  std::vector<int8_t> codes;
  codes.reserve(static_cast<size_t>(weights.elements()));
  for (int64_t i = 0; i < weights.elements(); ++i)
    codes.push_back(static_cast<int8_t>(
        NearestCode(static_cast<double>(weights.as<float>()[i]), grid.ScaleAt(i), grid.largest_code)));
  return ToTensor(weights.shape(), grid, codes);
}

TensorData ToTensor(const Shape& shape, const WeightGrid& grid, const std::vector<int8_t>& codes) {
  const bool nibbles = grid.largest_code == kLargestOfFourBits;
  TensorData tensor(nibbles ? DType::kI4 : DType::kI8, shape);
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
  for (size_t i = 0; i < codes.size(); ++i) {
    if (nibbles)
      bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (codes[i] & 15) << (i % 2 * 4));
    else
      bytes[i] = static_cast<uint8_t>(codes[i]);
  }
  return tensor.Quantized(PerAxis(grid.axis, grid.scales, {}, grid.axis == 0 ? 0 : grid.run));
}

TensorData CodesPerTensor(const TensorData& numbers) {
  Range range;
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    const auto number = static_cast<double>(numbers.as<float>()[i]);
    range = Union(range, {number, number});
  }
  const QuantizationPtr quantization = QuantizationFor(range, DType::kI8);
  TensorData codes(DType::kI8, numbers.shape());
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    const double steps = std::nearbyint(static_cast<double>(numbers.as<float>()[i]) /
                                        static_cast<double>(quantization->scale));
    static_cast<int8_t*>(codes.mutable_data())[i] =
        static_cast<int8_t>(std::clamp(steps + quantization->zero_point, -128.0, 127.0));
  }
  return codes.Quantized(quantization);
}

TensorData BiasCodes(const std::vector<double>& bias, const std::vector<float>& units) {
  TensorData codes(DType::kI32, Shape{static_cast<int64_t>(bias.size())});
  for (size_t c = 0; c < bias.size(); ++c)
    static_cast<int32_t*>(codes.mutable_data())[c] =
        static_cast<int32_t>(std::nearbyint(bias[c] / static_cast<double>(units[c])));
  return codes.Quantized(PerAxis(0, units));
}

std::optional<TensorData> RoundedToHalves(const TensorData& numbers) {
  TensorData rounded(DType::kF32, numbers.shape());
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    const float half = HalfToFloat(FloatToHalf(numbers.as<float>()[i]));
    if (!std::isfinite(half)) return {};
    static_cast<float*>(rounded.mutable_data())[i] = half;
  }
  return rounded;
}

}  // namespace skiff
