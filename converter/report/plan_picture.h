/// A plan at the sizes of one call: the shape of every tensor, and the map of the arena over the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "run/model_sizes.h"

namespace skiff {

/// Where a tensor lies in the arena, and while which nodes run. Rows of a strided one have gaps between them,
/// in which others may lie.
struct ArenaPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< From the first element to the end of the last one.
  size_t first = 0;    ///< The node that writes it; of inputs the first that runs.
  size_t last = 0;     ///< The last node that reads it; of inputs and outputs one behind the plan's last.
  bool strided = false;
};

struct TensorPicture {
  Shape shape;
  std::optional<ArenaPlace> place;  ///< Nothing for what lies elsewhere: constants, values of the shape
                                    ///< program, results of a Stage.
};

struct PlanPicture {
  const PlanData* plan = nullptr;
  uint64_t arena_bytes = 0;            ///< At these sizes.
  std::vector<TensorPicture> tensors;  ///< By the plan's tensor.
  std::vector<uint64_t> live_bytes;    ///< By node: of the arena, what holds something while it runs.
  std::map<size_t, std::vector<PlanPicture>> bodies;  ///< By node. Their arenas lie in the node's memory.
};

/// Throws Error where the plan that serves the inputs does not take them.
PlanPicture PictureOf(const ModelSignature& signature, const PlanData& plan, const NamedTensors& inputs);

}  // namespace skiff
