// Variables that a run updates where they lie: done where it may be, the same numbers as by copies, and
// nothing changed by a run that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "tests/support/state_nets.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Backend kBackends[] = {Backend::kReference, Backend::kPlanned};

using Values = std::map<std::string, TensorData>;

TensorData Ints(const Shape& shape, const std::vector<int64_t>& elements) {
  return {DType::kI64, shape, elements.data()};
}

/// A net with state, converted both ways.
struct Pair {
  Pair(const std::string& text, const std::vector<StatePair>& states)
      : graph(WithStates(text, states)), in_place(graph), copied(graph, Copying()) {}

  static ConvertOptions Copying() {
    ConvertOptions options;
    options.copy_state = true;
    return options;
  }

  Graph graph;
  OpenedModel in_place;
  OpenedModel copied;
};

/// How many tensors of the plan are written in the place of another one.
int Writes(const OpenedModel& opened) {
  int writes = 0;
  for (const TensorPlacement& placement : opened.converted->draft.placements)
    writes += placement.buffer != TensorPlacement::kRoot ? 1 : 0;
  return writes;
}

std::unique_ptr<Session> NewSession(const OpenedModel& opened, SessionOptions options = {}) {
  options.threads = 1;
  ErrorCapture capture;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  EXPECT_TRUE(session.ok()) << capture.message();
  return std::move(session.value());
}

std::unique_ptr<Session> NewSession(const OpenedModel& opened, Backend backend) {
  SessionOptions options;
  options.backend = backend;
  return NewSession(opened, options);
}

void SetAll(Session& session, const Values& inputs) {
  for (const auto& [name, value] : inputs) ASSERT_TRUE(session.SetInput(name.c_str(), value.view()).ok());
}

/// The bytes of all variables, one after the other.
std::vector<uint8_t> State(Session& session) {
  std::vector<uint8_t> bytes;
  for (const VariableInfo& variable : session.variables().model().variables()) {
    const TensorView view = session.variables().Get(variable.name).value();
    bytes.insert(bytes.end(), view.as<uint8_t>(), view.as<uint8_t>() + view.bytes());
  }
  return bytes;
}

bool SameBytes(const TensorData& a, const TensorData& b) {
  return a.size_bytes() == b.size_bytes() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Runs both with the same inputs; results and state must be the same bytes.
void ExpectSameStep(Session& in_place, Session& copying, const Values& inputs) {
  const Values got = RunSession(in_place, inputs);
  const Values expected = RunSession(copying, inputs);
  for (const auto& [name, value] : expected) ASSERT_TRUE(SameBytes(got.at(name), value)) << name;
  ASSERT_EQ(State(in_place), State(copying));
}

Values CacheInputs(uint32_t step, int64_t late = 0) {
  return {{"at", Ints({1}, {step % 8})},
          {"row", RandomTensor(DType::kF32, {1, 2, 1, 4}, step)},
          {"late", Ints({1}, {late})}};
}

/// The file says where the results lie, and what runs the scatters; the copies need no memory any more.
TEST(StateInPlace, IsInTheFile) {
  const Pair cache(kCacheNet, kCachePairs);
  EXPECT_EQ(Writes(cache.in_place), 2);
  EXPECT_EQ(Writes(cache.copied), 0);
  const uint64_t bytes_of_caches = 2 * 2 * 8 * 4 * sizeof(float);
  EXPECT_LE(cache.in_place.converted->draft.arena_bytes + bytes_of_caches,
            cache.copied.converted->draft.arena_bytes);
  for (const Backend backend : kBackends) {
    const auto session = NewSession(cache.in_place, backend);
    int own = 0;
    for (int i = 0; i < session->node_count(); ++i)
      own += session->node(i).delegate == DelegateKind::kControl ? 1 : 0;
    EXPECT_EQ(own, 2);
  }
}

TEST(StateInPlace, AgreesWithCopiesOverManySteps) {
  const Pair cache(kCacheNet, kCachePairs);
  for (const Backend backend : kBackends) {
    for (const bool kept : {false, true}) {
      SessionOptions options;
      options.backend = backend;
      options.keep_intermediates = kept;
      options.poison = true;
      const auto in_place = NewSession(cache.in_place, options);
      const auto copying = NewSession(cache.copied, backend);
      for (uint32_t step = 0; step < 300; ++step)
        ASSERT_NO_FATAL_FAILURE(ExpectSameStep(*in_place, *copying, CacheInputs(step)));
    }
  }
}

TEST(StateInPlace, AgreesWithEagerMode) {
  const Pair cache(kCacheNet, kCachePairs);
  for (const Backend backend : kBackends) {
    const auto session = NewSession(cache.in_place, backend);
    Values state;
    for (uint32_t step = 0; step < 20; ++step) {
      Values inputs = CacheInputs(step);
      const Values got = RunSession(*session, inputs);
      inputs.insert(state.begin(), state.end());
      const Values expected = Evaluate(cache.graph, inputs);
      for (const char* name : {"mixed", "chosen"}) {
        const Difference difference = Compare(got.at(name), expected.at(name));
        EXPECT_LE(difference.difference, 1e-6 * difference.largest) << name << " at step " << step;
      }
      state = {{"keys", expected.at("next_keys")}, {"values", expected.at("next_values")}};
    }
  }
}

/// Not what the variable has become since, also of a tensor that lies in it.
TEST(StateInPlace, TapsShowWhatARunHasRead) {
  const Pair cache(kCacheNet, kCachePairs);
  for (const OpenedModel* opened : {&cache.in_place, &cache.copied}) {
    for (const Backend backend : kBackends) {
      SessionOptions options;
      options.backend = backend;
      options.keep_intermediates = true;
      const auto session = NewSession(*opened, options);
      for (uint32_t step = 0; step < 10; ++step) {
        const std::vector<uint8_t> before = State(*session);
        RunSession(*session, CacheInputs(step));
        const TensorView keys = session->Tap("keys").value();
        const TensorView lines = session->Tap("all_lines").value();
        ASSERT_EQ(std::memcmp(keys.data, before.data(), static_cast<size_t>(keys.bytes())), 0) << step;
        ASSERT_EQ(std::memcmp(lines.data, before.data() + keys.bytes(), static_cast<size_t>(lines.bytes())),
                  0);
      }
    }
  }
}

/// Sessions may take turns, whichever of their plans writes where the variables lie.
TEST(StateInPlace, IsSharedBetweenSessions) {
  const Pair cache(kCacheNet, kCachePairs);
  const auto first = NewSession(cache.in_place, Backend::kReference);
  SessionOptions sharing;
  sharing.variables = &first->variables();
  const auto second = NewSession(cache.in_place, sharing);
  const auto alone = NewSession(cache.copied, Backend::kReference);
  for (uint32_t step = 0; step < 20; ++step) {
    RunSession(step % 3 == 0 ? *second : *first, CacheInputs(step));
    RunSession(*alone, CacheInputs(step));
    ASSERT_EQ(State(*first), State(*alone)) << step;
  }
  // What an application puts there is what the next run goes on from.
  first->variables().Reset();
  alone->variables().Reset();
  RunSession(*second, CacheInputs(3));
  RunSession(*alone, CacheInputs(3));
  EXPECT_EQ(State(*second), State(*alone));
}

/// The first scatter's index is good, and the second one's in one net is not: `at` counts lines of one cache.
constexpr const char* kTwoIndices = R"(graph two {
  input first: i64[2, 1]
  input second: i64[2, 1]
  input late: i64[1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  input b: f32[6, 3]
  next_a = ScatterND(a, first, rows)
  again = ScatterND(next_a, second, rows)
  next_b = ScatterND(b, second, rows)
  sum = Add(again, next_b)
  y = Gather(sum, late)
  output y
  output again
  output next_b
})";
const std::vector<StatePair> kTwoPairs = {{"a", "again"}, {"b", "next_b"}};

Values TwoInputs(uint32_t seed, int64_t second, int64_t late) {
  return {{"first", Ints({2, 1}, {1, 4})},
          {"second", Ints({2, 1}, {4, second})},
          {"late", Ints({1}, {late})},
          {"rows", RandomTensor(DType::kF32, {2, 3}, seed)}};
}

class FailedRun : public ::testing::TestWithParam<Backend> {};

/// An index beyond the end, in the second write to a variable, and in a node behind all writes.
TEST_P(FailedRun, LeavesVariablesAsTheyWere) {
  const Pair two(kTwoIndices, kTwoPairs);
  ASSERT_EQ(Writes(two.in_place), 3);
  const auto session = NewSession(two.in_place, GetParam());
  const auto copying = NewSession(two.copied, GetParam());
  for (uint32_t step = 0; step < 10; ++step) {
    ASSERT_NO_FATAL_FAILURE(ExpectSameStep(*session, *copying, TwoInputs(step, 4, 0)));
    const std::vector<uint8_t> before = State(*session);
    for (const auto& [second, late] :
         {std::pair(6, 0), std::pair(-7, 0), std::pair(2, 6), std::pair(2, -7)}) {
      SetAll(*session, TwoInputs(step + 100, second, late));
      ErrorCapture capture;
      const Status status = session->Run();
      ASSERT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(capture.message(),
                  AllOf(HasSubstr(second == 2 ? "node 'y' (Gather): " : "' (ScatterND): ScatterND: "),
                        HasSubstr("is outside")));
      ASSERT_EQ(State(*session), before) << second << ", " << late;
      EXPECT_FALSE(session->Output(0).ok());
    }
  }
}

/// Writes, and then loops for as long as `times` says.
constexpr const char* kWriteAndLoop = R"(graph loop {
  input at: i64[1, 1]
  input row: f32[1, 3]
  input times: i64[]
  input a: f32[4, 3]
  const zero: i64[] = 0
  next = ScatterND(a, at, row)
  first = ReduceSum(next) {axes=[0], keep_dims=false}
  i, sum = While(zero, first, times) condition {
    input i
    input sum
    input times
    go = Less(i, times)
    output go
  } body {
    input i
    input sum
    input times
    const one: i64[] = 1
    j = Add(i, one)
    s = Sqrt(sum)
    output j
    output s
  }
  output sum
  output next
})";

Values LoopInputs(uint32_t seed, int64_t times) {
  return {{"at", Ints({1, 1}, {seed % 4})},
          {"row", RandomTensor(DType::kF32, {1, 3}, seed)},
          {"times", Ints(Shape{}, {times})}};
}

TEST_P(FailedRun, ThatWasCancelledLeavesVariablesAsTheyWere) {
  const Pair loop(kWriteAndLoop, {{"a", "next"}});
  ASSERT_EQ(Writes(loop.in_place), 1);
  const auto session = NewSession(loop.in_place, GetParam());
  const auto copying = NewSession(loop.copied, GetParam());
  for (uint32_t step = 0; step < 3; ++step) {
    ASSERT_NO_FATAL_FAILURE(ExpectSameStep(*session, *copying, LoopInputs(step, 3)));
    const std::vector<uint8_t> before = State(*session);
    SetAll(*session, LoopInputs(step + 50, INT64_MAX));
    std::atomic<bool> over{false};
    std::thread watch([&] {  // Run() takes back a cancellation that comes before it begins.
      while (!over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        session->Cancel();
      }
    });
    const Status status = session->Run();
    over = true;
    watch.join();
    ASSERT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_EQ(State(*session), before);
  }
}

TEST_P(FailedRun, OfALoopWithoutEndLeavesVariablesAsTheyWere) {
  const Pair loop(kWriteAndLoop, {{"a", "next"}});
  SessionOptions options;
  options.backend = GetParam();
  options.loop_limit = 10;
  const auto session = NewSession(loop.in_place, options);
  RunSession(*session, LoopInputs(1, 5));
  const std::vector<uint8_t> before = State(*session);
  SetAll(*session, LoopInputs(2, 100));
  ErrorCapture capture;
  EXPECT_EQ(session->Run().code(), StatusCode::kUnsupported);
  EXPECT_EQ(State(*session), before);
}

INSTANTIATE_TEST_SUITE_P(Backends, FailedRun, ::testing::ValuesIn(kBackends));

/// Nets whose state must be copied, and what they are.
struct Copied {
  const char* name;
  const char* text;
};

void PrintTo(const Copied& net, std::ostream* out) { *out << net.name; }

constexpr Copied kCopied[] = {{"TheOldValueIsReadBehindTheScatter", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  next = ScatterND(a, at, rows)
  new = ReduceSum(next) {axes=[0]}
  old = ReduceSum(a) {axes=[0]}
  y = Sub(new, old)
  output y
  output next
})"},
                              {"APartOfTheOldValueIsReadBehindTheScatter", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  const begin: i64[1] = [1]
  const end: i64[1] = [3]
  const axis: i64[1] = [0]
  part = Slice(a, begin, end, axis, _)
  next = ScatterND(a, at, rows)
  y = Add(part, rows)
  output y
  output next
})"},
                              {"TheUpdatesAreAPartOfTheVariable", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  const begin: i64[1] = [1]
  const end: i64[1] = [3]
  const axis: i64[1] = [0]
  part = Slice(a, begin, end, axis, _)
  summed = Add(a, a)
  next = ScatterND(a, at, part)
  y = Add(part, rows)
  output y
  output next
})"},
                              {"TheCallerGetsTheNextValue", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  next = ScatterND(a, at, rows)
  output shown = next
  output next
})"},
                              {"TheNextValueIsNoScatter", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  written = ScatterND(a, at, rows)
  next = Abs(written)
  y = ReduceSum(written) {axes=[0]}
  output y
  output next
})"},
                              {"UpdatesAreAdded", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  next = ScatterND(a, at, rows) {reduction=add}
  y = ReduceSum(next) {axes=[0]}
  output y
  output next
})"},
                              {"AnotherValueIsScattered", R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  const b: f32[6, 3] = seed 3
  next = ScatterND(b, at, rows)
  y = Add(a, next)
  output y
  output next
})"}};

class StateCopied : public ::testing::TestWithParam<Copied> {};

TEST_P(StateCopied, AndRight) {
  const Pair net(GetParam().text, {{"a", "next"}});
  EXPECT_EQ(Writes(net.in_place), 0);
  for (const Backend backend : kBackends) {
    const auto session = NewSession(net.in_place, backend);
    Values state;
    for (uint32_t step = 0; step < 6; ++step) {
      Values inputs = {{"at", Ints({2, 1}, {step, (step + 3) % 6})},
                       {"rows", RandomTensor(DType::kF32, {2, 3}, step)}};
      const Values got = RunSession(*session, inputs);
      inputs.insert(state.begin(), state.end());
      const Values expected = Evaluate(net.graph, inputs);
      for (const auto& [name, value] : got) {
        const Difference difference = Compare(value, expected.at(name));
        EXPECT_LE(difference.difference, 1e-6 * difference.largest) << name << " at step " << step;
      }
      state = {{"a", expected.at("next")}};
      const TensorView now = session->variables().Get("a").value();
      EXPECT_EQ(std::memcmp(now.data, expected.at("next").data(), static_cast<size_t>(now.bytes())), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, StateCopied, ::testing::ValuesIn(kCopied),
                         [](const auto& info) { return std::string(info.param.name); });

/// Read before it is written, as an old value may be; two variables, one of which takes the other's next
/// value.
TEST(StateInPlace, WhereTheOldValueIsReadBefore) {
  const Pair net(R"(graph g {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input a: f32[6, 3]
  input b: f32[6, 3]
  old = ReduceSum(a) {axes=[0]}
  next = ScatterND(a, at, rows)
  new = ReduceSum(next) {axes=[0]}
  y = Sub(new, old)
  z = Add(b, y)
  output y
  output z
  output next
  output next_b = next
})",
                 {{"a", "next"}, {"b", "next_b"}});
  EXPECT_EQ(Writes(net.in_place), 1);
  for (const Backend backend : kBackends) {
    const auto in_place = NewSession(net.in_place, backend);
    const auto copying = NewSession(net.copied, backend);
    for (uint32_t step = 0; step < 12; ++step) {
      const Values inputs = {{"at", Ints({2, 1}, {step % 6, (step * 5) % 6})},
                             {"rows", RandomTensor(DType::kF32, {2, 3}, step)}};
      ASSERT_NO_FATAL_FAILURE(ExpectSameStep(*in_place, *copying, inputs));
    }
  }
}

/// As torch's index_copy and slice assignments are exported: along another axis than the first one, the whole
/// cache is transposed before and behind.
TEST(StateInPlace, WhereTheSourceTransposesTheCache) {
  const Pair net(R"(graph g {
  input at: i64[2, 1]
  input rows: f32[1, 2, 2, 3]
  input a: f32[1, 2, 6, 3]
  turned = Transpose(a) {perm=[2, 0, 1, 3]}
  turned_rows = Transpose(rows) {perm=[2, 0, 1, 3]}
  written = ScatterND(turned, at, turned_rows)
  next = Transpose(written) {perm=[1, 2, 0, 3]}
  y = MatMul(rows, next) {transpose_b=true}
  output y
  output next
})",
                 {{"a", "next"}});
  EXPECT_EQ(Writes(net.in_place), 1);
  for (const Backend backend : kBackends) {
    const auto in_place = NewSession(net.in_place, backend);
    Values state;
    for (uint32_t step = 0; step < 12; ++step) {  // Both places are one at times; the later row stays.
      Values inputs = {{"at", Ints({2, 1}, {step % 6, (step * 5) % 6})},
                       {"rows", RandomTensor(DType::kF32, {1, 2, 2, 3}, step)}};
      const Values got = RunSession(*in_place, inputs);
      inputs.insert(state.begin(), state.end());
      const Values expected = Evaluate(net.graph, inputs);
      const Difference difference = Compare(got.at("y"), expected.at("y"));
      EXPECT_LE(difference.difference, 1e-6 * difference.largest) << step;
      const TensorView now = in_place->variables().Get("a").value();
      ASSERT_EQ(std::memcmp(now.data, expected.at("next").data(), static_cast<size_t>(now.bytes())), 0)
          << step;
      state = {{"a", expected.at("next")}};
    }
  }
}

class OpenState : public ::testing::TestWithParam<const char*> {};

/// Several rows at a time, as a prompt has them; places may meet, and there may be none.
TEST_P(OpenState, AgreesWithCopies) {
  const Pair net(std::string("graph g {\n  symbol n: ") + GetParam() + R"(
  input at: i64[n, 1]
  input rows: i8[n, 3]
  input a: i8[6, 3]
  next = ScatterND(a, at, rows)
  floats = Cast(next) {to=f32}
  y = ReduceSum(floats) {axes=[1]}
  twice = Add(rows, rows)
  output y
  output twice
  output next
})",
                 {{"a", "next"}});
  EXPECT_EQ(Writes(net.in_place), 1);
  for (const Backend backend : kBackends) {
    const auto in_place = NewSession(net.in_place, backend);
    const auto copying = NewSession(net.copied, backend);
    for (uint32_t step = 0; step < 20; ++step) {
      std::vector<int64_t> places;
      for (uint32_t i = 0; i < (step * 7) % 5; ++i) places.push_back((step + i * i) % 6);
      const auto count = static_cast<int64_t>(places.size());
      const Values inputs = {{"at", Ints({count, 1}, places)},
                             {"rows", RandomTensor(DType::kI8, {count, 3}, step)}};
      ASSERT_NO_FATAL_FAILURE(ExpectSameStep(*in_place, *copying, inputs));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranges, OpenState, ::testing::Values("0..4", "0.."));

}  // namespace
}  // namespace skiff::testing
