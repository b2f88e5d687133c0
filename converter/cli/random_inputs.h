/// Seeded values for a model's inputs.
#pragma once

#include <cstdint>

#include "cli/opened_model.h"

namespace skiff::cli {

/// Reals are uniform in [low, high).
struct RandomRange {
  double low = -1;
  double high = 1;
};

/// A size for each Symbol of the model: the largest of its contract, or 7 where there is none.
std::vector<int64_t> DefaultSizes(const Model& model);
/// The port's shape at these sizes.
Shape SizedShape(const Model& model, const PortInfo& port, const std::vector<int64_t>& sizes);

/// The same values for the same model and seed on every machine. Integers are uniform below 8, or below what
/// a Gather that uses them as indices allows, at most 100; booleans are 0 or 1.
NamedTensors RandomInputs(const Model& model, uint64_t seed, const RandomRange& range = {});
/// The same at other sizes than the default ones.
NamedTensors RandomInputs(const Model& model, const std::vector<int64_t>& sizes, uint64_t seed,
                          const RandomRange& range = {});

}  // namespace skiff::cli
