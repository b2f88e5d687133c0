// Shapes that follow from what a run computes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error_capture.h"
#include "tests/runtime/session/counted_runs.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

// In all of them x is f32[6, 5]; how many of its elements are above 0, or of its rows have a positive sum,
// differs from run to run.
const CountedGraph kGraphs[] = {
    {"places",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       m = Greater(x, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
       places = NonZero(m, n)
       tuples = Transpose(places) {perm=[1, 0]}
       found = GatherND(x, tuples)
       y = Tanh(found)
       output y = y
       output places = places
       output n = n
     })"},
    {"rows_through_a_convolution",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       const pictures: i64[4] = [-1, 5, 1, 1]
       const all: i64[1] = [-1]
       const w: f32[3, 3, 1, 1] = seed 1
       sums = ReduceSum(x) {axes=[1], keep_dims=false}
       m = Greater(sums, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0], keep_dims=false}
       places = NonZero(m, n)
       rows = Reshape(places, all)
       taken = Gather(x, rows)
       picture = Reshape(taken, pictures)
       a = Conv2d(picture, w, _) {pads=[1, 1, 0, 0], min=0}
       y = Tanh(a)
       output y = y
       output sums = sums
     })"},
    {"counts_of_counted",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       const half: f32[] = 0.5
       const one: i64[1] = [1]
       const all: i64[1] = [-1]
       m = Greater(x, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
       places = NonZero(m, n)
       tuples = Transpose(places) {perm=[1, 0]}
       found = GatherND(x, tuples)
       above = Greater(found, half)
       these = Cast(above) {to=i64}
       k = ReduceSum(these) {axes=[0], keep_dims=false}
       list = Reshape(k, one)
       best, at = TopK(found, list)
       shape = Shape(found)
       larger = Add(shape, list)
       first = Reshape(k, one)
       wide = Expand(first, larger)
       output best = best
       output at = at
       output wide = wide
     })"},
    {"a_number_of_counted",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       m = Greater(x, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
       places = NonZero(m, n)
       tuples = Transpose(places) {perm=[1, 0]}
       found = GatherND(x, tuples)
       y = ReduceSum(found) {axes=[0], keep_dims=false}
       output y = y
     })"},
    {"parts",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       const axis: i64[1] = [0]
       const begin: i64[1] = [0]
       const six: i64[] = 6
       const one: i64[1] = [1]
       m = Greater(x, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
       k = Mod(n, six)
       end = Reshape(k, one)
       part = Slice(x, begin, end, axis)
       rest = Slice(x, end, one, axis)
       y = Concat(part, rest, part) {axis=0}
       output y = y
     })"},
    {"in_a_branch",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       total = ReduceSum(x) {axes=[0, 1], keep_dims=false}
       positive = Greater(total, zero)
       y = If(positive, x, zero) then {
         input x
         input zero
         m = Greater(x, zero)
         ones = Cast(m) {to=i64}
         n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
         places = NonZero(m, n)
         tuples = Transpose(places) {perm=[1, 0]}
         found = GatherND(x, tuples)
         s = ReduceSum(found) {axes=[0], keep_dims=false}
         output s
       } else {
         input x
         input zero
         s = ReduceMax(x) {axes=[0, 1], keep_dims=false}
         output s
       }
       z = Tanh(y)
       output z = z
     })"},
    {"branches_of_different_extents",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       total = ReduceSum(x) {axes=[0, 1], keep_dims=false}
       positive = Greater(total, zero)
       y, w = If(positive, x) then {
         input x
         const two: i64[2] = [0, 2]
         two_rows = Gather(x, two)
         const one: f32[3] = seed 1
         z = Neg(one)
         output two_rows
         output z
       } else {
         input x
         const zero: f32[] = 0
         const all: i64[1] = [-1]
         sums = ReduceSum(x) {axes=[1], keep_dims=false}
         m = Greater(sums, zero)
         ones = Cast(m) {to=i64}
         n = ReduceSum(ones) {axes=[0], keep_dims=false}
         places = NonZero(m, n)
         rows = Reshape(places, all)
         taken = Gather(x, rows)
         const one: f32[3] = seed 2
         z = Neg(one)
         output taken
         output z
       }
       z = Tanh(y)
       s = Shape(y)
       d = Exp(x)
       e = ReduceSum(d) {axes=[0], keep_dims=false}
       output z = z
       output y = y
       output w = w
       output s = s
       output e = e
     })"},
    {"in_a_loop",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       const start: f32[5] = [0, 0, 0, 0, 0]
       const first: i64[1] = [0]
       i, s = While(first, start, x) condition {
         input i
         input s
         input x
         const six: i64[1] = [6]
         const whole: i64[0] = []
         less = Less(i, six)
         go = Reshape(less, whole)
         output go
       } body {
         input i
         input s
         input x
         const one: i64[1] = [1]
         const axis: i64[1] = [0]
         const begin: i64[1] = [0]
         next = Add(i, one)
         part = Slice(x, begin, next, axis)
         sum = ReduceSum(part) {axes=[0], keep_dims=false}
         t = Add(s, sum)
         output next
         output t
       }
       output s = s
     })"},
    {"branches_that_count_otherwise",
     R"(graph g {
       input x: f32[6, 5]
       const zero: f32[] = 0
       const all: i64[1] = [-1]
       const rows: i64[1] = [0]
       sums = ReduceSum(x) {axes=[1], keep_dims=false}
       m = Greater(sums, zero)
       ones = Cast(m) {to=i64}
       n = ReduceSum(ones) {axes=[0], keep_dims=false}
       total = ReduceSum(sums) {axes=[0], keep_dims=false}
       c = Greater(total, zero)
       y = If(c, sums, n, m) then {
         input s
         input n
         input m
         const one: i64[1] = [1]
         const rows: i64[1] = [0]
         const last: i64[1] = [6]
         begin = Reshape(n, one)
         part = Slice(s, begin, last, rows)
         output part
       } else {
         input s
         input n
         input m
         const all: i64[1] = [-1]
         places = NonZero(m, n)
         list = Reshape(places, all)
         found = Gather(s, list)
         output found
       }
       output y = y
     })"},
    {"suppressed_boxes",
     R"(graph g {
       input x: f32[6, 5]
       const begin: i64[1] = [0]
       const four: i64[1] = [4]
       const five: i64[1] = [5]
       const columns: i64[1] = [1]
       const rows: i64[1] = [0]
       const as_boxes: i64[3] = [1, 6, 4]
       const as_scores: i64[3] = [1, 1, 6]
       const most: i64[] = 4
       const overlap: f32[] = 0.2
       const least: f32[] = 0
       corners = Slice(x, begin, four, columns)
       last = Slice(x, four, five, columns)
       boxes = Reshape(corners, as_boxes)
       scores = Reshape(last, as_scores)
       all, count, order = NonMaxSuppression(boxes, scores, most, overlap, least)
       taken = Slice(all, begin, count, rows)
       output taken = taken
       output count = count
     })"},
    {"unique",
     R"(graph g {
       input x: f32[6, 5]
       const begin: i64[1] = [0]
       const rows: i64[1] = [0]
       const four: f32[] = 4
       a = Mul(x, four)
       f = Floor(a)
       all, first, of, counts, count = Unique(f)
       values = Slice(all, begin, count, rows)
       often = Slice(counts, begin, count, rows)
       y = Tanh(values)
       output y = y
       output often = often
       output of = of
     })"},
};

class CountedShapes : public ::testing::TestWithParam<CountedGraph> {};

TEST_P(CountedShapes, MatchEagerWhateverIsCounted) { ExpectEagerResults(GetParam().text); }

INSTANTIATE_TEST_SUITE_P(Graphs, CountedShapes, ::testing::ValuesIn(kGraphs),
                         [](const auto& info) { return std::string(info.param.name); });

/// What is bounded lies in the arena that the file states; the part behind the count is planned at its
/// maximum.
TEST(CountedShapesTest, AreBoundedByWhatTheyAreCountedFrom) {
  const OpenedModel opened(kGraphs[0].text);
  EXPECT_EQ(opened.model->plan(0, 0).kind, BucketKind::kRelaxed);
  auto session = Session::Create(*opened.model, {});
  ASSERT_TRUE(session.ok());
  const uint64_t before = (*session)->memory_usage().arena;
  EXPECT_GT(before, 30 * sizeof(int64_t) * 2) << "room for all places";
  RunSession(**session, {{"x", Elements(2)}});
  EXPECT_EQ((*session)->memory_usage().arena, before);
}

TEST(CountedShapesTest, WhatTheLimitForbidsIsRefused) {
  const OpenedModel opened(R"(graph g {
       input x: f32[1, 4]
       const zero: f32[] = 0
       const one: i64[1] = [1]
       s = ReduceSum(x) {axes=[0, 1], keep_dims=false}
       i = Cast(s) {to=i64}
       n = Reshape(i, one)
       first = Reshape(s, one)
       y = Expand(first, n)
       output y = y
     })");
  SessionOptions options;
  options.memory_limit = 1 << 20;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const auto run = [&](float number) {
    const float elements[] = {number, 0, 0, 0};
    EXPECT_TRUE((*session)->SetInput(0, TensorData(DType::kF32, Shape{1, 4}, elements).view()).ok());
    return (*session)->Run();
  };
  EXPECT_TRUE(run(1000).ok());
  EXPECT_EQ((*session)->Output(0)->shape[0], 1000);
  ErrorCapture capture;
  EXPECT_EQ(run(1e9f).code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("memory_limit"));
  EXPECT_EQ(run(-3).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(run(7).ok()) << "a failed run loses nothing";
  EXPECT_EQ((*session)->Output(0)->shape[0], 7);
}

/// Levels of what is counted: what was made ready for other shapes is used anew, and counts.
TEST(CountedShapesTest, WhatIsKeptForOtherShapesIsBounded) {
  std::string text = "graph g {\n input x: f32[n]\n const all: i64[1] = [-1]\n const one: f32[] = 1\n";
  text +=
      "const column: i64[2] = [-1, 1]\n const row: f32[1, 512] = seed 1\n const zero: f32[] = 0\n v0 = "
      "Tanh(x)\n";
  for (int level = 0; level < 4; ++level) {
    text += fmt::format(
        "m{0} = Greater(v{0}, zero)\n ones{0} = Cast(m{0}) {{to=i64}}\n n{0} = ReduceSum(ones{0}) "
        "{{axes=[0], "
        "keep_dims=false}}\n places{0} = NonZero(m{0}, n{0})\n list{0} = Reshape(places{0}, all)\n v{1} = "
        "Gather(v{0}, list{0})\n",
        level, level + 1);
  }
  text +=
      "c = Reshape(v4, column)\n wide = Mul(c, row)\n e = Exp(wide)\n y = ReduceSum(e) {axes=[0, 1]}\n "
      "output y = y\n}";
  const OpenedModel opened(text);
  auto session = Session::Create(*opened.model, {.kept_shapes = 4});
  ASSERT_TRUE(session.ok());
  uint64_t first = 0;
  for (int64_t rows = 1000; rows > 900; --rows) {
    RunSession(**session, {{"x", RandomTensor(DType::kF32, Shape{rows}, static_cast<uint32_t>(rows))}});
    const MemoryUsage usage = (*session)->memory_usage();
    if (rows == 990) first = usage.arena + usage.workspace;
    if (rows > 989) continue;
    EXPECT_LT(usage.arena + usage.workspace, 2 * first) << rows;
  }
}

}  // namespace
}  // namespace skiff::testing
