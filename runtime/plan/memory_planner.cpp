#include "plan/memory_planner.h"

#include <algorithm>

namespace skiff {
namespace {

constexpr uint64_t kAlignment = 64;
uint64_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Large buffers begin at different places within a page, so that an operator's input and output do not alias
/// modulo 4 KB in the cache. The extra bytes are far below the planner's 5 % budget.
constexpr uint64_t kStaggerFrom = uint64_t{64} << 10;
constexpr uint64_t kStagger = 320;

uint64_t Footprint(uint64_t bytes) {
  return Aligned(bytes) + (bytes >= kStaggerFrom && bytes % 4096 == 0 ? kStagger : 0);
}

bool Overlap(const BufferLifetime& a, const BufferLifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Placed {
  uint64_t offset;
  uint64_t end;
};

using Order = bool (*)(const BufferLifetime& a, const BufferLifetime& b);

constexpr Order kOrders[] = {
    [](const BufferLifetime& a, const BufferLifetime& b) { return a.bytes > b.bytes; },
    [](const BufferLifetime& a, const BufferLifetime& b) {
      return uint64_t(a.last - a.first + 1) * a.bytes > uint64_t(b.last - b.first + 1) * b.bytes;
    },
    [](const BufferLifetime& a, const BufferLifetime& b) {
      return a.last - a.first != b.last - b.first ? a.last - a.first > b.last - b.first : a.bytes > b.bytes;
    },
    [](const BufferLifetime& a, const BufferLifetime& b) {
      return a.first != b.first ? a.first < b.first : a.bytes > b.bytes;
    },
};

/// Places all buffers in the given order at the lowest gap that holds them; the arena's bytes.
uint64_t PlaceInOrder(Span<const BufferLifetime> buffers, Span<const uint32_t> order, Span<uint64_t> offsets,
                      Span<Placed> neighbours) {
  uint64_t arena = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const BufferLifetime& buffer = buffers[order[i]];
    offsets[order[i]] = 0;
    if (buffer.bytes == 0) continue;
    size_t count = 0;
    for (size_t j = 0; j < i; ++j) {
      const BufferLifetime& other = buffers[order[j]];
      if (other.bytes > 0 && Overlap(buffer, other)) {
        neighbours[count++] = {offsets[order[j]], offsets[order[j]] + Footprint(other.bytes)};
      }
    }
    std::sort(neighbours.begin(), neighbours.begin() + count,
              [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
    const uint64_t size = Footprint(buffer.bytes);
    uint64_t candidate = 0;
    for (size_t j = 0; j < count && neighbours[j].offset < candidate + size; ++j)
      candidate = std::max(candidate, neighbours[j].end);
    offsets[order[i]] = candidate;
    arena = std::max(arena, candidate + Aligned(buffer.bytes));
  }
  return arena;
}

}  // namespace

Result<uint64_t> PlanMemory(Span<const BufferLifetime> buffers, Span<uint64_t> offsets) {
  FixedArray<uint32_t> order;
  FixedArray<uint64_t> trial;
  FixedArray<Placed> neighbours;
  SKIFF_RETURN_IF_ERROR(order.Allocate(buffers.size()));
  SKIFF_RETURN_IF_ERROR(trial.Allocate(buffers.size()));
  SKIFF_RETURN_IF_ERROR(neighbours.Allocate(buffers.size()));
  uint64_t best = UINT64_MAX;
  const uint64_t bound = MemoryLowerBound(buffers);
  for (const Order before : kOrders) {
    if (best <= bound) break;  // No order can be better; the device plans at every new shape.
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (before(buffers[a], buffers[b])) return true;
      return before(buffers[b], buffers[a]) ? false : a < b;
    });
    const uint64_t arena = PlaceInOrder(buffers, order, trial, neighbours);
    if (arena >= best) continue;
    best = arena;
    std::copy(trial.begin(), trial.end(), offsets.begin());
  }
  return best;
}

uint64_t MemoryLowerBound(Span<const BufferLifetime> buffers) {
  uint64_t bound = 0;
  for (const BufferLifetime& at : buffers) {  // The sum only grows where some buffer begins.
    uint64_t live = 0;
    for (const BufferLifetime& other : buffers) {
      if (other.first <= at.first && at.first <= other.last) live += Aligned(other.bytes);
    }
    bound = std::max(bound, live);
  }
  return bound;
}

}  // namespace skiff
