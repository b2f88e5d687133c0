/// Plans activation memory: lifetimes in, offsets out. Pure. The converter runs it and stores the result; a
/// plan for an unbounded shape will run the same function on the device.
///
/// Greedy by size after Pisarchyk and Lee, "Efficient memory management for deep neural net inference"
/// (2020): buffers in a fixed order, each at the lowest gap among those already placed whose lifetimes
/// overlap with its own. Several orders are tried and the smallest arena wins.
#pragma once

#include "core/fixed_array.h"

namespace skiff {

/// Memory that is needed from node `first` to node `last`, both included. Buffers of 0 bytes get offset 0.
struct BufferLifetime {
  uint64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

/// Fills `offsets` (as many as there are buffers; multiples of 64) and returns the arena's bytes.
Result<uint64_t> PlanMemory(Span<const BufferLifetime> buffers, Span<uint64_t> offsets);

/// The largest sum of buffers that are live at one node, each rounded up to 64 bytes: no arena can be
/// smaller.
uint64_t MemoryLowerBound(Span<const BufferLifetime> buffers);

}  // namespace skiff
