/// Weights are rounded one after the other, and each makes up for what rounding has changed so far in the
/// layer's result: the feedback of GPTQ (Frantar et al., 2023), in the form that Chee et al. (2023) show to
/// be the same.
#pragma once

#include <vector>

#include "quantize/input_moments.h"
#include "quantize/weights.h"

namespace skiff {

/// A symmetric matrix of `size` rows, of which elements up to the diagonal are read, as U D U': U has ones on
/// the diagonal and zeros below. Returns U's rows; D is left out. The matrix must be positive definite.
std::vector<double> UpperFactor(std::vector<double> matrix, int64_t size);

/// What each weight's square error counts in the result, as GridPerChannel() and GridOfFourBits() take it.
std::vector<double> ImportanceOf(InputMoments& moments, int64_t channels, bool central);

/// Codes on the grid, with the least square error of the result for such inputs; `central`: beside its mean,
/// which a bias makes up for.
TensorData CodesByEffect(const TensorData& weights, const WeightGrid& grid, InputMoments& moments,
                         bool central);

}  // namespace skiff
