/// Whether the places of a plan's tensors are good at one shape: inside their memory, aligned, and no node
/// destroys what it or a later run still needs. Files are untrusted, so this is asked before the first run at
/// every shape.
#pragma once

#include "plan/plan_order.h"

namespace skiff {

struct PlacedTensors {
  const PlanData& plan;
  Span<const PlanTensor> tensors;  ///< Extents of this shape.
  Span<const uint64_t> offsets;    ///< Of root tensors in the arena.
  Span<const int32_t> input_of;    ///< Which graph input a tensor is, or -1.
  uint64_t arena_bytes;
  bool kept_apart;  ///< Every root tensor has its own place.
};

/// The bytes from a tensor's first element to the end of its last one; equal where it has none.
struct Place {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// `places`: room for as many as there are tensors.
Status CheckPlacement(const PlacedTensors& placed, Span<Place> places, PlanMessage& message);

}  // namespace skiff
