/// An array whose length is decided once. It stands in for std::vector where running out of memory must
/// become a Status although exceptions are off.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "skiff/log.h"
#include "skiff/span.h"

namespace skiff {

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
  ~FixedArray() { delete[] data_; }

  /// Replaces the content by `size` value-initialised elements.
  Status Allocate(size_t size) {
    delete[] data_;
    data_ = nullptr;
    size_ = 0;
    if (size == 0) return OkStatus();
    if (size > static_cast<size_t>(-1) / 2 / sizeof(T))
      return Fail(StatusCode::kOutOfMemory, "an array of %zu elements is too long", size);
    data_ = new (std::nothrow) T[size]();
    if (data_ == nullptr)
      return Fail(StatusCode::kOutOfMemory, "cannot allocate %zu elements of %zu bytes", size, sizeof(T));
    size_ = size;
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
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace skiff
