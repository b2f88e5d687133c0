// Nodes that run over some lines of a picture before the next ones are begun: the same bits as one node after
// the other, with windows, pads and sizes of all kinds, and wherever the tensors lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "chain.h"

namespace skiff::testing {
namespace {

using StripTest = ChainTest;

/// As in MobileNetV2: 1 x 1, 3 x 3, 1 x 1, and the input added again.
struct Bottleneck {
  explicit Bottleneck(int64_t extent = 56) : chain(1) {
    x = chain.Input({1, extent, extent, 24});
    wide = chain.Silu(chain.Convolution(x, 144, {}));
    deep = chain.Depthwise(wide, {3, 1, 1});
    narrow = chain.Convolution(deep, 24, {});
    sum = chain.Sum(narrow, x);
  }
  Chain chain;
  int32_t x, wide, deep, narrow, sum;
};

TEST_F(StripTest, RunsNodesTogether) {
  Bottleneck net;
  const auto session = NewSession(1);
  const std::vector<float> one_by_one = net.chain.Run(*session, 1);
  Flags alone;
  EXPECT_EQ(net.chain.Run(*session, net.chain.nodes(), {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false, false, false});
}

TEST_F(StripTest, SharesWorkAmongThreads) {
  Bottleneck net;
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
  for (const int threads : {2, 3, 4}) EXPECT_EQ(net.chain.Run(*NewSession(threads), 5), one_by_one);
}

/// As the memory planner likes to place what comes last.
TEST_F(StripTest, WritesOverItsInput) {
  constexpr int64_t kLines = 24 * 56;
  const Bottleneck names;
  const struct {
    int32_t narrow;
    int64_t narrow_behind;
    int32_t sum;
    int64_t sum_behind;
  } kPlaces[] = {
      {names.wide, 0, names.wide, 0},
      {names.wide, 0, names.x, 0},
      {names.wide, 5 * kLines, names.wide, 5 * kLines},
      {names.wide, 250 * kLines, names.x, 0},
  };
  for (const int threads : {1, 2}) {
    const auto session = NewSession(threads);
    Bottleneck apart;
    const std::vector<float> one_by_one = apart.chain.Run(*session, 1);
    for (const auto& places : kPlaces) {
      SCOPED_TRACE(&places - kPlaces);
      Bottleneck net;
      net.chain.Place(net.narrow, places.narrow, places.narrow_behind);
      net.chain.Place(net.sum, places.sum, places.sum_behind);
      Flags alone;
      EXPECT_EQ(net.chain.Run(*session, 5, {}, &alone), one_by_one);
      ExpectAlone(alone, {true, false, false, false, false});
    }
  }
}

/// The only result with room for a copy of the input lies over a part of it, because only the first node
/// reads it.
TEST_F(StripTest, CopiesItsInputElsewhereOrNotAtAll) {
  constexpr int64_t kPixels = int64_t{56} * 56;
  struct Net {
    Net() : chain(3) {
      memory = chain.Input({1, 56, 56, 320});
      x = chain.Input({1, 56, 56, 200});
      wide = chain.Convolution(chain.Convolution(x, 120, {}), 240, {});
      narrow = chain.Convolution(wide, 24, {});
    }
    Chain chain;
    int32_t memory, x, wide, narrow;
  };
  for (const int threads : {1, 2}) {
    const auto session = NewSession(threads);
    Net apart;
    const std::vector<float> one_by_one = apart.chain.Run(*session, 1);
    for (const int64_t behind : {24 * kPixels, 24 * kPixels + 16, 80 * kPixels}) {
      SCOPED_TRACE(behind);
      Net net;
      net.chain.Place(net.x, net.memory);
      net.chain.Place(net.wide, net.memory, behind);
      net.chain.Place(net.narrow, net.memory);
      EXPECT_EQ(net.chain.Run(*session, net.chain.nodes()), one_by_one);
    }
  }
}

TEST_F(StripTest, LeavesWhatOthersRead) {
  Bottleneck net;
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
  const Flags all_alone = {true, false, true, true, false};
  Flags alone;
  EXPECT_EQ(net.chain.Run(*NewSession(1, /*keep_intermediates=*/true), 5, {}, &alone), one_by_one);
  ExpectAlone(alone, all_alone);
  const int32_t read[] = {net.wide, net.deep};
  EXPECT_EQ(net.chain.Run(*NewSession(1), 5, {read, 2}, &alone), one_by_one);
  ExpectAlone(alone, all_alone);
}

/// What fits into the cache is not worth it.
TEST_F(StripTest, LeavesSmallPictures) {
  Bottleneck net(20);
  Flags alone;
  net.chain.Run(*NewSession(1), 5, {}, &alone);
  ExpectAlone(alone, {true, false, true, true, false});
}

TEST_F(StripTest, RunsRowsOfAnyRank) {
  Chain chain(2);
  chain.Dense(chain.Silu(chain.Dense(chain.Input({5, 300, 48}), 192)), 48);
  const std::vector<float> one_by_one = chain.Run(*NewSession(1), 1);
  Flags alone;
  EXPECT_EQ(chain.Run(*NewSession(1), 3, {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false});
  EXPECT_EQ(chain.Run(*NewSession(2), 3), one_by_one);
}

/// Elementwise nodes take subnormal numbers for zero; products that have none behind them do not. Exact ones:
/// Strassen's way has no lines.
TEST_F(StripTest, KeepsSubnormalNumbers) {
  Chain chain(4);
  const int32_t x = chain.Input({5, 300, 48});
  const int32_t small = chain.Dense(x, 192);
  const int32_t large = chain.Dense(small, 192);
  chain.Silu(chain.Dense(large, 48));
  chain.Scale(x, 1e-39f);
  chain.Scale(chain.WeightsOf(large), 1e38f);
  const int32_t read[] = {small, large};
  Flags alone;
  const std::vector<float> one_by_one = chain.Run(*NewSession(1, false, true), 4, {read, 2}, &alone);
  ExpectAlone(alone, {true, true, true, false});
  // Elsewhere products are XNNPACK's, which may flush.
  if (HasDenseKernels()) {
    EXPECT_NE(*std::max_element(one_by_one.begin(), one_by_one.end()), 0);
  }
  for (const int threads : {1, 2})
    EXPECT_EQ(chain.Run(*NewSession(threads, false, true), 4, {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false, false});
}

/// A stem and what is behind it, of pictures and windows that are drawn.
TEST_F(StripTest, DrawnChains) {
  constexpr uint32_t kDraws = 80;
  size_t links = 0;  // Which are no followers, and ran with the node before.
  for (uint32_t seed = 0; seed < kDraws; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto between = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const auto windows = [&](int64_t largest) {
      const int64_t size = 3 + 2 * between(0, (largest - 3) / 2);
      return Windows{size, between(1, 2), between(0, 3) == 0 ? between(0, size + 3) : size / 2};
    };
    Chain chain(seed);
    const int64_t pictures = between(1, 3);
    int32_t at =
        chain.Input({pictures, between(9, 70), between(60, 200), between(0, 2) == 0 ? 3 : between(16, 40)});
    if (chain.shape(at)[3] == 3 || between(0, 3) == 0) at = chain.Convolution(at, between(16, 48), {3, 2, 1});
    for (int64_t left = between(2, 5); left > 0; --left) {
      const int64_t kind = between(0, 5);
      if (chain.shape(at)[1] < 9 || chain.shape(at)[2] < 9) break;
      if (kind < 2) at = chain.Convolution(at, between(2, 4) * 32 + between(0, 9), {});
      const int64_t extent = std::min(chain.shape(at)[1], chain.shape(at)[2]);
      if (kind == 2) at = chain.Depthwise(at, windows(std::min<int64_t>(extent, 11)));
      if (kind == 3) at = chain.MaxPool(at, {3, 2, between(0, 1)});
      if (kind == 4) at = chain.Convolution(chain.Convolution(at, 64, {}), 64, {3, between(1, 2), 1}, 8);
      if (kind == 5) at = chain.Silu(at);
    }
    const std::vector<float> one_by_one = chain.Run(*NewSession(1), 1);
    const int32_t input = 0;
    if (between(0, 1) == 0) {
      chain.PlaceOverDeadOnes(input);
    } else if (chain.nodes() > 1 && chain.shape(at).elements() <= chain.shape(input).elements()) {
      chain.Place(at, input);
    }
    Flags alone;
    EXPECT_EQ(chain.Run(*NewSession(1), chain.nodes(), {}, &alone), one_by_one);
    for (size_t i = 0; i < alone.size(); ++i) links += !alone[i] && !chain.IsElementwise(i) ? 1 : 0;
    EXPECT_EQ(chain.Run(*NewSession(static_cast<int>(between(2, 3))), chain.nodes()), one_by_one);
  }
  EXPECT_GE(links, HasDenseKernels() ? kDraws / 3 : 0);
}

}  // namespace
}  // namespace skiff::testing
