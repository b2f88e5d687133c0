#include "delegates/xnnpack/weights/blob_memory.h"

#include <algorithm>
#include <new>

#include "core/align.h"
#include "core/platform.h"

namespace skiff::xnnpack {
namespace {

/// Taken at a time. Pages that no blob touches are only addresses.
constexpr uint64_t kMostBlock = 16 * platform::kHugePage;

size_t Aligned(size_t bytes) { return static_cast<size_t>(AlignUp(bytes)); }

}  // namespace

BlobMemory::~BlobMemory() {
  while (blocks_ != nullptr) {
    Block* const block = blocks_;
    blocks_ = block->next;
    platform::FreeAligned(block);
  }
}

bool BlobMemory::AddBlock(size_t wanted) {
  const uint64_t bytes = std::min(expected_ / platform::kHugePage * platform::kHugePage, kMostBlock);
  if (bytes < Aligned(sizeof(Block)) + wanted) return false;
  void* const memory = platform::AllocateAligned(bytes);
  if (memory == nullptr) return false;
  Block* const block = new (memory) Block;
  block->bytes = static_cast<size_t>(bytes);
  block->used = Aligned(sizeof(Block));
  block->next = blocks_;
  blocks_ = block;
  expected_ -= bytes;
  return true;
}

void BlobMemory::ExpectLess(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  expected_ -= std::min(expected_, bytes);
}

void* BlobMemory::Allocate(size_t bytes) {
  if (kShares && bytes < kMostBlock) {
    const std::lock_guard lock(mutex_);
    const size_t wanted = Aligned(bytes);
    const bool fits = blocks_ != nullptr && blocks_->bytes - blocks_->used >= wanted;
    if (fits || AddBlock(wanted)) {
      blocks_->last = blocks_->used;
      blocks_->used += wanted;
      return reinterpret_cast<char*>(blocks_) + blocks_->last;
    }
  }
  return platform::AllocateAligned(bytes);
}

void BlobMemory::Free(void* blob) {
  {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<uintptr_t>(blob);
    for (Block* block = blocks_; block != nullptr; block = block->next) {
      const auto begin = reinterpret_cast<uintptr_t>(block);
      if (address < begin || address - begin >= block->bytes) continue;
      if (address - begin == block->last) block->used = block->last;
      return;
    }
  }
  platform::FreeAligned(blob);
}

}  // namespace skiff::xnnpack
