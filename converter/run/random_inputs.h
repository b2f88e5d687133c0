/// Seeded values for a model's inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/model_sizes.h"

namespace skiff {

/// Reals are uniform in [low, high).
struct RandomRange {
  double low = -1;
  double high = 1;
};

/// By input name, where the rules below know too little: reals are uniform in [low, high), integers and
/// booleans among low, ..., high.
using InputRanges = std::map<std::string, RandomRange>;

/// The same values for the same model and seed on every machine. Reals are those of `range`; without one, of
/// [-1, 1), and inputs that are pictures get samples of 0 to 255 as the file's settings turn them. Integers
/// are uniform below 8, or below the extents that they index at these sizes, at most 100; quantised ones are
/// all that their type holds; booleans are 0 or 1. Inputs whose elements decide a shape get values that their
/// operator takes; throws Error naming the input where that is not known.
NamedTensors RandomInputs(const ModelSignature& signature, uint64_t seed,
                          const std::optional<RandomRange>& range = {});
/// The same at other sizes than the default ones. Throws Error for a name in `ranges` that no input has, and
/// for a range that the input's type does not hold.
/// `given`: those that are known, of these sizes.
NamedTensors RandomInputs(const ModelSignature& signature, const std::vector<int64_t>& sizes, uint64_t seed,
                          const std::optional<RandomRange>& range = {}, const InputRanges& ranges = {},
                          const NamedTensors& given = {});

/// Why no plan takes inputs of these shapes, and, of those that decide shapes, with these elements; "" where
/// one does.
std::string WhyRefused(const ModelSignature& signature, const NamedTensors& inputs);

/// Inputs of integers that neither index anything nor decide a shape, so that no rule above says which values
/// mean something (a mask, a position), and that no range speaks of. Not quantised ones.
std::vector<std::string> InputsWithoutRule(const ModelSignature& signature, const InputRanges& ranges);

}  // namespace skiff
