#include "plan/memory_planner.h"

#include <algorithm>

#include "core/align.h"
#include "core/extents.h"

namespace skiff {
namespace {

/// Large buffers begin at different places within a page, so that an operator's input and output do not alias
/// modulo 4 KB in the cache. The extra bytes are far below the planner's 5 % budget.
constexpr uint64_t kStaggerFrom = uint64_t{64} << 10;
constexpr uint64_t kStagger = 320;
/// Arenas beyond this are not planned.
constexpr uint64_t kMostBytes = uint64_t{1} << 62;

uint64_t Footprint(uint64_t bytes) {
  return AlignUp(bytes) + (bytes >= kStaggerFrom && bytes % 4096 == 0 ? kStagger : 0);
}

/// A heap's: a quarter of the code of std::sort, and the planner's lists are short.
template <class Iterator, class Before>
void Sort(Iterator begin, Iterator end, const Before& before) {
  std::make_heap(begin, end, before);
  std::sort_heap(begin, end, before);
}

/// One behind the other.
uint64_t PlaceApart(Span<const BufferLifetime> buffers, Span<uint64_t> offsets) {
  uint64_t arena = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    offsets[i] = buffers[i].bytes == 0 ? 0 : arena;
    arena += Footprint(buffers[i].bytes);
  }
  return arena;
}

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

constexpr size_t kOrderCount = sizeof(kOrders) / sizeof(kOrders[0]);

}  // namespace

Status MemoryPlanner::Init(Span<const BufferLifetime> buffers, size_t* pairs_left) {
  const size_t count = buffers.size();
  SKIFF_RETURN_IF_ERROR(order_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(placed_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(trial_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(by_first_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(by_last_.Allocate(count));
  live_count_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (buffers[i].first <= buffers[i].last) by_first_[live_count_++] = i;
  }
  std::copy(by_first_.begin(), by_first_.begin() + live_count_, by_last_.begin());
  Sort(by_first_.begin(), by_first_.begin() + live_count_,
       [&](uint32_t a, uint32_t b) { return buffers[a].first < buffers[b].first; });
  Sort(by_last_.begin(), by_last_.begin() + live_count_,
       [&](uint32_t a, uint32_t b) { return buffers[a].last < buffers[b].last; });
  return ListNeighbours(buffers, pairs_left);
}

/// Each pair that is live together, once. Ends, false, where `found` says that it has seen enough.
template <class Found>
bool MemoryPlanner::VisitPairs(Span<const BufferLifetime> buffers, const Found& found) const {
  for (size_t i = 0; i < live_count_; ++i) {
    const int32_t last = buffers[by_first_[i]].last;
    for (size_t j = i + 1; j < live_count_ && buffers[by_first_[j]].first <= last; ++j) {
      if (!found(by_first_[i], by_first_[j])) return false;
    }
  }
  return true;
}

Status MemoryPlanner::ListNeighbours(Span<const BufferLifetime> buffers, size_t* pairs_left) {
  const size_t count = buffers.size();
  size_t entries = 0;
  crowded_ = !VisitPairs(buffers, [&](uint32_t, uint32_t) { return (entries += 2) <= *pairs_left; });
  // Counting too many takes them, too: the next one does not count as far.
  *pairs_left -= std::min(*pairs_left, entries);
  if (crowded_) return OkStatus();
  SKIFF_RETURN_IF_ERROR(first_neighbour_.Allocate(count + 1));
  SKIFF_RETURN_IF_ERROR(neighbours_.Allocate(entries));
  VisitPairs(buffers, [&](uint32_t a, uint32_t b) {
    ++first_neighbour_[a + 1];
    ++first_neighbour_[b + 1];
    return true;
  });
  size_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    most = std::max(most, first_neighbour_[i + 1]);
    first_neighbour_[i + 1] += first_neighbour_[i];
  }
  SKIFF_RETURN_IF_ERROR(blocks_.Allocate(most));
  // Filled behind first_neighbour_[i], which then is where the next one's begin, and is shifted back.
  VisitPairs(buffers, [&](uint32_t a, uint32_t b) {
    neighbours_[first_neighbour_[a]++] = b;
    neighbours_[first_neighbour_[b]++] = a;
    return true;
  });
  for (size_t i = count; i > 0; --i) first_neighbour_[i] = first_neighbour_[i - 1];
  first_neighbour_[0] = 0;
  return OkStatus();
}

/// Places all buffers in order_ at the lowest gap that holds them; the arena's bytes. Fills trial_.
uint64_t MemoryPlanner::PlaceInOrder(Span<const BufferLifetime> buffers) {
  std::fill(placed_.begin(), placed_.end(), false);
  uint64_t arena = 0;
  for (const uint32_t at : order_) {
    trial_[at] = 0;
    const uint64_t bytes = buffers[at].bytes;
    if (bytes == 0) continue;
    size_t count = 0;
    for (size_t i = first_neighbour_[at]; i < first_neighbour_[at + 1]; ++i) {
      const uint32_t other = neighbours_[i];
      if (placed_[other]) blocks_[count++] = {trial_[other], trial_[other] + Footprint(buffers[other].bytes)};
    }
    Sort(blocks_.begin(), blocks_.begin() + count,
         [](const Block& a, const Block& b) { return a.begin < b.begin; });
    uint64_t candidate = 0;
    for (size_t i = 0; i < count && blocks_[i].begin < candidate + Footprint(bytes); ++i)
      candidate = std::max(candidate, blocks_[i].end);
    trial_[at] = candidate;
    placed_[at] = true;
    arena = std::max(arena, candidate + AlignUp(bytes));
  }
  return arena;
}

/// The sum of live buffers only grows where some buffer begins.
uint64_t MemoryPlanner::LowerBound(Span<const BufferLifetime> buffers) const {
  uint64_t bound = 0;
  uint64_t live = 0;
  size_t ended = 0;
  for (size_t i = 0; i < live_count_; ++i) {
    const BufferLifetime& buffer = buffers[by_first_[i]];
    for (; buffers[by_last_[ended]].last < buffer.first; ++ended)
      live -= AlignUp(buffers[by_last_[ended]].bytes);
    live += AlignUp(buffer.bytes);
    bound = std::max(bound, live);
  }
  return bound;
}

uint64_t MemoryPlanner::Plan(Span<const BufferLifetime> buffers, double slack, Span<uint64_t> offsets) {
  // No arena is larger than all buffers side by side. Where even that fits, nothing below can wrap around.
  uint64_t all = 0;
  for (const BufferLifetime& buffer : buffers) {
    if (buffer.bytes > kMostBytes) return UINT64_MAX;
    all = SaturatingAdd(all, Footprint(buffer.bytes));
  }
  if (all > kMostBytes) return UINT64_MAX;
  if (crowded_) return PlaceApart(buffers, offsets);
  const uint64_t bound = LowerBound(buffers);
  const uint64_t enough = bound + static_cast<uint64_t>(static_cast<double>(bound) * slack);
  uint64_t best = UINT64_MAX;
  const size_t first = winner_;
  for (size_t tried = 0; tried < kOrderCount && best > enough; ++tried) {
    const size_t now = (first + tried) % kOrderCount;
    const Order before = kOrders[now];
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    Sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      if (before(buffers[a], buffers[b])) return true;
      return before(buffers[b], buffers[a]) ? false : a < b;
    });
    const uint64_t arena = PlaceInOrder(buffers);
    if (arena >= best) continue;
    best = arena;
    winner_ = now;
    std::copy(trial_.begin(), trial_.end(), offsets.begin());
  }
  return best;
}

}  // namespace skiff
