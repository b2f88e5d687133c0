#include "plan/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace skiff {
namespace {

uint64_t Plan(const std::vector<BufferLifetime>& buffers, std::vector<uint64_t>& offsets) {
  offsets.assign(buffers.size(), 0);
  MemoryPlanner planner;
  EXPECT_TRUE(planner.Init({buffers.data(), buffers.size()}).ok());
  return planner.Plan({buffers.data(), buffers.size()}, 0, {offsets.data(), offsets.size()});
}

uint64_t LowerBound(const std::vector<BufferLifetime>& buffers) {
  MemoryPlanner planner;
  EXPECT_TRUE(planner.Init({buffers.data(), buffers.size()}).ok());
  return planner.LowerBound({buffers.data(), buffers.size()});
}

std::vector<BufferLifetime> RandomBuffers(std::mt19937& random) {
  std::vector<BufferLifetime> buffers(40);
  for (BufferLifetime& buffer : buffers) {
    buffer.bytes = random() % 5000;
    buffer.first = static_cast<int32_t>(random() % 30);
    buffer.last = buffer.first + static_cast<int32_t>(random() % 6);
  }
  return buffers;
}

void ExpectDisjoint(const std::vector<BufferLifetime>& buffers, const std::vector<uint64_t>& offsets,
                    uint64_t arena) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(offsets[i] % 64, 0u);
    EXPECT_LE(offsets[i] + buffers[i].bytes, arena);
    for (size_t j = 0; j < i; ++j) {
      const bool live_together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool overlap =
          offsets[i] < offsets[j] + buffers[j].bytes && offsets[j] < offsets[i] + buffers[i].bytes;
      EXPECT_FALSE(live_together && overlap) << i << " and " << j;
    }
  }
}

TEST(MemoryPlanner, AChainNeedsTwoBuffers) {
  std::vector<BufferLifetime> chain;
  for (int32_t i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1});
  std::vector<uint64_t> offsets;
  const uint64_t arena = Plan(chain, offsets);
  ExpectDisjoint(chain, offsets, arena);
  EXPECT_EQ(arena, 2 * 1024u);
  EXPECT_EQ(LowerBound(chain), 2 * 1024u);
}

TEST(MemoryPlanner, SumsThatDoNotFitAreNoArena) {
  std::vector<uint64_t> offsets;
  for (const uint64_t bytes : {uint64_t{1} << 61, uint64_t{1} << 63, UINT64_MAX}) {
    const std::vector<BufferLifetime> together(9, {bytes, 0, 1});
    EXPECT_EQ(Plan(together, offsets), UINT64_MAX);
    EXPECT_EQ(offsets, std::vector<uint64_t>(9, 0));
  }
  EXPECT_EQ(Plan({{uint64_t{1} << 61, 0, 1}, {64, 2, 2}}, offsets), uint64_t{1} << 61);
}

TEST(MemoryPlanner, LargeBuffersOfWholePagesDoNotAliasInTheCache) {
  const std::vector<BufferLifetime> pair{{1 << 20, 0, 1}, {1 << 20, 1, 2}};
  std::vector<uint64_t> offsets;
  Plan(pair, offsets);
  EXPECT_NE(offsets[0] % 4096, offsets[1] % 4096);
}

TEST(MemoryPlanner, EmptyBuffersTakeNoRoom) {
  const std::vector<BufferLifetime> buffers{{0, 0, 9}, {64, 0, 9}};
  std::vector<uint64_t> offsets;
  EXPECT_EQ(Plan(buffers, offsets), 64u);
}

TEST(MemoryPlanner, RandomLifetimesAreDisjoint) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const std::vector<BufferLifetime> buffers = RandomBuffers(random);
    std::vector<uint64_t> offsets;
    const uint64_t arena = Plan(buffers, offsets);
    ExpectDisjoint(buffers, offsets, arena);
    EXPECT_GE(arena + 64, LowerBound(buffers));
  }
}

TEST(MemoryPlanner, TheLowerBoundIsTheFullestNode) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const std::vector<BufferLifetime> buffers = RandomBuffers(random);
    uint64_t fullest = 0;
    for (int32_t node = 0; node < 40; ++node) {
      uint64_t live = 0;
      for (const BufferLifetime& buffer : buffers)
        live += buffer.first <= node && node <= buffer.last ? (buffer.bytes + 63) / 64 * 64 : 0;
      fullest = std::max(fullest, live);
    }
    EXPECT_EQ(LowerBound(buffers), fullest);
  }
}

TEST(MemoryPlanner, BuffersThatAreNeverLiveAreNoWork) {
  std::vector<BufferLifetime> buffers(100'000, {64, INT32_MAX, 0});
  buffers[7] = {1000, 0, 1};
  buffers[8] = {1000, 1, 2};
  std::vector<uint64_t> offsets;
  EXPECT_EQ(Plan(buffers, offsets), 2 * 1024u);
}

TEST(MemoryPlanner, MorePairsThanAnyModelHasShareNothing) {
  constexpr size_t kBuffers = 3000;
  static_assert(kBuffers * (kBuffers - 1) > MemoryPlanner::kMostPairs);
  const std::vector<BufferLifetime> buffers(kBuffers, {100, 0, 5});
  std::vector<uint64_t> offsets;
  const uint64_t arena = Plan(buffers, offsets);
  EXPECT_EQ(arena, kBuffers * 128);
  ExpectDisjoint(buffers, offsets, arena);
  EXPECT_EQ(LowerBound(buffers), kBuffers * 128);
}

/// A plan may have thousands of bodies.
TEST(MemoryPlanner, PlannersShareTheirPairs) {
  std::vector<BufferLifetime> buffers(100, {100, 0, 1});
  for (size_t i = 50; i < buffers.size(); ++i) buffers[i] = {100, 2, 3};
  constexpr size_t kPairs = 2 * 50 * 49;
  size_t pairs = 2 * kPairs + 1;
  const auto arena = [&] {
    MemoryPlanner planner;
    EXPECT_TRUE(planner.Init({buffers.data(), buffers.size()}, &pairs).ok());
    std::vector<uint64_t> offsets(buffers.size());
    return planner.Plan({buffers.data(), buffers.size()}, 0.05, {offsets.data(), offsets.size()});
  };
  EXPECT_EQ(arena(), 50 * 128u);
  EXPECT_EQ(arena(), 50 * 128u);
  EXPECT_EQ(pairs, 1u);
  EXPECT_EQ(arena(), 100 * 128u);
  EXPECT_EQ(pairs, 0u);
}

TEST(MemoryPlanner, OtherSizesOfTheSameLifetimesAreWithinTheSlackOrAsGoodAsCanBe) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<BufferLifetime> buffers = RandomBuffers(random);
    MemoryPlanner planner;
    ASSERT_TRUE(planner.Init({buffers.data(), buffers.size()}).ok());
    for (int shape = 0; shape < 10; ++shape) {
      for (BufferLifetime& buffer : buffers) buffer.bytes = random() % 5000;
      std::vector<uint64_t> offsets(buffers.size());
      const uint64_t arena =
          planner.Plan({buffers.data(), buffers.size()}, 0.05, {offsets.data(), offsets.size()});
      ExpectDisjoint(buffers, offsets, arena);
      std::vector<uint64_t> best;
      const double bound = static_cast<double>(planner.LowerBound({buffers.data(), buffers.size()}));
      EXPECT_LE(static_cast<double>(arena),
                std::max(bound * 1.05 + 1, static_cast<double>(Plan(buffers, best))));
    }
  }
}

}  // namespace
}  // namespace skiff
