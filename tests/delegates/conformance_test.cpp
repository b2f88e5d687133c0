// Every lowering against the reference kernel, on one thread and on two.
#include <cpuinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance_cases.h"
#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/support.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "skiff/thread_pool.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

std::unique_ptr<ModelState> NewState(const Delegate& delegate) {
  Result<std::unique_ptr<ModelState>> state = delegate.CreateModelState({});
  if (!state.ok()) throw std::runtime_error("the delegate cannot start");
  return std::move(*state);
}

/// Starting threads for each case would take longer than the cases.
ThreadPool* SharedPool() {
  static const std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(2).value());
  return pool.get();
}

/// Where the CPU has no arithmetic on f16, XNNPACK refuses most operators on it, and the reference kernels
/// run them.
bool CpuHasHalf() {
#if CPUINFO_ARCH_ARM || CPUINFO_ARCH_ARM64
  static const bool has = cpuinfo_initialize() && cpuinfo_has_arm_neon_fp16_arith();
#else
  static const bool has = cpuinfo_initialize() && cpuinfo_has_x86_avx2() && cpuinfo_has_x86_f16c();
#endif
  return has;
}

bool CanRun(const Case& description) {
  const bool half = std::any_of(description.inputs.begin(), description.inputs.end(),
                                [](const Argument& input) { return input.dtype == DType::kF16; });
  return !half || CpuHasHalf();
}

class Conformance : public ::testing::TestWithParam<size_t> {};

/// Whether the predicates promise that the delegate runs the node, whose views have the gaps of the case.
bool IsPromised(const Node& node) {
  const Case& description = node.description();
  bool promised = description.falls_back == nullptr && XnnpackSupport().Supports(node.types());
  for (size_t i = 0; i < description.inputs.size(); ++i)
    promised = promised &&
               (description.inputs[i].row_gap == 0 || XnnpackSupport().TakesStridedInput(node.types(), i));
  return promised && (description.output_row_gap == 0 || XnnpackSupport().WritesStridedOutput(node.types()));
}

/// Whether Sessions that want exact sums have to be tried apart.
std::vector<bool> Exactness(const Case& description) {
  const bool has_ways = description.op == OpCode::kConv2d || description.op == OpCode::kFullyConnected ||
                        description.op == OpCode::kMatMul;
  return has_ways ? std::vector<bool>{true, false} : std::vector<bool>{false};
}

TEST_P(Conformance, MatchesTheReference) {
  const Case& description = ConformanceCases()[GetParam()];
  Node node(description);
  const auto reference_state = NewState(ReferenceDelegate());
  const auto fast_state = NewState(BuiltinXnnpackDelegate());
  const Node::Outcome expected = node.Run(*reference_state, {});
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), SharedPool()}) {
    for (const bool exact : Exactness(description)) {
      SCOPED_TRACE(std::string(pool == nullptr ? "one thread" : "two threads") + (exact ? ", exact" : ""));
      const Node::Outcome got =
          node.Run(*fast_state, {.thread_pool = pool, .thread_small_work = true, .exact = exact});
      EXPECT_EQ(Compare(node, got, expected, *reference_state, DelegateKind::kXnnpack, exact), "");
      EXPECT_EQ(IsPromised(node), description.falls_back == nullptr);
      if (!CanRun(description)) continue;
      EXPECT_EQ(got.fell_back, description.falls_back != nullptr)
          << (description.falls_back != nullptr ? description.falls_back : "the XNNPACK path did not run");
    }
  }
}

/// Operators are prepared before a run's inputs are there, and keep nothing of an earlier run's. What is
/// usually constant may as well be an input, or computed, and the other way round.
TEST_P(Conformance, FollowsItsInputsInEveryForm) {
  const Case& description = ConformanceCases()[GetParam()];
  Node listed(description);
  const auto reference_state = NewState(ReferenceDelegate());
  const auto fast_state = NewState(BuiltinXnnpackDelegate());
  const Node::Outcome expected = listed.Run(*reference_state, {});
  for (const Form& form : FormsOf(description)) {
    SCOPED_TRACE(FormText(form));
    Node node(description, form);
    const Node::Outcome reference = node.RunAfterOthers(*reference_state, {});
    EXPECT_TRUE(SameElements(reference, expected)) << "on the reference";
    for (const bool exact : Exactness(description)) {
      SCOPED_TRACE(exact ? "exact" : "");
      const Node::Outcome got = node.RunAfterOthers(*fast_state, {.exact = exact});
      EXPECT_EQ(Compare(listed, got, expected, *reference_state, DelegateKind::kXnnpack, exact), "");
      EXPECT_FALSE(IsPromised(node) && got.fell_back && CanRun(description))
          << "the XNNPACK path did not run";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::Range(size_t{0}, ConformanceCases().size()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return ConformanceCases()[info.param].name;
                         });

/// That an input's elements can change is what the cases above rest on.
TEST(ConformanceTable, HasACaseForEveryInputOfEveryOperator) {
  std::set<std::pair<OpCode, size_t>> changing;
  for (const Case& description : ConformanceCases()) {
    const Node node(description);
    for (size_t i = 0; i < node.inputs(); ++i) {
      if (!node.HasInput(i)) continue;
      const bool differs = node.others(i) != ElementsOf(node.input(i));
      if (differs || FindOp(description.op)->NeedsValues(i)) changing.insert({description.op, i});
    }
  }
  for (const OpDef& op : AllOps()) {
    // What runs other graphs, acts instead of computing, or is the application's own, is tested where
    // Sessions are (tests/runtime).
    if (op.Is(kBodies) || op.Is(kEffect) || op.code == OpCode::kCustom) continue;
    const size_t inputs = op.max_inputs == kVariadic ? 2 : op.max_inputs;
    for (size_t i = 0; i < inputs; ++i) EXPECT_TRUE(changing.contains({op.code, i})) << op.name << " " << i;
  }
}

TEST(ConformanceTable, CoversEveryLowering) {
  std::set<OpCode> covered;
  std::set<OpCode> quantized;
  for (const Case& description : ConformanceCases()) {
    if (description.falls_back != nullptr) continue;
    (TouchesQuantized(Node(description).types()) ? quantized : covered).insert(description.op);
  }
  std::set<OpCode> lowered = {
#define LOWERING(Name, Lowering) OpCode::k##Name,
#include "delegates/xnnpack/lowerings.def"
#undef LOWERING
  };
  std::set<OpCode> lowered_quantized = {
#define LOWERING(Name, Lowering) OpCode::k##Name,
#include "delegates/xnnpack/quantized.def"
#undef LOWERING
  };
  for (const OpCode op : lowered) {
    const QuantizedUse use = QuantizedUseOf(op);
    if (use == QuantizedUse::kMoves || use == QuantizedUse::kCodes) lowered_quantized.insert(op);
  }
  std::erase_if(lowered, [](OpCode op) { return QuantizedUseOf(op) == QuantizedUse::kCodes; });
  EXPECT_EQ(covered, lowered);
  EXPECT_EQ(quantized, lowered_quantized);
}

}  // namespace
}  // namespace skiff::testing
