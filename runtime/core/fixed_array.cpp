#include "core/fixed_array.h"

#include "core/extents.h"

namespace skiff {

Result<void*> AllocateElements(uint64_t count, size_t bytes) {
  if (count == 0) return static_cast<void*>(nullptr);
  if (IsAddressable(SaturatingMultiply(count, bytes))) {
    if (void* memory = std::calloc(static_cast<size_t>(count), bytes)) return memory;
  }
  return Fail(StatusCode::kOutOfMemory, "cannot allocate %llu elements of %zu bytes",
              static_cast<unsigned long long>(count), bytes);
}

}  // namespace skiff
