// Changed cases (changed_cases.h) on the GPU against the reference kernels.
#include <gtest/gtest.h>

#include "changed_cases.h"
#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device/device.h"
#include "delegates/vulkan/support.h"
#include "ops/op_codes.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

/// Null where there is no device.
std::unique_ptr<ModelState> NewState() {
  VulkanOptions options = VulkanOptionsFromEnvironment();
  options.validation = true;
  options.precision = VulkanPrecision::kF32;
  ErrorCapture quiet;
  Result<std::unique_ptr<ModelState>> made = VulkanDelegate(options).CreateModelState({});
  return made.ok() ? std::move(*made) : nullptr;
}

class VulkanRandomCases : public ::testing::TestWithParam<OpCode> {};

TEST_P(VulkanRandomCases, MatchTheReference) {
  const auto state = NewState();
  if (!state) GTEST_SKIP() << "there is no Vulkan device here";
  const auto reference_state = std::move(ReferenceDelegate().CreateModelState({}).value());
  const uint64_t messages = vulkan::ValidationMessages();
  ForEachChange(GetParam(), [&](int, Node& node) {
    if (!VulkanSupport().Supports(node.types())) return;
    SCOPED_TRACE(node.description().name + ": " + Describe(node.description()));
    const std::optional<Node::Outcome> expected = TryRun(node, *reference_state, {});
    const std::optional<Node::Outcome> got = TryRun(node, *state, {});
    EXPECT_EQ(got.has_value(), expected.has_value());
    if (!got || !expected) return;
    EXPECT_EQ(Compare(node, *got, *expected, *reference_state, DelegateKind::kVulkan), "");
  });
  EXPECT_EQ(vulkan::ValidationMessages(), messages) << "the validation layer had something to say";
}

INSTANTIATE_TEST_SUITE_P(All, VulkanRandomCases, ::testing::ValuesIn(CasesOperators()),
                         [](const ::testing::TestParamInfo<OpCode>& info) {
                           return std::string(FindOp(info.param)->name);
                         });

}  // namespace
}  // namespace skiff::testing
