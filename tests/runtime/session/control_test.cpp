// If and While through the file and a Session, compared with the eager interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

using Numbers = std::map<std::string, int64_t>;

/// Calls give the sizes of Symbols and the values of inputs of one element; other inputs are drawn.
struct ControlGraph {
  const char* name;
  const char* text;
  std::vector<Numbers> calls;
  BucketKind kind = BucketKind::kExact;
};

void PrintTo(const ControlGraph& graph, std::ostream* out) { *out << graph.name; }

const ControlGraph kGraphs[] = {
    {"branches",
     R"(graph g {
       input c: bool[1]
       input x: f32[1, 6, 6, 4]
       const w: f32[8, 3, 3, 4] = seed 1
       const b: f32[8] = seed 2
       y = If(c, x, w, b) then {
         input x input w input b
         a = Conv2d(x, w, b) {pads=[1, 1, 1, 1], min=0}
         r = Tanh(a)
         output r
       } else {
         input x input w input b
         j = Concat(x, x) {axis=3}
         z = Add(j, b)
         output z
       }
       z = Neg(y)
       output z
     })",
     {{{"c", 1}}, {{"c", 0}}, {{"c", 1}}}},
    {"open_branches",
     R"(graph g {
       symbol n: 1..40
       input c: bool[]
       input x: f32[n, 6]
       y, z = If(c, x) then {
         input x
         const w: f32[6, 6] = seed 3
         a = MatMul(x, w)
         b = Sigmoid(a)
         output b
         output a
       } else {
         input x
         const k: f32[6] = seed 4
         b = Mul(x, k)
         output b
         output x
       }
       s = Add(y, z)
       output s
     })",
     {{{"c", 1}, {"n", 3}},
      {{"c", 0}, {"n", 40}},
      {{"c", 1}, {"n", 40}},
      {{"c", 0}, {"n", 1}},
      {{"c", 1}, {"n", 3}}},
     BucketKind::kRelaxed},
    {"swap",
     R"(graph g {
       input count: i64[]
       input a: f32[5]
       input b: f32[5]
       const zero: i64[] = 0
       i, p, q = While(zero, a, b, count) condition {
         input i input a input b input count
         go = Less(i, count)
         output go
       } body {
         input i input a input b input count
         const one: i64[] = 1
         next = Add(i, one)
         output next
         output b
         output a
       }
       output p
       output q
       output i
     })",
     {{{"count", 0}}, {{"count", 1}}, {{"count", 2}}, {{"count", 7}}}},
    {"reshaped_swap",
     R"(graph g {
       symbol n: 1..8
       input count: i64[]
       input a: f32[n, 4]
       input b: f32[n, 4]
       const zero: i64[] = 0
       i, p, q = While(zero, a, b, count) condition {
         input i input a input b input count
         go = Less(i, count)
         output go
       } body {
         input i input a input b input count
         const one: i64[] = 1
         const flat: i64[1] = [-1]
         const rows: i64[2] = [-1, 4]
         next = Add(i, one)
         f = Reshape(b, flat)
         g = Reshape(f, rows)
         h = Neg(a)
         output next
         output g
         output h
       }
       output p
       output q
     })",
     {{{"count", 3}, {"n", 8}}, {{"count", 2}, {"n", 1}}, {{"count", 0}, {"n", 5}}},
     BucketKind::kRelaxed},
    {"unbounded_loop",
     R"(graph g {
       input count: i32[1]
       input x: f32[n, 3]
       const zero: i32[1] = [0]
       const w: f32[3, 3] = seed 5
       i, y = While(zero, x, count, w) condition {
         input i input x input count input w
         go = Less(i, count)
         output go
       } body {
         input i input x input count input w
         const one: i32[1] = [1]
         next = Add(i, one)
         m = MatMul(x, w)
         t = Tanh(m)
         s = Add(t, x)
         output next
         output t
       }
       output y
     })",
     {{{"count", 2}, {"n", 3}},
      {{"count", 5}, {"n", 100}},
      {{"count", 0}, {"n", 7}},
      {{"count", 1}, {"n", 3}}},
     BucketKind::kUnbounded},
    {"nested",
     R"(graph g {
       symbol n: 1..9
       input count: i64[]
       input x: f32[n]
       const zero: i64[] = 0
       i, y = While(zero, x, count) condition {
         input i input x input count
         go = Less(i, count)
         output go
       } body {
         input i input x input count
         const one: i64[] = 1
         const two: i64[] = 2
         next = Add(i, one)
         r = Mod(i, two)
         odd = Equal(r, one)
         y = If(odd, x, i) then {
           input x input i
           const zero: i64[] = 0
           k, d = While(zero, x, i) condition {
             input k input x input i
             go = Less(k, i)
             output go
           } body {
             input k input x input i
             const one: i64[] = 1
             const half: f32[] = 0.5
             next = Add(k, one)
             d = Mul(x, half)
             output next
             output d
           }
           output d
         } else {
           input x input i
           const three: f32[] = 3
           y = Add(x, three)
           output y
         }
         output next
         output y
       }
       output y
     })",
     {{{"count", 0}, {"n", 4}}, {{"count", 6}, {"n", 9}}, {{"count", 5}, {"n", 1}}},
     BucketKind::kRelaxed},
    {"shape_input_in_a_branch",
     R"(graph g {
       symbol n: 1..6
       input c: bool[]
       input x: f32[n, 4]
       input rows: i64[1]
       y = If(c, x, rows) then {
         input x input rows
         const four: i64[1] = [4]
         t = Concat(rows, four) {axis=0}
         e = Expand(x, t)
         s = ReduceSum(e) {axes=[0], keep_dims=false}
         output s
       } else {
         input x input rows
         s = ReduceMax(x) {axes=[0], keep_dims=false}
         output s
       }
       output y
     })",
     {{{"c", 1}, {"n", 1}, {"rows", 5}},
      {{"c", 1}, {"n", 1}, {"rows", 2}},
      {{"c", 0}, {"n", 6}, {"rows", 6}},
      {{"c", 1}, {"n", 6}, {"rows", 1}}},
     BucketKind::kUnbounded},
    {"constants_and_parts",
     R"(graph g {
       input c: bool[]
       input x: f32[3, 8]
       a, b = Split(x, _) {axis=1, parts=2}
       p, q = If(c, a, b) then {
         input a input b
         const k: f32[3, 4] = seed 6
         d = Sub(a, b)
         output d
         output k
       } else {
         input a input b
         output b
         output a
       }
       y = Concat(p, q) {axis=1}
       output y
     })",
     {{{"c", 1}}, {{"c", 0}}}},
};

std::map<std::string, TensorData> InputsOf(const Graph& graph, const Numbers& numbers, uint32_t seed) {
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    Shape shape;
    for (const Dim& dim : value.dims)
      shape.Append(dim.constant() ? dim.value
                                  : numbers.at(graph.symbols()[static_cast<size_t>(dim.symbol())].name));
    TensorData data = RandomTensor(value.dtype, shape, seed++);
    if (const auto given = numbers.find(port.name); given != numbers.end())
      std::memcpy(data.mutable_data(), &given->second, data.size_bytes());
    inputs[port.name] = std::move(data);
  }
  return inputs;
}

class Control : public ::testing::TestWithParam<ControlGraph> {};

TEST_P(Control, RunsAsInEagerMode) {
  const OpenedModel opened(GetParam().text);
  EXPECT_EQ(opened.model->plan(0, 0).kind, GetParam().kind);
  Graph source = ParseGraph(GetParam().text);
  for (const bool keep : {false, true}) {
    for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
      SessionOptions options;
      options.backend = backend;
      options.poison = true;
      options.keep_intermediates = keep;
      auto session = Session::Create(*opened.model, options);
      ASSERT_TRUE(session.ok());
      uint32_t seed = 1;
      for (const Numbers& call : GetParam().calls) {
        const auto inputs = InputsOf(source, call, seed++);
        const auto expected = Evaluate(source, inputs);
        const auto got = RunSession(**session, inputs);
        for (const auto& [name, data] : expected) {
          const Difference difference = Compare(got.at(name), data);
          EXPECT_LE(difference.difference, 1e-5 * std::max(difference.largest, 1.0))
              << name << ", call " << seed - 1 << ", backend " << static_cast<int>(backend);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, Control, ::testing::ValuesIn(kGraphs),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr const char* kCountTo = R"(graph g {
  input limit: i64[]
  const zero: i64[] = 0
  i = While(zero, limit) condition {
    input i input limit
    done = Equal(i, limit)
    go = Not(done)
    output go
  } body {
    input i input limit
    const one: i64[] = 1
    next = Add(i, one)
    output next
  }
  output i
})";

TEST(Control, AnEndlessLoopCanBeCancelled) {
  const OpenedModel opened(kCountTo);
  SessionOptions options;
  options.loop_limit = UINT64_MAX;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const int64_t never = -1;
  ASSERT_TRUE((*session)->SetInput(0, TensorData(DType::kI64, Shape{}, &never).view()).ok());
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {  // Run() takes a cancellation back that comes before it begins.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      (*session)->Cancel();
    }
  });
  const Status status = (*session)->Run();
  over = true;
  other.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  const int64_t soon = 3;
  const auto outputs = RunSession(**session, {{"limit", TensorData(DType::kI64, Shape{}, &soon)}});
  EXPECT_EQ(outputs.at("i").ToInts(), std::vector<int64_t>{3});
}

Status RunTo(Session& session, int64_t limit) {
  const TensorData tensor(DType::kI64, Shape{}, &limit);
  EXPECT_TRUE(session.SetInput(0, tensor.view()).ok());
  return session.Run();
}

TEST(Control, LoopsHaveALimitThatCanBeChanged) {
  const OpenedModel opened(kCountTo);
  SessionOptions options;
  options.loop_limit = 1000;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(RunTo(**session, 1000).ok());
  ErrorCapture capture;
  EXPECT_EQ(RunTo(**session, 1001).code(), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(), ::testing::AllOf(HasSubstr("loop_limit"), HasSubstr("endless")));
  EXPECT_TRUE(RunTo(**session, 1000).ok()) << "each run has the whole limit, also behind one that failed";
}

/// A loop in a loop, each of them within the limit.
TEST(Control, TheLimitIsOfAllLoopsTogether) {
  const OpenedModel opened(R"(graph g {
  input limit: i64[]
  const zero: i64[] = 0
  i, k = While(zero, zero, limit) condition {
    input i input k input limit
    go = Less(i, limit)
    output go
  } body {
    input i input k input limit
    const one: i64[] = 1
    const zero: i64[] = 0
    next = Add(i, one)
    j, sum = While(zero, k, limit) condition {
      input j input sum input limit
      go = Less(j, limit)
      output go
    } body {
      input j input sum input limit
      const one: i64[] = 1
      following = Add(j, one)
      more = Add(sum, one)
      output following output more
    }
    output next output sum
  }
  output k
})");
  SessionOptions options;
  options.loop_limit = 110;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(RunTo(**session, 10).ok()) << "10 steps of the outer one, 100 of the inner one";
  const ErrorCapture quiet;
  EXPECT_EQ(RunTo(**session, 11).code(), StatusCode::kUnsupported);
}

TEST(Control, TellsWhatRan) {
  const OpenedModel opened(kCountTo);
  SessionOptions options;
  options.profile = true;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const int64_t limit = 100;
  RunSession(**session, {{"limit", TensorData(DType::kI64, Shape{}, &limit)}});
  ASSERT_EQ((*session)->node_count(), 1);
  const NodeInfo node = (*session)->node(0);
  EXPECT_STREQ(node.op, "While");
  EXPECT_EQ(node.delegate, DelegateKind::kControl);
  EXPECT_STREQ(DelegateKindName(node.delegate), "control");
  EXPECT_FALSE(node.fell_back);
  EXPECT_GT(node.last_ns, 0u);
}

/// The bodies' arenas lie inside of the outer one, one over the other.
TEST(Control, BodiesShareTheirMemory) {
  const OpenedModel opened(R"(graph g {
    input c: bool[]
    input x: f32[1000]
    y = If(c, x) then {
      input x
      const w: f32[1000] = seed 1
      a = Mul(x, w)
      b = Tanh(a)
      output b
    } else {
      input x
      a = Exp(x)
      output a
    }
    output y
  })");
  const uint64_t tensor = 4032;  // 4000 bytes, rounded up to 64.
  EXPECT_GE(opened.model->plan(0, 0).arena_bytes, 3 * tensor);
  EXPECT_LE(opened.model->plan(0, 0).arena_bytes, 4 * tensor);
}

/// The result has the shape of the branch that was taken.
TEST(Control, BranchesMayReturnDifferentExtents) {
  const OpenedModel opened(R"(graph g {
    symbol n: 1..9
    symbol m: 1..9
    input c: bool[]
    input x: f32[n]
    input y: f32[m]
    z = If(c, x, y) then {
      input x input y
      a = Neg(x)
      output a
    } else {
      input x input y
      b = Exp(y)
      output b
    }
    output z
  })");
  ErrorCapture capture;
  auto session = Session::Create(*opened.model);
  ASSERT_TRUE(session.ok());
  const TensorData three = RandomTensor(DType::kF32, Shape{3}, 1);
  const TensorData four = RandomTensor(DType::kF32, Shape{4}, 2);
  ASSERT_TRUE((*session)->SetInput("x", three.view()).ok());
  ASSERT_TRUE((*session)->SetInput("y", four.view()).ok());
  for (const uint8_t taken : {1, 0, 1}) {
    ASSERT_TRUE((*session)->SetInput("c", TensorData(DType::kBool, Shape{}, &taken).view()).ok());
    ASSERT_TRUE((*session)->Run().ok()) << capture.message();
    EXPECT_EQ((*session)->Output(0)->shape[0], taken != 0 ? 3 : 4);
  }
}

}  // namespace
}  // namespace skiff::testing
