// Every lowering against the reference kernel, on one thread and on two.
#include <cpuinfo.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <algorithm>
#include <set>

#include "conformance_cases.h"
#include "delegates/support.h"
#include "delegates/xnnpack/delegate.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

std::unique_ptr<ModelState> NewState(const Delegate& delegate) {
  Result<std::unique_ptr<ModelState>> state = delegate.CreateModelState();
  if (!state.ok()) throw std::runtime_error("the delegate cannot start");
  return std::move(*state);
}

/// Starting threads for each case would take longer than the cases.
pthreadpool_t SharedPool() {
  static const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool(pthreadpool_create(2),
                                                                                 pthreadpool_destroy);
  return pool.get();
}

/// Where the CPU has no arithmetic on f16, XNNPACK refuses most operators on it, and the reference kernels run
/// them.
bool CpuHasHalf() {
#if CPUINFO_ARCH_ARM || CPUINFO_ARCH_ARM64
  static const bool has = cpuinfo_initialize() && cpuinfo_has_arm_neon_fp16_arith();
#else
  static const bool has = cpuinfo_initialize() && cpuinfo_has_x86_avx2() && cpuinfo_has_x86_f16c();
#endif
  return has;
}

class Conformance : public ::testing::TestWithParam<size_t> {};

TEST_P(Conformance, MatchesTheReference) {
  const Case& description = ConformanceCases()[GetParam()];
  Node node(description, static_cast<uint32_t>(GetParam()) + 1);
  const auto reference_state = NewState(ReferenceDelegate());
  const auto fast_state = NewState(XnnpackDelegate());
  const Node::Outcome expected = node.Run(*reference_state, {});
  const bool half = std::any_of(description.inputs.begin(), description.inputs.end(),
                                [](const Argument& input) { return input.dtype == DType::kF16; });
  for (const pthreadpool_t pool : {pthreadpool_t(nullptr), SharedPool()}) {
    SCOPED_TRACE(pool == nullptr ? "one thread" : "two threads");
    const Node::Outcome got = node.Run(*fast_state, {1, pool});
    EXPECT_EQ(Compare(node, got, expected, *reference_state), "");
    if (half && !CpuHasHalf()) continue;
    EXPECT_EQ(got.fell_back, description.falls_back != nullptr)
        << (description.falls_back != nullptr ? description.falls_back : "the XNNPACK path did not run");
  }
}

/// A view that the predicates promise to take must not end up on the reference kernel.
TEST_P(Conformance, StridePredicatesKeepTheirPromise) {
  const Case& description = ConformanceCases()[GetParam()];
  Node node(description, 1);
  if (description.falls_back != nullptr) return;
  EXPECT_TRUE(XnnpackSupports(node.types()));
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    EXPECT_TRUE(description.inputs[i].row_gap == 0 || XnnpackTakesStridedInput(node.types(), i))
        << "input " << i;
  }
  EXPECT_TRUE(description.output_row_gap == 0 || XnnpackWritesStridedOutput(node.types()));
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::Range(size_t{0}, ConformanceCases().size()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return ConformanceCases()[info.param].name;
                         });

TEST(ConformanceTable, CoversEveryLowering) {
  std::set<OpCode> covered;
  for (const Case& description : ConformanceCases()) {
    if (description.falls_back == nullptr) covered.insert(description.op);
  }
  const struct {
    OpCode op;
    const char* lowering;
  } kRows[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {OpCode::k##Name, #Xnnpack},
#include "ops/ops.def"
#undef OP
  };
  for (const auto& row : kRows) {
    const bool has_lowering = std::string(row.lowering) != "_";
    EXPECT_EQ(covered.contains(row.op), has_lowering) << FindOp(row.op)->name;
  }
}

}  // namespace
}  // namespace skiff::testing
