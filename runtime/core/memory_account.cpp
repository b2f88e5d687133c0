#include "core/memory_account.h"

#include <malloc.h>

#include <algorithm>

namespace skiff {
namespace {

struct Account {
  int64_t held = 0;
  int64_t most = INT64_MAX;  ///< Up to where `held` may rise.
  bool refused = false;
};

constinit thread_local Account account;

}  // namespace

int64_t MemoryOfThisThread() { return account.held; }

bool RefusesMemory(size_t bytes) {
  const int64_t left = account.most - account.held;
  const bool refused = left < 0 || bytes > static_cast<uint64_t>(left);
  account.refused |= refused;
  return refused;
}

void* CountMemory(void* memory) {
  account.held += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}

void UncountMemory(void* memory) { account.held -= static_cast<int64_t>(malloc_usable_size(memory)); }

AllocationLimit::AllocationLimit(uint64_t bytes) : outer_(account.most) {
  if (bytes < static_cast<uint64_t>(INT64_MAX - account.held))
    account.most = std::min(outer_, account.held + static_cast<int64_t>(bytes));
  account.refused = false;
}

AllocationLimit::~AllocationLimit() { account.most = outer_; }

bool AllocationLimit::reached() const { return account.refused || account.held > account.most; }

}  // namespace skiff
