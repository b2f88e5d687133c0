/// Memory of a Session: what is computed lies in it.
#pragma once

#include <cstring>

#include "core/align.h"
#include "core/platform.h"
#include "skiff/log.h"

namespace skiff {

/// Aligned memory with readable bytes behind it, as XNNPACK wants them. Grows; the content is then lost.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { platform::FreeAligned(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Status Grow(uint64_t bytes, const char* what) {
    if (data_ != nullptr && bytes <= size_) return OkStatus();
    platform::FreeAligned(data_);
    size_ = 0;
    data_ = static_cast<unsigned char*>(platform::AllocateAligned(bytes + kReadableTail));
    if (data_ == nullptr) {
      return Fail(StatusCode::kOutOfMemory, "cannot allocate %s of %llu bytes", what,
                  static_cast<unsigned long long>(bytes));
    }
    std::memset(data_, 0, bytes + kReadableTail);
    size_ = bytes;
    return OkStatus();
  }
  unsigned char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace skiff
