#include "delegates/xnnpack/weights/blob_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/platform.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kBlob = 300 * 1000 + 7;

/// Whatever lies where, each has its bytes for itself.
TEST(BlobMemory, BlobsDoNotOverlap) {
  const auto bytes_of = [](int i) { return i % 8 == 7 ? 10 * kBlob : kBlob; };
  for (const uint64_t expected : {uint64_t{0}, uint64_t{1} << 20, uint64_t{4} << 20, uint64_t{1} << 40}) {
    BlobMemory memory(expected);
    std::vector<unsigned char*> blobs;
    for (int i = 0; i < 40; ++i) {
      blobs.push_back(static_cast<unsigned char*>(memory.Allocate(bytes_of(i))));
      ASSERT_NE(blobs.back(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blobs.back()) % 64, 0u);
      std::memset(blobs.back(), i, bytes_of(i));
    }
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(blobs[static_cast<size_t>(i)][0], i);
      EXPECT_EQ(blobs[static_cast<size_t>(i)][bytes_of(i) - 1], i);
    }
    for (unsigned char* const blob : blobs) memory.Free(blob);
  }
}

TEST(BlobMemory, AsMuchIsSharedAsIsExpected) {
  if (!BlobMemory::kShares)
    GTEST_SKIP() << "blobs have pages of their own in builds for 32 bits or with AddressSanitizer";
  BlobMemory memory(2 * platform::kHugePage);
  memory.ExpectLess(platform::kHugePage);
  const auto* const first = static_cast<const char*>(memory.Allocate(kBlob));
  size_t inside = 1;
  std::vector<void*> others;
  for (int i = 0; i < 20; ++i) {
    void* const blob = memory.Allocate(kBlob);
    const auto distance = static_cast<const char*>(blob) - first;
    if (distance > 0 && distance < static_cast<ptrdiff_t>(platform::kHugePage)) {
      ++inside;
    } else {
      others.push_back(blob);
    }
  }
  EXPECT_EQ(inside, platform::kHugePage / kBlob);
  for (void* const blob : others) memory.Free(blob);
}

TEST(BlobMemory, OnlyTheLatestGivesItsPlaceBack) {
  if (!BlobMemory::kShares)
    GTEST_SKIP() << "blobs have pages of their own in builds for 32 bits or with AddressSanitizer";
  BlobMemory memory(platform::kHugePage);
  void* const first = memory.Allocate(kBlob);
  memory.Free(first);
  EXPECT_EQ(memory.Allocate(kBlob), first);
  void* const second = memory.Allocate(kBlob);
  memory.Free(first);
  EXPECT_NE(memory.Allocate(64), first);
  EXPECT_NE(second, first);
}

TEST(BlobMemory, FreesWhatLiesElsewhere) {
  BlobMemory memory(uint64_t{1} << 40);
  memory.Free(platform::AllocateAligned(64));
  memory.Free(nullptr);
}

}  // namespace
}  // namespace skiff::xnnpack
