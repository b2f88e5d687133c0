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

/// Zeroed memory for `count` elements, from calloc; null for none. kOutOfMemory also where this machine
/// cannot address so many. One function for all types: this is most of the code of an array.
Result<void*> AllocateElements(uint64_t count, size_t bytes);

template <class T>
class FixedArray {
 public:
  FixedArray() = default;
  FixedArray(FixedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  FixedArray& operator=(FixedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;
  ~FixedArray() { Release(); }

  /// Replaces the content by `size` value-initialised elements.
  Status Allocate(uint64_t size) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    Release();
    SKIFF_ASSIGN_OR_RETURN(void* const memory, AllocateElements(size, sizeof(T)));
    data_ = static_cast<T*>(memory);
    for (size_ = 0; size_ < size; ++size_) new (data_ + size_) T();
    return OkStatus();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  operator Span<T>() { return {data_, size_}; }              // NOLINT: borrowing is implicit
  operator Span<const T>() const { return {data_, size_}; }  // NOLINT
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  void Release() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      while (size_ > 0) data_[--size_].~T();
    }
    std::free(data_);
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace skiff
