/// Constants as codes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Whether the scale of each channel is the one with the least square error, or that of its largest weight.
enum class WeightScales { kLargest, kLeastSquares };

/// f32 as i8 around 0, with one scale for each index of axis 0. `least_scales`, where given, are what the
/// scales may not be below.
TensorData CodesPerChannel(const TensorData& weights, WeightScales scales,
                           const std::vector<double>& least_scales = {});

/// f32 as i4 around 0: one scale for each run of `block` neighbours along the last axis, or, where that is
/// shorter, for each index of axis 0.
TensorData CodesOfFourBits(const TensorData& weights, int64_t block);

/// f32 as i8 with one scale and a zero point.
TensorData CodesPerTensor(const TensorData& numbers);

/// f32 as i32 in the given units, rounded; they must fit.
TensorData BiasCodes(const std::vector<double>& bias, const std::vector<float>& units);

/// f32, each element rounded to one of f16; nothing where one is too large for that.
std::optional<TensorData> RoundedToHalves(const TensorData& numbers);

}  // namespace skiff
