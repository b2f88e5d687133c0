/// The FlatBuffers verifier (2.0.8, for one) checks where a vector's length lies, and not that elements
/// of eight bytes behind it are aligned; reading them would then be undefined.
#pragma once

#include <cstdint>

namespace skiff::format {

template <class Vector>
bool ElementsAreAligned(const Vector* vector) {
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(uint64_t) == 0;
}

}  // namespace skiff::format
