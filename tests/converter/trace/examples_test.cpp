// The worked examples of samples/eager_and_graph: results and trace counts. The small ones are in
// control_test and function_test.
#include <gmock/gmock.h>

#include <random>

#include "samples/eager_and_graph/workloads.h"
#include "trace/function.h"

namespace skiff::eager {
namespace {

using OneToOne = Function<Tensor(const Tensor&)>;

/// The power by repeated products, each element wrapping around as uint32_t does.
std::vector<int32_t> PowerOf(const std::vector<int32_t>& base, int power) {
  std::vector<uint32_t> result(100);
  for (size_t i = 0; i < 10; ++i) result[i * 11] = 1;
  for (int round = 0; round < power; ++round) {
    std::vector<uint32_t> next(100);
    for (size_t i = 0; i < 100; ++i) {
      for (size_t k = 0; k < 10; ++k)
        next[i] += result[i / 10 * 10 + k] * static_cast<uint32_t>(base[k * 10 + i % 10]);
    }
    result = next;
  }
  return {result.begin(), result.end()};
}

TEST(Examples, ThePowerOfAMatrixIsExactInEveryWay) {
  const Tensor x = sample::PowerBase();
  const std::vector<int32_t> expected = PowerOf(x.ToVector<int32_t>(), 100);
  for (const auto code : {sample::PowerByLoop, sample::PowerUnrolled}) {
    const OneToOne power(code);
    EXPECT_EQ(code(x).ToVector<int32_t>(), expected);
    for (int call = 0; call < 2; ++call) EXPECT_EQ(power(x).ToVector<int32_t>(), expected);
    EXPECT_EQ(power.trace_count(), 1u);
  }
}

TEST(Examples, NetsAgreeWithEagerMode) {
  const sample::DenseNet shallow(28 * 28, {10, 20, 30});
  const Tensor digits = sample::Uniform({60, 28, 28}, 3);
  const OneToOne function(shallow);
  EXPECT_TRUE(sample::Near(function(digits), shallow(digits)));
  EXPECT_EQ(function.trace_count(), 1u);
}

TEST(Examples, ThePictureNetHasItsPreprocessingInside) {
  const sample::PictureNet net;
  EXPECT_EQ(net.parameters(), 20'523'378);
  const OneToOne function(net);
  for (const auto& [height, width] : {std::pair(100, 160), std::pair(224, 224)}) {
    const Tensor picture = sample::NoisePicture(height, width);
    EXPECT_TRUE(sample::Near(function(picture), net(picture))) << height;
  }
  EXPECT_EQ(function.trace_count(), 2u);
}

TEST(Examples, RowsOfAnyNumberNeedFewTraces) {
  const sample::RowsNet net;
  FunctionOptions buckets{.input_signature = {"f32[x<=10, 20]"}};
  buckets.buckets = {{{"x", DimRange(1, 4)}}, {{"x", DimRange(5, 10)}}};
  const std::pair<OneToOne, uint64_t> ways[] = {
      {OneToOne(net, {.relax_shapes = false, .retrace_warning = 0}), 10},
      {OneToOne(net, {.input_signature = {"f32[x, 20]"}}), 1},
      {OneToOne(net), 2},
      {OneToOne(net, buckets), 1}};
  for (const auto& [function, traces] : ways) {
    std::mt19937 random(1);
    for (int call = 0; call < 60; ++call) {
      const Tensor rows = sample::Uniform({static_cast<int64_t>(random() % 10 + 1), 20}, random());
      ASSERT_TRUE(sample::Near(function(rows), net(rows)));
    }
    EXPECT_EQ(function.trace_count(), traces);
  }
}

}  // namespace
}  // namespace skiff::eager
