#include "quantize/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "core/half.h"
#include "quantize/range.h"

namespace skiff {
namespace {

constexpr double kStep = 0.02;
constexpr double kLeastShare = 0.5;
constexpr int kLargestCode = 127;
constexpr int kLargestOfFourBits = 7;

double ErrorWith(std::span<const float> numbers, double scale, int largest_code) {
  double sum = 0;
  const double inverse = 1 / scale;
  const double most = largest_code;
  for (const float number : numbers) {
    const double code = std::clamp(std::nearbyint(static_cast<double>(number) * inverse), -most, most);
    const double error = static_cast<double>(number) - code * scale;
    sum += error * error;
  }
  return sum;
}

/// Of codes in [-largest_code, largest_code].
float ScaleOf(std::span<const float> numbers, int largest_code, WeightScales scales) {
  double largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(static_cast<double>(number)));
  const double whole = largest / largest_code;
  if (!std::isnormal(static_cast<float>(whole))) return 1;
  if (scales == WeightScales::kLargest) return static_cast<float>(whole);
  double best = whole;
  double least = ErrorWith(numbers, whole, largest_code);
  for (double share = 1 - kStep; share >= kLeastShare; share -= kStep) {
    const double error = ErrorWith(numbers, whole * share, largest_code);
    if (error >= least) continue;
    least = error;
    best = whole * share;
  }
  return static_cast<float>(best);
}

int CodeOf(float number, float scale, int largest_code) {
  const double code = std::nearbyint(static_cast<double>(number) / static_cast<double>(scale));
  return static_cast<int>(std::clamp<double>(code, -largest_code, largest_code));
}

void PutNibble(uint8_t* bytes, size_t index, int code) {
  bytes[index / 2] = static_cast<uint8_t>(bytes[index / 2] | (code & 15) << (index % 2 * 4));
}

}  // namespace

TensorData CodesPerChannel(const TensorData& weights, WeightScales scales,
                           const std::vector<double>& least_scales) {
  const auto channels = static_cast<size_t>(weights.shape()[0]);
  const auto row = static_cast<size_t>(weights.elements()) / channels;
  TensorData codes(DType::kI8, weights.shape());
  std::vector<float> of_channels(channels);
  for (size_t c = 0; c < channels; ++c) {
    const std::span<const float> numbers(weights.as<float>() + c * row, row);
    float scale = ScaleOf(numbers, kLargestCode, scales);
    if (!least_scales.empty()) scale = std::max(scale, static_cast<float>(least_scales[c]));
    of_channels[c] = scale;
    auto* to = static_cast<int8_t*>(codes.mutable_data()) + c * row;
    for (size_t i = 0; i < row; ++i) to[i] = static_cast<int8_t>(CodeOf(numbers[i], scale, kLargestCode));
  }
  return codes.Quantized(PerAxis(0, std::move(of_channels)));
}

TensorData CodesOfFourBits(const TensorData& weights, int64_t block) {
  const Shape& shape = weights.shape();
  const int64_t last = shape[shape.rank() - 1];
  const bool blocks = last >= block;
  const int64_t rows = blocks ? weights.elements() / last : shape[0];
  const int64_t row = weights.elements() / rows;
  const int64_t run = blocks ? block : row;
  TensorData codes(DType::kI4, shape);
  std::vector<float> scales;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t at = 0; at < row; at += run) {
      const std::span<const float> numbers(weights.as<float>() + r * row + at,
                                           static_cast<size_t>(std::min(run, row - at)));
      const float scale = ScaleOf(numbers, kLargestOfFourBits, WeightScales::kLeastSquares);
      scales.push_back(scale);
      for (size_t i = 0; i < numbers.size(); ++i)
        PutNibble(static_cast<uint8_t*>(codes.mutable_data()), static_cast<size_t>(r * row + at) + i,
                  CodeOf(numbers[i], scale, kLargestOfFourBits));
    }
  }
  return codes.Quantized(blocks ? PerAxis(shape.rank() - 1, std::move(scales), {}, block)
                                : PerAxis(0, std::move(scales)));
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
