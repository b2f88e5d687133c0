// Changed cases (changed_cases.h) against the reference kernels.
#include <gtest/gtest.h>

#include "changed_cases.h"
#include "delegates/xnnpack/delegate.h"
#include "ops/op_codes.h"
#include "skiff/thread_pool.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

class RandomCases : public ::testing::TestWithParam<OpCode> {};

TEST_P(RandomCases, MatchTheReference) {
  const auto reference_state = std::move(ReferenceDelegate().CreateModelState({}).value());
  const auto fast_state = std::move(BuiltinXnnpackDelegate().CreateModelState({}).value());
  const std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(2).value());
  ForEachChange(GetParam(), [&](int i, Node& node) {
    SCOPED_TRACE(node.description().name + ": " + Describe(node.description()));
    const std::optional<Node::Outcome> expected = TryRun(node, *reference_state, {});
    ThreadPool* const threads = i % 2 == 0 ? nullptr : pool.get();
    const std::optional<Node::Outcome> got =
        TryRun(node, *fast_state, {.thread_pool = threads, .thread_small_work = true});
    EXPECT_EQ(got.has_value(), expected.has_value());
    if (!got || !expected) return;
    EXPECT_EQ(Compare(node, *got, *expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false), "");
  });
}

/// One prepared node at one size after the other, as in a Session of an open shape. Its constants stay.
TEST_P(RandomCases, FollowTheShape) {
  const auto reference_state = std::move(ReferenceDelegate().CreateModelState({}).value());
  const auto fast_state = std::move(BuiltinXnnpackDelegate().CreateModelState({}).value());
  const auto session = std::move(fast_state->CreateSession({}).value());
  for (Case original : ConformanceCases()) {
    original.in_place = -1;
    if (original.op != GetParam()) continue;
    const std::unique_ptr<Node> node = TryNode(original);
    if (!node) continue;
    Result<std::unique_ptr<PreparedSegment>> prepared = session->Prepare(node->segment());
    ASSERT_TRUE(prepared.ok());
    for (int i = 0; i < ChangesPerCase(); ++i) {
      const Case changed = Changed(original, Changes::kInputs, static_cast<uint32_t>(i));
      const std::unique_ptr<Node> fresh = TryNode(changed);
      if (!fresh) continue;
      SCOPED_TRACE(changed.name + ": " + Describe(changed));
      const std::optional<Node::Outcome> expected = TryRun(*fresh, *reference_state, {});
      if (!expected) continue;
      const Node::Outcome got = node->RunAt(*fresh, **prepared);
      EXPECT_EQ(Compare(*fresh, got, *expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false),
                "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomCases, ::testing::ValuesIn(CasesOperators()),
                         [](const ::testing::TestParamInfo<OpCode>& info) {
                           return std::string(FindOp(info.param)->name);
                         });

/// Changes that the rules refuse would test nothing.
TEST(ChangedCases, AreMostlyTaken) {
  int drawn = 0;
  int taken[2] = {};
  for (const Case& original : ConformanceCases()) {
    for (uint32_t seed = 0; seed < 2; ++seed) {
      ++drawn;
      taken[0] += TryNode(Changed(original, Changes::kAll, seed)) ? 1 : 0;
      taken[1] += TryNode(Changed(original, Changes::kInputs, seed)) ? 1 : 0;
    }
  }
  EXPECT_GT(2 * taken[0], drawn);
  EXPECT_GT(2 * taken[1], drawn);
}

}  // namespace
}  // namespace skiff::testing
