/// Memory of a Session: what is computed lies in it.
#pragma once

#include <cstring>

#include "core/align.h"
#include "core/extents.h"
#include "core/platform.h"
#include "skiff/log.h"

namespace skiff {

/// Aligned memory with readable bytes behind it, as XNNPACK wants them. Grows; the content is then lost.
/// Where it cannot grow, it stays as it was, for who still uses it.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { platform::FreeAligned(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Status Grow(uint64_t bytes, const char* what) {
    if (data_ != nullptr && bytes <= size_) return OkStatus();
    void* const larger = IsAddressable(bytes) ? platform::AllocateAligned(bytes + kReadableTail) : nullptr;
    if (larger == nullptr) {
      return Fail(StatusCode::kOutOfMemory, "cannot allocate %s of %llu bytes", what,
                  static_cast<unsigned long long>(bytes));
    }
    // Before the new pages are touched: both are never in memory at once.
    platform::FreeAligned(data_);
    data_ = static_cast<unsigned char*>(larger);
    size_ = bytes;
    std::memset(data_, 0, static_cast<size_t>(bytes + kReadableTail));
    return OkStatus();
  }
  unsigned char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace skiff
