#include "core/extents.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/fixed_array.h"
#include "core/platform.h"

namespace skiff {
namespace {

TEST(Extents, OfNoTensor) {
  const int64_t kHuge = int64_t{1} << 62;
  EXPECT_EQ(WhyNoTensor(DType::kF32, Shape{}), nullptr);
  EXPECT_EQ(WhyNoTensor(DType::kF32, Shape{2, 0, 3}), nullptr);
  EXPECT_EQ(WhyNoTensor(DType::kU8, Shape{kMaxTensorBytes}), nullptr);
  EXPECT_STREQ(WhyNoTensor(DType::kF16, Shape{kMaxTensorBytes}), "has more than 2^46 bytes");
  EXPECT_STREQ(WhyNoTensor(DType::kF32, Shape{kHuge, 4}), "has more than 2^46 bytes");
  EXPECT_STREQ(WhyNoTensor(DType::kF32, Shape{0, kHuge, kHuge}),
               "has no elements, but extents that are too large");
  EXPECT_STREQ(WhyNoTensor(DType::kF32, Shape{4, -1}), "has a negative extent");
  EXPECT_STREQ(WhyNoTensor(DType::kU8, Shape{0, kMaxEmptyVolume + 1}),
               "has no elements, but extents that are too large");
}

TEST(Extents, OpenOnesAreNoNumbers) {
  EXPECT_STREQ(ShapeText(Shape{}).c_str(), "[]");
  EXPECT_STREQ(ShapeText(Shape{-1, 3}).c_str(), "[?, 3]");
  EXPECT_STREQ(ShapeText(Shape{2, -1, -7}).c_str(), "[2, ?, -7]");
}

TEST(Extents, SumsAndProductsSaturate) {
  EXPECT_EQ(SaturatingAdd(3, 4), 7u);
  EXPECT_EQ(SaturatingAdd(UINT64_MAX - 1, 2), UINT64_MAX);
  EXPECT_EQ(SaturatingMultiply(3, 4), 12u);
  EXPECT_EQ(SaturatingMultiply(uint64_t{1} << 32, uint64_t{1} << 32), UINT64_MAX);
}

TEST(Extents, MuchMemoryBeginsWhereAHugePageCan) {
  constexpr uint64_t kHugePage = uint64_t{2} << 20;
  // 32 bits of addresses are too few for such alignment.
  constexpr uint64_t kWanted = UINTPTR_MAX > UINT32_MAX ? kHugePage : 64;
  void* const memory = platform::AllocateAligned(kHugePage + 64);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kWanted, 0u);
  std::memset(memory, 1, kHugePage + 64);
  platform::FreeAligned(memory);
}

/// On 32 bits, too, where these numbers would otherwise lose their upper half.
TEST(Extents, NobodyAllocatesLessThanWasAskedFor) {
  const uint64_t kWrapsAt32Bits = (uint64_t{1} << 32) + 64;
  for (const uint64_t bytes : {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 63}) {
    EXPECT_FALSE(IsAddressable(bytes));
    EXPECT_EQ(platform::AllocateAligned(bytes), nullptr);
    FixedArray<char> array;
    EXPECT_EQ(array.Allocate(bytes).code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(array.size(), 0u);
  }
  EXPECT_EQ(IsAddressable(kWrapsAt32Bits), sizeof(size_t) > 4);
  if (sizeof(size_t) > 4) return;
  EXPECT_EQ(platform::AllocateAligned(kWrapsAt32Bits), nullptr);
  FixedArray<int64_t> array;
  EXPECT_EQ(array.Allocate((uint64_t{1} << 29) + 1).code(), StatusCode::kOutOfMemory);
}

}  // namespace
}  // namespace skiff
