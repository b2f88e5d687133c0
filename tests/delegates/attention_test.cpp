// Attention that runs a block of rows at a time: the same bits as one node after the other, with shapes,
// masks and transpositions of all kinds, and wherever the tensors lie.
#include <gtest/gtest.h>

#include <random>

#include "chain.h"

namespace skiff::testing {
namespace {

using AttentionTest = ChainTest;

/// As encoders of text have it, all from [batch, tokens, heads, size].
struct Heads {
  explicit Heads(int64_t tokens = 70, int64_t keys_of = 70, int64_t heads = 3, int64_t size = 20) : chain(1) {
    memory = chain.Input({2, tokens, heads, 3 * size});
    query = chain.Input({2, tokens, heads, size});
    key = chain.Input({2, keys_of, heads, size});
    value = chain.Input({2, keys_of, heads, size});
    factor = chain.Input({1});
    mask = chain.Input({2, 1, 1, keys_of});
    queries = chain.Transpose(query, {0, 2, 1, 3});
    keys = chain.Transpose(key, {0, 2, 3, 1});
    values = chain.Transpose(value, {0, 2, 1, 3});
    scores = chain.Product(queries, keys);
    masked = chain.Sum(chain.Binary(OpCode::kMul, scores, factor), mask);
    sums = chain.Product(chain.Softmax(masked), values);
    result = chain.Transpose(sums, {0, 2, 1, 3});
  }
  Chain chain;
  int32_t memory;  ///< Of nobody.
  int32_t query, key, value, factor, mask, queries, keys, values, scores, masked, sums, result;
};
const Flags kTogether = {false, false, false, true, false, false, false, false, false};
const Flags kApart(9, true);
/// Few rows would add up in another order what transposed keys say.
const Flags kFewTogether = {true, true, false, true, false, false, false, false, false};

TEST_F(AttentionTest, RunsNodesTogether) {
  for (const int64_t tokens : {1, 2, 5, 6, 70, 200}) {
    SCOPED_TRACE(tokens);
    Heads net(tokens, /*keys_of=*/130);
    const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
    Flags alone;
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(net.chain.Run(*NewSession(threads), net.chain.nodes(), {}, &alone), one_by_one);
      ExpectAlone(alone, tokens < 6 ? kFewTogether : kTogether);
    }
  }
}

TEST_F(AttentionTest, LeavesWhatOthersRead) {
  Heads net;
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
  Flags alone;
  EXPECT_EQ(net.chain.Run(*NewSession(1, /*keep_intermediates=*/true), 9, {}, &alone), one_by_one);
  ExpectAlone(alone, kApart);
  EXPECT_EQ(net.chain.Run(*NewSession(1), 9, {&net.scores, 1}, &alone), one_by_one);
  ExpectAlone(alone, kApart);
  // A transposition that others read runs by itself, where it is not between those that are left out.
  EXPECT_EQ(net.chain.Run(*NewSession(1), 9, {&net.queries, 1}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false, true, false, false, false, false, false});
  EXPECT_EQ(net.chain.Run(*NewSession(1), 9, {&net.sums, 1}, &alone), one_by_one);
  ExpectAlone(alone, {false, false, false, true, false, false, false, false, true});
}

/// It takes more memory than its nodes one by one, and is not worth a failure.
TEST_F(AttentionTest, LeavesWhatIsAboveTheMemoryLimit) {
  Heads net(200, 300, 8, 64);
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1, /*keep_intermediates=*/true), 9);
  const uint64_t apart = net.chain.workspace_bytes();
  Flags alone;
  EXPECT_EQ(net.chain.Run(*NewSession(1, false, false, 2 * apart), 9, {}, &alone), one_by_one);
  ExpectAlone(alone, kApart);
  EXPECT_EQ(net.chain.Run(*NewSession(1, false, false, 5 * apart), 9, {}, &alone), one_by_one);
  ExpectAlone(alone, kTogether);
}

/// The result may lie over all that has been packed, and over queries: the same rows, or others.
TEST_F(AttentionTest, WritesOverWhatItReads) {
  const std::vector<float> one_by_one = Heads().chain.Run(*NewSession(1), 1);
  const Heads names;
  for (const int threads : {1, 2}) {
    for (const int32_t over : {names.query, names.key, names.value}) {
      for (const int64_t behind : {0, 16, 1600}) {
        SCOPED_TRACE(::testing::Message() << over << " + " << behind);
        Heads net;
        net.chain.Place(over, net.memory);
        net.chain.Place(net.result, net.memory, behind);
        Flags alone;
        EXPECT_EQ(net.chain.Run(*NewSession(threads), 9, {}, &alone), one_by_one);
        ExpectAlone(alone, kTogether);
      }
    }
    // A mask is read for every row.
    Heads net;
    net.chain.Place(net.mask, net.result, 48);
    Flags alone;
    EXPECT_EQ(net.chain.Run(*NewSession(threads), 9, {}, &alone), one_by_one);
    ExpectAlone(alone, kApart);
  }
}

/// What is not packed is read until the last row is there.
TEST_F(AttentionTest, LeavesWhatWouldWriteOverKeysOfFewRows) {
  const std::vector<float> one_by_one = Heads(2).chain.Run(*NewSession(1), 1);
  const Heads names(2);
  for (const int32_t over : {names.query, names.keys, names.value}) {
    SCOPED_TRACE(over);
    Heads net(2);
    net.chain.Place(net.result, over);
    Flags alone;
    EXPECT_EQ(net.chain.Run(*NewSession(1), 9, {}, &alone), one_by_one);
    ExpectAlone(alone, over == net.query ? kFewTogether : kApart);
  }
}

/// What follows may lie over queries, too, and with it (-1) the sums.
TEST_F(AttentionTest, FollowersWriteOverWhatItReads) {
  struct Net {
    Net() : chain(2) {
      memory = chain.Input({5, 70, 24});
      query = chain.Input({4, 70, 24});
      const int32_t key = chain.Input({4, 50, 24});
      sums = chain.Product(chain.Softmax(chain.Product(query, key, true)), chain.Input({4, 50, 24}));
      result = chain.Silu(sums);
    }
    Chain chain;
    int32_t memory, query, sums, result;
  };
  constexpr int64_t kRow = 24;
  const std::vector<float> one_by_one = Net().chain.Run(*NewSession(1), 1);
  for (const int threads : {1, 2}) {
    for (const int64_t behind : {int64_t{-1}, int64_t{0}, kRow, 70 * kRow}) {
      SCOPED_TRACE(behind);
      Net net;
      net.chain.Place(net.query, net.memory);
      if (behind < 0) net.chain.Place(net.sums, net.memory);
      net.chain.Place(net.result, net.memory, std::max<int64_t>(behind, 0));
      Flags alone;
      EXPECT_EQ(net.chain.Run(*NewSession(threads), 4, {}, &alone), one_by_one);
      ExpectAlone(alone, {true, false, false, false});
    }
  }
}

/// Batches that repeat, operands that are transposed or not, and what may lie between the products.
TEST_F(AttentionTest, DrawnNets) {
  constexpr uint32_t kDraws = 150;
  size_t together = 0;
  for (uint32_t seed = 0; seed < kDraws; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto between = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    Chain chain(seed);
    const int64_t batch = between(1, 3), heads = between(1, 4), size = between(1, 40);
    const int64_t tokens = between(0, 2) == 0 ? between(1, 5) : between(6, 150);
    const int64_t keys = between(1, 150), of_value = between(1, 70);
    // [batch, heads, rows, columns], or what becomes that when it is transposed.
    const auto operand = [&](int64_t rows, int64_t columns, bool may_repeat) {
      const int64_t b = may_repeat && between(0, 3) == 0 ? 1 : batch;
      const int64_t h = may_repeat && between(0, 3) == 0 ? 1 : heads;
      const int64_t kind = between(0, 3);
      if (kind == 0) return chain.Transpose(chain.Input({b, rows, h, columns}), {0, 2, 1, 3});
      if (kind == 1) return chain.Transpose(chain.Input({rows, b, h, columns}), {1, 2, 0, 3});
      if (kind == 2) return chain.Transpose(chain.Input({b, columns, h, rows}), {0, 2, 3, 1});
      return chain.Input({b, h, rows, columns});
    };
    const bool by_rows = between(0, 1) == 0;
    const int32_t query = operand(tokens, size, true);
    const int32_t key = by_rows ? operand(keys, size, true) : operand(size, keys, true);
    const bool values_by_rows = between(0, 1) == 0;
    const int32_t value = values_by_rows ? operand(of_value, keys, true) : operand(keys, of_value, true);
    int32_t at = chain.Product(query, key, by_rows);
    const Shape scores = chain.shape(at);
    for (int64_t left = between(0, 4); left > 0; --left) {
      switch (between(0, 6)) {
        case 0:
          at = chain.Softmax(at);
          break;
        case 1:
          at = chain.Silu(at);
          break;
        case 2:
          at = chain.Binary(OpCode::kMul, at, chain.Input({1}));
          break;
        case 3:
          at = chain.Sum(at, chain.Input({scores[0], 1, 1, keys}));
          break;
        case 4:
          at = chain.Sum(at, chain.Input({1, scores[1], tokens, keys}));
          break;
        case 5:
          at = chain.Binary(OpCode::kMul, at, chain.Input({1, 1, tokens, 1}));
          break;
        default:
          at = chain.Reshape(at, {1, scores[0], scores[1], tokens, keys});
          at = chain.Reshape(chain.Sum(at, chain.Input({scores[1], tokens, keys})), scores);
      }
    }
    at = chain.Product(at, value, values_by_rows);
    // Rows that stay rows, or whose elements move apart.
    static const Ints kOfResult[] = {{}, {0, 2, 1, 3}, {2, 0, 1, 3}, {0, 2, 3, 1}, {0, 1, 3, 2}};
    const Ints& of_result = kOfResult[between(0, 4)];
    if (of_result.size != 0) at = chain.Transpose(at, of_result);
    if (between(0, 1) == 0) at = chain.Silu(at);
    const std::vector<float> one_by_one = chain.Run(*NewSession(1), 1);
    Flags alone;
    EXPECT_EQ(chain.Run(*NewSession(1), chain.nodes(), {}, &alone), one_by_one);
    together += static_cast<size_t>(std::count(alone.begin(), alone.end(), true)) == 1 ? 1 : 0;
    EXPECT_EQ(chain.Run(*NewSession(static_cast<int>(between(2, 3))), chain.nodes()), one_by_one);
  }
  EXPECT_GE(together, HasDenseKernels() ? kDraws / 4 : 0);
}

}  // namespace
}  // namespace skiff::testing
