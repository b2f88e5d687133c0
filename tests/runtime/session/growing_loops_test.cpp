// Loops whose variables change their shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error_capture.h"
#include "tests/runtime/session/counted_runs.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

const CountedGraph kGraphs[] = {
    // Rows whose sum is positive, one after the other.
    {"collects_rows",
     R"(graph g {
       input x: f32[6, 5]
       const none: f32[0, 5] = []
       const first: i64[1] = [0]
       i, v = While(first, none, x) condition {
         input i
         input v
         input x
         const six: i64[1] = [6]
         const whole: i64[0] = []
         less = Less(i, six)
         go = Reshape(less, whole)
         output go
       } body {
         input i
         input v
         input x
         const one: i64[1] = [1]
         const zero: f32[] = 0
         const whole: i64[0] = []
         row = Gather(x, i)
         sum = ReduceSum(row) {axes=[0, 1], keep_dims=false}
         good = Greater(sum, zero)
         w = If(good, v, row) then {
           input v
           input row
           longer = Concat(v, row) {axis=0}
           output longer
         } else {
           input v
           input row
           same = Neg(v)
           back = Neg(same)
           output back
         }
         next = Add(i, one)
         output next
         output w
       }
       y = Tanh(v)
       s = ReduceSum(v) {axes=[0], keep_dims=false}
       output y = y
       output s = s
       output i = i
     })"},
    // Twice as long as long as the sum is small: an extent that no input bounds.
    {"doubles",
     R"(graph g {
       input x: f32[6, 5]
       const start: f32[1] = [1]
       limit = ReduceMax(x) {axes=[0, 1], keep_dims=false}
       v = While(start, limit) condition {
         input v
         input limit
         const ten: f32[] = 10
         scaled = Mul(limit, ten)
         sum = ReduceSum(v) {axes=[0], keep_dims=false}
         go = Less(sum, scaled)
         output go
       } body {
         input v
         input limit
         w = Concat(v, v) {axis=0}
         output w
       }
       y = Exp(v)
       output y = y
     })"},
    {"shrinks",
     R"(graph g {
       input x: f32[6, 5]
       v = While(x) condition {
         input v
         const zero: f32[] = 0
         sum = ReduceSum(v) {axes=[0, 1], keep_dims=false}
         go = Greater(sum, zero)
         output go
       } body {
         input v
         const one: i64[1] = [1]
         const end: i64[1] = [6]
         const axis: i64[1] = [0]
         w = Slice(v, one, end, axis)
         output w
       }
       output v = v
     })"},
    // A token's keys and values join those before it; the next token follows from all of them.
    {"decodes",
     R"(graph g {
       input x: f32[6, 5]
       const first: i64[1] = [0]
       const query: f32[1, 5] = seed 3
       i, q, cache = While(first, query, x) condition {
         input i
         input q
         input cache
         const four: i64[1] = [4]
         const half: f32[] = 0.9
         const whole: i64[0] = []
         less = Less(i, four)
         soon = Reshape(less, whole)
         most = ReduceMax(q) {axes=[0, 1], keep_dims=false}
         small = Less(most, half)
         go = And(soon, small)
         output go
       } body {
         input i
         input q
         input cache
         const one: i64[1] = [1]
         longer = Concat(cache, q) {axis=0}
         turned = Transpose(longer) {perm=[1, 0]}
         scores = MatMul(q, turned)
         weights = Softmax(scores) {axis=1}
         next = MatMul(weights, longer)
         j = Add(i, one)
         output j
         output next
         output longer
       }
       output i = i
       output q = q
       output cache = cache
     })"},
    // What is counted in an iteration joins: its own Stage in the body.
    {"joins_what_is_counted",
     R"(graph g {
       input x: f32[6, 5]
       const none: i64[0] = []
       const first: i64[1] = [0]
       i, v = While(first, none, x) condition {
         input i
         input v
         input x
         const six: i64[1] = [6]
         const whole: i64[0] = []
         less = Less(i, six)
         go = Reshape(less, whole)
         output go
       } body {
         input i
         input v
         input x
         const one: i64[1] = [1]
         const zero: f32[] = 0
         const all: i64[1] = [-1]
         const five: i64[1] = [5]
         row = Gather(x, i)
         list = Reshape(row, five)
         m = Greater(list, zero)
         ones = Cast(m) {to=i64}
         n = ReduceSum(ones) {axes=[0], keep_dims=false}
         places = NonZero(m, n)
         these = Reshape(places, all)
         w = Concat(v, these) {axis=0}
         next = Add(i, one)
         output next
         output w
       }
       output v = v
     })"},
    {"grows_in_a_loop_that_grows",
     R"(graph g {
       input x: f32[6, 5]
       const one: f32[1] = [1]
       total = ReduceSum(x) {axes=[0, 1], keep_dims=false}
       v = While(one, total) condition {
         input v
         input total
         const eight: f32[] = 8
         sum = ReduceSum(v) {axes=[0], keep_dims=false}
         all = Add(sum, total)
         go = Less(all, eight)
         output go
       } body {
         input v
         input total
         w = While(v) condition {
           input w
           const three: f32[] = 3
           sum = ReduceSum(w) {axes=[0], keep_dims=false}
           go = Less(sum, three)
           output go
         } body {
           input w
           const more: f32[1] = [0.75]
           longer = Concat(w, more) {axis=0}
           output longer
         }
         const two: f32[2] = [2, 2]
         z = Concat(w, two) {axis=0}
         output z
       }
       output v = v
     })"},
};

class GrowingLoops : public ::testing::TestWithParam<CountedGraph> {};

TEST_P(GrowingLoops, MatchEagerMode) { ExpectEagerResults(GetParam().text); }

INSTANTIATE_TEST_SUITE_P(Graphs, GrowingLoops, ::testing::ValuesIn(kGraphs),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(GrowingLoopsTest, TheLimitsOfASessionHold) {
  const OpenedModel opened(R"(graph g {
       input x: f32[4]
       v = While(x) condition {
         input v
         const go: bool[] = 1
         on = Not(go)
         further = Not(on)
         output further
       } body {
         input v
         w = Concat(v, v) {axis=0}
         output w
       }
       output v = v
     })");
  const float elements[] = {1, 2, 3, 4};
  const auto run = [&](uint64_t memory, uint64_t steps) {
    SessionOptions options;
    options.memory_limit = memory;
    options.loop_limit = steps;
    auto session = Session::Create(*opened.model, options);
    EXPECT_TRUE(session.ok());
    EXPECT_TRUE((*session)->SetInput(0, TensorData(DType::kF32, Shape{4}, elements).view()).ok());
    return (*session)->Run().code();
  };
  ErrorCapture capture;
  EXPECT_EQ(run(1 << 20, 1000), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("memory_limit"));
  EXPECT_EQ(run(1 << 20, 5), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(), HasSubstr("loop_limit"));
}

}  // namespace
}  // namespace skiff::testing
