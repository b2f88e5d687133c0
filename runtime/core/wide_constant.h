/// A constant that the file holds narrower than kernels read it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/spin_lock.h"
#include "skiff/tensor.h"

namespace skiff {

/// Its address is decided when the file is opened; the elements are there from Pin() on, or between Acquire()
/// and Release(), which is for who makes a copy of their own. What was read in between may differ from the
/// elements. Thread-safe. Nothing here can fail: memory was found before.
class WideConstant {
 public:
  WideConstant() = default;
  ~WideConstant();
  WideConstant(const WideConstant&) = delete;
  WideConstant& operator=(const WideConstant&) = delete;

  /// Finds memory for `stored`, which CanWiden(), as f32: 64-byte aligned, with readable bytes behind it.
  /// `held` counts the bytes of elements that are there; it outlives this object. kOutOfMemory.
  Status Reserve(const TensorView& stored, std::atomic<uint64_t>* held);
  bool reserved() const { return elements_ != nullptr; }
  /// As the tensor that was read first; those with one scale and other shapes share it.
  const TensorView& stored() const { return stored_; }
  void* elements() const { return elements_; }
  uint64_t bytes() const { return static_cast<uint64_t>(stored_.shape.elements()) * sizeof(float); }

  void Pin();
  void Acquire();
  void Release();

 private:
  void FillLocked();

  TensorView stored_;
  void* elements_ = nullptr;
  std::atomic<uint64_t>* held_ = nullptr;
  SpinLock lock_;
  bool filled_ = false;
  bool pinned_ = false;
  uint32_t users_ = 0;
};

}  // namespace skiff
