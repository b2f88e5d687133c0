// Every Vulkan lowering against the reference kernel: with f32 and with f16 storage, in mapped memory and
// through staging buffers, with the validation layer listening.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance_cases.h"
#include "core/error_capture.h"
#include "delegates/support.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

struct Configuration {
  const char* name;
  bool f16_storage;
  bool force_staging;
};

constexpr Configuration kConfigurations[] = {
    {"f32", false, false},
    {"f32_staged", false, true},
    {"f16", true, false},
};

/// One Model for all cases of a configuration; null where there is no device.
ModelState* StateOf(const Configuration& configuration) {
  static std::map<std::string, std::unique_ptr<ModelState>> states;
  auto [at, is_new] = states.try_emplace(configuration.name);
  if (is_new) {
    VulkanOptions options = VulkanOptionsFromEnvironment();
    options.validation = true;
    options.f16_storage = configuration.f16_storage;
    options.force_staging = configuration.force_staging;
    ErrorCapture quiet;
    Result<std::unique_ptr<ModelState>> made = VulkanDelegate(options).CreateModelState({});
    if (made.ok()) at->second = std::move(*made);
  }
  return at->second.get();
}

/// With f16 storage every float is rounded; the reference does the same where the tensors are f16. The scales
/// of a Resize are no tensor of the device.
Case InHalf(Case description) {
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const bool scales = description.op == OpCode::kResize2d && i > 0;
    if (description.inputs[i].dtype == DType::kF32 && !scales) description.inputs[i].dtype = DType::kF16;
  }
  return description;
}

/// The reference kernel knows what a result is that no element goes into.
bool ReadsNothing(const Node& node) {
  for (size_t i = 0; i < node.inputs(); ++i) {
    const bool moved =
        FindOp(node.description().op)->NeedsValues(i) || node.description().op == OpCode::kConcat;
    if (node.HasInput(i) && !moved && node.input(i).shape.elements() == 0)
      return node.output(0).shape.elements() > 0;
  }
  return false;
}

struct Parameter {
  size_t index;
  size_t configuration;
};

class VulkanConformance : public ::testing::TestWithParam<Parameter> {};

TEST_P(VulkanConformance, MatchesTheReference) {
  const Configuration& configuration = kConfigurations[GetParam().configuration];
  ModelState* state = StateOf(configuration);
  if (state == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  const Case& listed = ConformanceCases()[GetParam().index];
  Node node(configuration.f16_storage ? InHalf(listed) : listed, static_cast<uint32_t>(GetParam().index) + 1);
  auto reference = ReferenceDelegate().CreateModelState({});
  const Node::Outcome expected = node.Run(**reference, {});
  const uint64_t messages = vulkan::ValidationMessages();
  const Node::Outcome got = node.Run(*state, {});
  EXPECT_EQ(vulkan::ValidationMessages(), messages) << "the validation layer had something to say";
  EXPECT_EQ(Compare(node, got, expected, **reference, DelegateKind::kVulkan), "");
  EXPECT_EQ(got.fell_back, ReadsNothing(node)) << "whether a shader ran";
}

std::vector<Parameter> AllParameters() {
  std::vector<Parameter> all;
  for (size_t c = 0; c < std::size(kConfigurations); ++c) {
    for (size_t i = 0; i < ConformanceCases().size(); ++i) {
      if (VulkanSupports(Node(ConformanceCases()[i], 1).types())) all.push_back({i, c});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, VulkanConformance, ::testing::ValuesIn(AllParameters()),
                         [](const ::testing::TestParamInfo<Parameter>& info) {
                           return ConformanceCases()[info.param.index].name + "_" +
                                  kConfigurations[info.param.configuration].name;
                         });

TEST(VulkanConformanceTable, CoversEveryLowering) {
  std::set<OpCode> covered;
  for (const Parameter& parameter : AllParameters()) covered.insert(ConformanceCases()[parameter.index].op);
  const struct {
    OpCode op;
    const char* lowering;
  } kRows[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {OpCode::k##Name, #Vulkan},
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
