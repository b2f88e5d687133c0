/// An array that grows, where running out of memory must become a Status.
#pragma once

#include "core/fixed_array.h"

namespace skiff::vulkan {

/// T must be movable and default-constructible. Truncate() keeps the memory.
template <class T>
class List {
 public:
  Status Append(T value) {
    if (size_ == items_.size()) SKIFF_RETURN_IF_ERROR(Grow());
    items_[size_++] = std::move(value);
    return OkStatus();
  }
  void Truncate(size_t size) { size_ = size; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  operator Span<const T>() const { return {items_.data(), size_}; }  // NOLINT: borrowing is implicit
  uint64_t memory_bytes() const { return items_.size() * sizeof(T); }

 private:
  Status Grow() {
    FixedArray<T> larger;
    SKIFF_RETURN_IF_ERROR(larger.Allocate(size_ < 8 ? 16 : size_ * 2));
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(items_[i]);
    items_ = std::move(larger);
    return OkStatus();
  }

  FixedArray<T> items_;
  size_t size_ = 0;
};

}  // namespace skiff::vulkan
