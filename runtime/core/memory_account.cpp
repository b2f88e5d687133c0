#include "core/memory_account.h"

#include <malloc.h>

#include <algorithm>

namespace skiff {
namespace {

struct Account {
  int64_t held = 0;
  int64_t most = INT64_MAX;  ///< Up to where `held` may rise; less than anything once that was refused.
};

constinit thread_local Account account;

/// Far more than there is, and far from where sums of 64 bits end.
constexpr uint64_t kUnlimited = uint64_t{1} << 61;

}  // namespace

int64_t MemoryOfThisThread() { return account.held; }

// Called in many places, and all of them slow: out of line they are small.
[[gnu::noinline]] bool RefusesMemory(uint64_t bytes) {
  Account& mine = account;
  if (bytes <= kUnlimited && mine.held + static_cast<int64_t>(bytes) <= mine.most) return false;
  if (mine.most != INT64_MAX) mine.most = INT64_MIN;
  return true;
}

[[gnu::noinline]] void* CountMemory(void* memory) {
  account.held += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}

[[gnu::noinline]] void UncountMemory(void* memory) {
  account.held -= static_cast<int64_t>(malloc_usable_size(memory));
}

[[gnu::noinline]] AllocationLimit::AllocationLimit(uint64_t bytes) {
  Account& mine = account;
  outer_ = mine.most;
  mine.most = std::min(outer_, mine.held + static_cast<int64_t>(std::min(bytes, kUnlimited)));
}

[[gnu::noinline]] AllocationLimit::~AllocationLimit() { account.most = outer_; }

bool AllocationLimit::reached() const {
  const Account& mine = account;
  return mine.held > mine.most;
}

}  // namespace skiff
