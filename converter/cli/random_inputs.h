/// Seeded values for a model's inputs.
#pragma once

#include <cstdint>

#include "cli/opened_model.h"
#include "cli/sizes.h"

namespace skiff::cli {

/// Reals are uniform in [low, high).
struct RandomRange {
  double low = -1;
  double high = 1;
};

/// A size for each Symbol of the model: the largest of its contract, or 7 where there is none.
std::vector<int64_t> DefaultSizes(const Model& model);
/// The sizes that are known, and the default of the others.
std::vector<int64_t> ClosedSizes(const Model& model, const SymbolSizes& sizes);
/// The sizes that these inputs have. Throws Error where two inputs disagree.
std::vector<int64_t> SizesOf(const Model& model, const NamedTensors& inputs);
/// Sizes near `sizes` that differ in each Symbol whose contract allows it.
std::vector<int64_t> OtherSizes(const Model& model, const std::vector<int64_t>& sizes);
/// The port's shape at these sizes.
Shape SizedShape(const Model& model, const PortInfo& port, const std::vector<int64_t>& sizes);

/// The same values for the same model and seed on every machine. Integers are uniform below 8, or below the
/// extents that they index at these sizes, at most 100; booleans are 0 or 1. Inputs whose elements decide a
/// shape get values that their operator takes; throws Error naming the input where that is not known.
NamedTensors RandomInputs(const Model& model, uint64_t seed, const RandomRange& range = {});
/// The same at other sizes than the default ones.
NamedTensors RandomInputs(const Model& model, const std::vector<int64_t>& sizes, uint64_t seed,
                          const RandomRange& range = {});

}  // namespace skiff::cli
