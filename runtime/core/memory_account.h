/// Memory whose amount shapes decide, counted by thread: what arrays take, and what XNNPACK does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff {

/// Bytes that were counted less those that were given back, on this thread, since it started. Differences of
/// two values taken around calls on one thread say what those calls kept.
int64_t MemoryOfThisThread();

/// Whether an AllocationLimit leaves less than `bytes`. From then on it leaves nothing.
bool RefusesMemory(uint64_t bytes);

/// Counts what malloc() or its kin have returned, and returns it; null is nothing.
void* CountMemory(void* memory);
void UncountMemory(void* memory);

/// While one lives, this thread gets no more than `bytes`: more is refused, as where memory has run out. One
/// in another leaves no more than that one does.
class AllocationLimit {
 public:
  explicit AllocationLimit(uint64_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;
  /// Whether something was refused, or taken beyond it by who cannot be refused.
  bool reached() const;

 private:
  int64_t outer_;
};

}  // namespace skiff
