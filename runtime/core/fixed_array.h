/// An array whose length is decided once. It stands in for std::vector where running out of memory must
/// become a Status although exceptions are off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "skiff/log.h"
#include "skiff/span.h"

namespace skiff {

/// What is the same for arrays of all types, and most of the code of one.
struct ArrayMemory {
  void* elements = nullptr;
  size_t count = 0;

  /// Replaces memory whose elements are destroyed by zeroed memory for `wanted` elements; null for none.
  /// kOutOfMemory also where this machine cannot address so many.
  Status Replace(uint64_t wanted, size_t bytes);
  [[gnu::noinline]] void Free();  ///< Called in many places.
};

template <class T>
class FixedArray {
 public:
  FixedArray() = default;
  FixedArray(FixedArray&& other) noexcept : memory_(std::exchange(other.memory_, ArrayMemory())) {}
  FixedArray& operator=(FixedArray&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;
  ~FixedArray() {
    Destroy();
    memory_.Free();
  }

  /// Replaces the content by `size` value-initialised elements.
  Status Allocate(uint64_t size) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    Destroy();
    // Of such types the zeros are the values.
    if constexpr (std::is_trivially_default_constructible_v<T>) return memory_.Replace(size, sizeof(T));
    SKIFF_RETURN_IF_ERROR(memory_.Replace(size, sizeof(T)));
    for (T& element : *this) new (&element) T();
    return OkStatus();
  }

  size_t size() const { return memory_.count; }
  bool empty() const { return memory_.count == 0; }
  T* data() { return static_cast<T*>(memory_.elements); }
  const T* data() const { return static_cast<const T*>(memory_.elements); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  operator Span<T>() { return {data(), size()}; }              // NOLINT: borrowing is implicit
  operator Span<const T>() const { return {data(), size()}; }  // NOLINT
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

 private:
  void Destroy() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      while (memory_.count > 0) data()[--memory_.count].~T();
    }
  }

  ArrayMemory memory_;
};

}  // namespace skiff
