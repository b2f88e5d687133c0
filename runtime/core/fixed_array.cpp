#include "core/fixed_array.h"

#include "core/extents.h"

namespace skiff {

Status ArrayMemory::Replace(uint64_t wanted, size_t bytes) {
  std::free(elements);
  elements = nullptr;
  count = 0;
  if (wanted == 0) return OkStatus();
  if (IsAddressable(SaturatingMultiply(wanted, bytes)))
    elements = std::calloc(static_cast<size_t>(wanted), bytes);
  if (elements == nullptr) {
    return Fail(StatusCode::kOutOfMemory, "cannot allocate %llu elements of %zu bytes",
                static_cast<unsigned long long>(wanted), bytes);
  }
  count = static_cast<size_t>(wanted);
  return OkStatus();
}

}  // namespace skiff
