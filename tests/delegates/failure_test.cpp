// When the system says no, in the middle of whatever a delegate does: each allocation in turn, ours and those
// inside of XNNPACK, and each thread of a pool. The linker sends the calls of the whole program to
// tests/support/refusals.h, so sanitizers see the rest of it.
#include <gtest/gtest.h>

#include "conformance_cases.h"
#include "delegates/xnnpack/delegate.h"
#include "ops/op_codes.h"
#include "skiff/thread_pool.h"
#include "tests/support/refusals.h"

namespace skiff::testing {
namespace {

TEST(RefusedThreads, APoolIsAnErrorAndNoneIsLeft) {
  for (const int threads : {2, 4}) {
    for (int at = 1; at < threads; ++at) {
      of_threads = {at, /*lasting=*/true};
      const Result<std::unique_ptr<ThreadPool>> pool = CreateThreadPool(threads);
      of_threads = {};
      EXPECT_EQ(pool.status().code(), StatusCode::kOutOfMemory) << at << " of " << threads;
    }
    Result<std::unique_ptr<ThreadPool>> pool = CreateThreadPool(threads);
    ASSERT_TRUE(pool.ok());
    EXPECT_EQ((*pool)->threads(), threads);
  }
}

TEST(RefusedThreads, ASessionIsAnErrorAndTheNextWorks) {
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  of_threads = {1};
  const auto refused = (*state)->CreateSession({.threads = 2});
  of_threads = {};
  EXPECT_EQ(refused.status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE((*state)->CreateSession({.threads = 2}).ok());
}

/// The pool's own memory: its threads wait for it by then.
TEST(RefusedThreads, APoolWithoutMemoryEndsItsThreads) {
  for (int at = 1;; ++at) {
    of_memory = {at};
    const Result<std::unique_ptr<ThreadPool>> pool = CreateThreadPool(3);
    const bool hit = of_memory.hit;
    of_memory = {};
    EXPECT_EQ(pool.ok(), !hit);
    if (!hit) break;
    ASSERT_LT(at, 100);
  }
}

using Outputs = std::vector<std::vector<double>>;

/// What one Session does with one node, until something is refused.
class Attempt {
 public:
  explicit Attempt(Node& node) : node_(node) {}

  /// Goes on where it failed. With the call that failed first, so that each is also made twice.
  Status GoOn() {
    if (!state_) {
      SKIFF_ASSIGN_OR_RETURN(state_, BuiltinXnnpackDelegate().CreateModelState({}));
    }
    if (!session_) {
      SKIFF_ASSIGN_OR_RETURN(session_, state_->CreateSession({}));
    }
    if (!segment_) {
      SKIFF_ASSIGN_OR_RETURN(segment_, session_->Prepare(node_.segment()));
    }
    SKIFF_RETURN_IF_ERROR(segment_->Reshape());
    SKIFF_RETURN_IF_ERROR(segment_->Bind());
    return segment_->Run({});
  }
  /// As a caller that looks at no Status would.
  void Stumble() {
    if (!segment_) return;
    (void)segment_->Bind();
    (void)segment_->Run({});
    (void)segment_->workspace_bytes();
  }
  bool fell_back() const { return segment_->FellBack(0); }

 private:
  Node& node_;
  std::unique_ptr<ModelState> state_;
  std::unique_ptr<DelegateSession> session_;
  std::unique_ptr<PreparedSegment> segment_;
};

Outputs OutputsOf(const Node& node) {
  Outputs outputs;
  for (size_t i = 0; i < node.outputs(); ++i) outputs.push_back(ElementsOf(node.output(i)));
  return outputs;
}

void Forget(const Node& node) {
  for (size_t i = 0; i < node.outputs(); ++i) {
    for (int64_t e = 0; e < node.output(i).shape.elements(); ++e) SetElement(node.output(i), e, 0);
  }
}

bool Same(const Outputs& a, const Outputs& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t e = 0; e < a[i].size(); ++e) {
      if (a[i][e] != b[i][e] && !(a[i][e] != a[i][e] && b[i][e] != b[i][e])) return false;
    }
  }
  return true;
}

class RefusedMemory : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    SetLogSink([](void*, LogLevel, const char*) {}, nullptr);
  }
  void TearDown() override { SetLogSink(nullptr, nullptr); }
};

/// Each allocation in turn, alone and with all after it: an error, and then the same numbers as ever.
TEST_P(RefusedMemory, IsAnErrorAndTheNextTimeWorks) {
  const Case& description = ConformanceCases()[GetParam()];
  Node node(description);
  (void)node.Run(*BuiltinXnnpackDelegate().CreateModelState({}).value(),
                 {});  // Which also places the outputs.
  Forget(node);
  Attempt undisturbed(node);
  ASSERT_TRUE(undisturbed.GoOn().ok());
  const Outputs expected = OutputsOf(node);
  for (const bool lasting : {false, true}) {
    for (long at = 1;; ++at) {
      SCOPED_TRACE(::testing::Message() << "allocation " << at << (lasting ? " and later ones" : ""));
      ASSERT_LT(at, 1000);
      Forget(node);
      Attempt attempt(node);
      of_memory = {at, lasting};
      Status status = attempt.GoOn();
      const bool hit = of_memory.hit;
      of_memory = {};
      if (hit) {
        EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
      }
      if (!status.ok()) {
        attempt.Stumble();
        status = attempt.GoOn();
      }
      ASSERT_TRUE(status.ok()) << StatusCodeName(status.code());
      EXPECT_TRUE(Same(OutputsOf(node), expected));
      EXPECT_EQ(attempt.fell_back(), undisturbed.fell_back());
      if (!hit) break;
    }
  }
}

/// Where the output lies over the input, nothing can be tried again; preparing such a node is no different.
std::vector<size_t> CasesThatKeepTheirInputs() {
  std::vector<size_t> cases;
  for (size_t i = 0; i < ConformanceCases().size(); ++i) {
    if (ConformanceCases()[i].in_place < 0) cases.push_back(i);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, RefusedMemory, ::testing::ValuesIn(CasesThatKeepTheirInputs()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return ConformanceCases()[info.param].name;
                         });

/// A shape that cannot be had takes nothing from the one before it.
class RefusedShapes : public RefusedMemory {};

struct TwoShapes {
  Case first;
  Case second;
};

/// Of each kind of preparation: what depends on extents, on strides, and on blocks of weights.
std::vector<TwoShapes> ShapePairs() {
  CaseList list;
  const auto add = [&](OpCode op, std::initializer_list<Argument> inputs) -> Case& {
    return list.Add(op, "shapes", inputs);
  };
  const auto half = [](Argument argument) {
    argument.dtype = DType::kF16;
    return argument;
  };
  add(OpCode::kConv2d, {F32({1, 8, 8, 6}), Weights({5, 3, 3, 6}), Weights({5})});
  add(OpCode::kConv2d, {F32({1, 8, 8, 6}), Weights({4, 3, 3, 3}), Absent()}).As<Conv2dAttrs>().groups = 2;
  list.cases().back().As<Conv2dAttrs>().pads = {1, 1, 1, 1};
  add(OpCode::kConv2d, {F32({1, 8, 8, 6}), Weights({6, 3, 3, 1}), Absent()}).As<Conv2dAttrs>().groups = 6;
  add(OpCode::kConvTranspose2d, {F32({1, 8, 8, 6}), Weights({5, 3, 3, 6}), Weights({5})});
  add(OpCode::kMaxPool2d, {F32({1, 8, 8, 6})}).As<Pool2dAttrs>().kernel = {3, 3};
  add(OpCode::kAveragePool2d, {F32({1, 8, 8, 6})}).As<Pool2dAttrs>().kernel = {3, 3};
  add(OpCode::kSoftmax, {F32({1, 8, 8, 6})}).As<AxisAttrs>().axis = -1;
  add(OpCode::kTranspose, {F32({1, 8, 8, 6})}).As<TransposeAttrs>().perm = {0, 3, 1, 2};
  add(OpCode::kFullyConnected, {F32({8, 1024}), Weights({1024, 1024}), Absent()});
  add(OpCode::kFullyConnected, {half(F32({8, 1024})), half(Weights({1100, 1024})), Absent()});
  std::vector<TwoShapes> pairs;
  for (const Case& first : list.cases()) {
    Case larger = first;
    for (int axis = 0; axis + 1 < larger.inputs[0].shape.rank(); ++axis) larger.inputs[0].shape[axis] += 9;
    pairs.push_back({first, larger});
    Case strided = first;  // An operator is made anew for other distances of rows.
    strided.inputs[0].row_gap = 4;
    if (first.op != OpCode::kTranspose) pairs.push_back({first, strided});
  }
  return pairs;
}

TEST_P(RefusedShapes, LeaveTheOthers) {
  const TwoShapes pair = ShapePairs()[GetParam()];
  Node nodes[] = {Node(pair.first), Node(pair.second)};
  Outputs expected[2];
  for (int i = 0; i < 2; ++i)
    expected[i] = nodes[i].Run(*BuiltinXnnpackDelegate().CreateModelState({}).value(), {}).outputs;
  Node changing(pair.first);
  for (long at = 1;; ++at) {
    SCOPED_TRACE(at);
    ASSERT_LT(at, 1000);
    Attempt attempt(changing);
    const auto computes = [&](int i) {
      changing.TakeTensorsOf(nodes[i]);
      Forget(changing);
      ASSERT_TRUE(attempt.GoOn().ok());
      EXPECT_TRUE(Same(OutputsOf(changing), expected[i])) << i;
    };
    computes(0);
    changing.TakeTensorsOf(nodes[1]);
    of_memory = {at};
    const Status status = attempt.GoOn();
    const bool hit = of_memory.hit;
    of_memory = {};
    EXPECT_EQ(status.ok(), !hit);
    attempt.Stumble();
    for (const int i : {0, 1, 0}) computes(i);
    if (!hit) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RefusedShapes, ::testing::Range(size_t{0}, ShapePairs().size()));

}  // namespace
}  // namespace skiff::testing
