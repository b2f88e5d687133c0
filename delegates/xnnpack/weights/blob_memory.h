/// Memory for packed weights. Kernels stream these from memory, faster where they lie in huge pages; most
/// nets have many weights and no blob as large as such a page, so blobs share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

// Where the bounds of each blob are watched.
#if defined(__SANITIZE_ADDRESS__)
#define SKIFF_WATCHES_BOUNDS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SKIFF_WATCHES_BOUNDS
#endif
#endif

namespace skiff::xnnpack {

/// Thread-safe.
class BlobMemory {
 public:
  /// Not where blobs shall be apart, nor where addresses are few.
#if defined(SKIFF_WATCHES_BOUNDS)
  static constexpr bool kShares = false;
#else
  static constexpr bool kShares = sizeof(void*) > 4;
#endif

  /// Bytes that blobs will have in all, by and large: no more is taken for those that share pages. What comes
  /// beyond has pages of its own.
  explicit BlobMemory(uint64_t expected) : expected_(expected) {}
  ~BlobMemory();
  BlobMemory(const BlobMemory&) = delete;
  BlobMemory& operator=(const BlobMemory&) = delete;

  /// So many of the expected bytes lie elsewhere.
  void ExpectLess(uint64_t bytes);
  /// Aligned to 64 bytes. Null when memory ran out.
  void* Allocate(size_t bytes);
  /// Also what platform::AllocateAligned() gave. Null is accepted. What lies in shared pages stays taken
  /// unless nothing was allocated since.
  void Free(void* blob);

 private:
  /// Its memory begins with itself.
  struct Block {
    Block* next = nullptr;
    size_t bytes = 0;
    size_t used = 0;
    size_t last = 0;  ///< Where the latest blob begins.
  };
  /// That has room for `wanted` bytes; else false.
  bool AddBlock(size_t wanted);

  uint64_t expected_;
  std::mutex mutex_;
  Block* blocks_ = nullptr;  ///< The newest first.
};

}  // namespace skiff::xnnpack
