#include "core/keyed_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/platform.h"

namespace skiff {
namespace {

constexpr HashKey kKey = {{1, 2}};

TEST(KeyedHash, EveryBitAndTheLengthMatter) {
  for (const size_t size : {0, 1, 7, 8, 1023, 1024, 1025, 3000}) {
    std::vector<uint8_t> bytes(size, 0);
    std::set<uint64_t> seen = {KeyedHash(kKey, {bytes.data(), size})};
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = static_cast<uint8_t>(1 << bit % 8);
      seen.insert(KeyedHash(kKey, {bytes.data(), size}));
      bytes[bit / 8] = 0;
    }
    bytes.push_back(0);
    seen.insert(KeyedHash(kKey, {bytes.data(), size + 1}));
    EXPECT_EQ(seen.size(), 8 * size + 2);
  }
}

/// What collides under one key does not under another: nothing can be prepared for all of them.
TEST(KeyedHash, DependsOnBothWordsOfTheKey) {
  const std::vector<uint8_t> bytes(5000, 3);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    seen.insert(KeyedHash({{i, 1000}}, {bytes.data(), bytes.size()}));
    seen.insert(KeyedHash({{1000, i}}, {bytes.data(), bytes.size()}));
  }
  EXPECT_EQ(seen.size(), 200u);
}

/// Stripes that trade places, and words that trade places within one.
TEST(KeyedHash, TheOrderMatters) {
  std::vector<uint8_t> bytes(4096);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  const uint64_t straight = KeyedHash(kKey, {bytes.data(), bytes.size()});
  for (const size_t part : {4, 8, 16, 1024}) {
    std::vector<uint8_t> swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + static_cast<long>(part),
                     swapped.begin() + static_cast<long>(part));
    EXPECT_NE(KeyedHash(kKey, {swapped.data(), swapped.size()}), straight) << part;
  }
}

TEST(FillRandom, GivesOthersEachTime) {
  uint64_t words[2][4] = {};
  for (auto& four : words)
    ASSERT_TRUE(platform::FillRandom({reinterpret_cast<uint8_t*>(four), sizeof(four)}).ok());
  const std::set<uint64_t> seen(&words[0][0], &words[0][0] + 8);
  EXPECT_EQ(seen.size(), 8u);
}

}  // namespace
}  // namespace skiff
