#include "core/fixed_array.h"

#include "core/extents.h"
#include "core/memory_account.h"

namespace skiff {

Status ArrayMemory::Replace(uint64_t wanted, size_t bytes) {
  Free();
  elements = nullptr;
  count = 0;
  if (wanted == 0) return OkStatus();
  const uint64_t all = SaturatingMultiply(wanted, bytes);
  const bool refused = IsAddressable(all) && RefusesMemory(all);
  if (IsAddressable(all) && !refused) elements = CountMemory(std::calloc(static_cast<size_t>(wanted), bytes));
  if (elements == nullptr) {
    return Fail(StatusCode::kOutOfMemory, "cannot allocate %llu elements of %zu bytes%s",
                static_cast<unsigned long long>(wanted), bytes,
                refused ? " (SessionOptions::memory_limit)" : "");
  }
  count = static_cast<size_t>(wanted);
  return OkStatus();
}

void ArrayMemory::Free() {
  UncountMemory(elements);
  std::free(elements);
}

}  // namespace skiff
