#include "core/fixed_array.h"

namespace skiff {

Result<void*> AllocateElements(size_t count, size_t bytes) {
  if (count == 0) return static_cast<void*>(nullptr);
  if (void* memory = std::calloc(count, bytes)) return memory;
  return Fail(StatusCode::kOutOfMemory, "cannot allocate %zu elements of %zu bytes", count, bytes);
}

}  // namespace skiff
