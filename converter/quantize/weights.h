/// Constants as codes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Whether the scale of each channel is the one with the least square error, or that of its largest weight.
enum class WeightScales { kLargest, kLeastSquares };

/// Codes around 0 of the numbers of a tensor with two or more axes: `run` neighbours share a scale, none
/// beyond the end of a line.
struct WeightGrid {
  int largest_code = 0;
  int64_t line = 0;  ///< Numbers in a line.
  int64_t run = 0;
  int axis = 0;               ///< Of the quantisation.
  std::vector<float> scales;  ///< Of all runs, in the order of the numbers.

  int64_t runs_of_line() const { return (line + run - 1) / run; }
  float ScaleAt(int64_t number) const {
    return scales[static_cast<size_t>(number / line * runs_of_line() + number % line / run)];
  }
};

/// i8, one scale for each index of axis 0. `least_scales`, where given, are what the scales may not be below.
/// `importance`, where given, has for each number what its square error counts, over and over again.
WeightGrid GridPerChannel(const TensorData& weights, WeightScales scales,
                          const std::vector<double>& least_scales = {},
                          std::span<const double> importance = {});

/// i4: one scale for each run of `block` neighbours along the last axis, or, where that is shorter, for each
/// index of axis 0.
WeightGrid GridOfFourBits(const TensorData& weights, int64_t block, std::span<const double> importance = {});

/// Of `number`, the nearest one.
int NearestCode(double number, float scale, int largest_code);

/// The nearest codes of all numbers.
TensorData NearestCodes(const TensorData& weights, const WeightGrid& grid);

/// These codes of them.
TensorData ToTensor(const Shape& shape, const WeightGrid& grid, const std::vector<int8_t>& codes);

/// f32 as i8 with one scale and a zero point.
TensorData CodesPerTensor(const TensorData& numbers);

/// f32 as i32 in the given units, rounded; they must fit.
TensorData BiasCodes(const std::vector<double>& bias, const std::vector<float>& units);

/// f32, each element rounded to one of f16; nothing where one is too large for that.
std::optional<TensorData> RoundedToHalves(const TensorData& numbers);

}  // namespace skiff
