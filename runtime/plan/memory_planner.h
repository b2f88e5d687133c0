/// Plans activation memory: lifetimes in, offsets out. The converter stores the result; for an unbounded
/// shape the device plans at each new shape.
///
/// Greedy by size after Pisarchyk and Lee, "Efficient memory management for deep neural net inference"
/// (2020): buffers in a fixed order, each at the lowest gap among those already placed whose lifetimes
/// overlap with its own. Several orders are tried and the smallest arena wins. Where more pairs are live
/// together than any model has, buffers share nothing: time and memory of the planner are bounded whatever a
/// file says.
#pragma once

#include "core/fixed_array.h"

namespace skiff {

/// Memory that is needed from node `first` to node `last`, both included. Buffers of 0 bytes get offset 0.
struct BufferLifetime {
  uint64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

/// Plans buffers whose lifetimes stay while their sizes change. What depends on lifetimes alone is found
/// once.
class MemoryPlanner {
 public:
  /// Pairs of buffers that are live together, each counted twice, beyond which buffers share nothing.
  static constexpr size_t kMostPairs = size_t{1} << 22;

  /// Memory grows with the number of pairs that are live together, up to `*pairs_left`, of which they are
  /// taken: planners may share them.
  Status Init(Span<const BufferLifetime> buffers, size_t* pairs_left);
  Status Init(Span<const BufferLifetime> buffers) {
    size_t pairs = kMostPairs;
    return Init(buffers, &pairs);
  }

  /// Fills `offsets` (as many as there are buffers; multiples of 64) and returns the arena's bytes;
  /// UINT64_MAX, and no offsets, where all buffers together have more than 2^62. Allocates nothing.
  /// `buffers`: those of Init() with the present sizes. Ends with the first order whose arena is at most
  /// `slack` larger than the lower bound, as a part of that; the order that won the last time comes first.
  uint64_t Plan(Span<const BufferLifetime> buffers, double slack, Span<uint64_t> offsets);

  /// The largest sum of buffers that are live at one node, each rounded up to 64 bytes: no arena can be
  /// smaller.
  uint64_t LowerBound(Span<const BufferLifetime> buffers) const;

 private:
  struct Block {
    uint64_t begin;
    uint64_t end;
  };
  uint64_t PlaceInOrder(Span<const BufferLifetime> buffers);
  template <class Found>
  bool VisitPairs(Span<const BufferLifetime> buffers, const Found& found) const;
  Status ListNeighbours(Span<const BufferLifetime> buffers, size_t* pairs_left);

  FixedArray<uint32_t> by_first_;       ///< Buffers that are ever live, in the order in which they begin,
  FixedArray<uint32_t> by_last_;        ///< and in which they end.
  size_t live_count_ = 0;               ///< How many these are.
  bool crowded_ = false;                ///< Too many pairs: there are no neighbours.
  FixedArray<size_t> first_neighbour_;  ///< By buffer, index into neighbours_; one more for the end.
  FixedArray<uint32_t> neighbours_;     ///< Buffers that are live together with this one.
  FixedArray<uint32_t> order_;
  FixedArray<bool> placed_;
  FixedArray<uint64_t> trial_;
  FixedArray<Block> blocks_;
  size_t winner_ = 0;
};

}  // namespace skiff
