// Every Vulkan lowering against the reference kernel: with f32 and with f16 storage, in mapped memory and
// through staging buffers, with the validation layer listening.
#include <gtest/gtest.h>

#include <cstdlib>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "conformance_cases.h"
#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device/device.h"
#include "delegates/vulkan/support.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "tolerance.h"
#include "vulkan_program.h"

namespace skiff::testing {
namespace {

/// No tensor of a case is larger, but for recurrent weights.
constexpr VulkanLimits kLimits = {1200128, 100, 128};

struct Configuration {
  const char* name;
  VulkanPrecision precision;
  bool force_staging;
  uint32_t group_size = 0;  ///< 0: by rule.
  uint32_t conv_tile = 0;
  VulkanLimits limits = {};
};

constexpr Configuration kConfigurations[] = {
    {"f32", VulkanPrecision::kF32, false},
    {"f32_staged", VulkanPrecision::kF32, true},
    {"f16", VulkanPrecision::kF16Storage, false},
    {"f16_staged", VulkanPrecision::kF16Storage, true},
    {"f16_arithmetic", VulkanPrecision::kF16Arithmetic, false},
    // The smallest and the largest that are tuned (delegates/vulkan/segment/measure.cpp).
    {"f32_small", VulkanPrecision::kF32, false, 32, 1},
    {"f16_large", VulkanPrecision::kF16Storage, false, 256, 2},
    // A small device: work groups of 128 at most, many rows of them, and weights that are seen in parts.
    {"f32_limited", VulkanPrecision::kF32, false, 256, 4, kLimits},
    {"f16_limited", VulkanPrecision::kF16Storage, false, 256, 4, kLimits},
};

/// One Model for all cases of a configuration; null where there is no device.
ModelState* StateOf(const Configuration& configuration) {
  static std::map<std::string, std::unique_ptr<ModelState>> states;
  auto [at, is_new] = states.try_emplace(configuration.name);
  if (is_new) {
    VulkanOptions options = VulkanOptionsFromEnvironment();
    options.validation = true;
    options.precision = configuration.precision;
    options.force_staging = configuration.force_staging;
    options.group_size = configuration.group_size;
    options.conv_tile = configuration.conv_tile;
    options.limits = configuration.limits;
    ErrorCapture quiet;
    Result<std::unique_ptr<ModelState>> made = VulkanDelegate(options).CreateModelState({});
    if (made.ok()) at->second = std::move(*made);
  }
  return at->second.get();
}

bool ReadsCodes(const Case& description) {
  return std::any_of(description.inputs.begin(), description.inputs.end(), [](const Argument& input) {
    return input.quantization != nullptr || input.stored != DType::kInvalid;
  });
}

/// With f16 storage every float is rounded; the reference does the same where the tensors are f16. The scales
/// of a Resize are no tensor of the device. Codes stand for f32, and what is beside them is f32 as well.
Case InHalf(Case description) {
  if (ReadsCodes(description)) return description;
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const bool scales = description.op == OpCode::kResize2d && i > 0;
    if (description.inputs[i].dtype == DType::kF32 && !scales) description.inputs[i].dtype = DType::kF16;
  }
  if (description.op == OpCode::kCast && description.As<CastAttrs>().to == static_cast<int64_t>(DType::kF32))
    description.As<CastAttrs>().to = static_cast<int64_t>(DType::kF16);
  return description;
}

/// The reference kernel knows what a result is that no element goes into.
bool ReadsNothing(const Node& node) {
  for (size_t i = 0; i < node.inputs(); ++i) {
    const bool moved =
        FindOp(node.description().op)->NeedsValues(i) || node.description().op == OpCode::kConcat;
    for (size_t output = 0; node.HasInput(i) && !moved && output < node.outputs(); ++output) {
      if (node.input(i).shape.elements() == 0 && node.output(output).shape.elements() > 0) return true;
    }
  }
  return false;
}

using Names = std::set<std::string>;

const std::map<std::string, Names>& FamiliesByLowering() {
  static const std::map<std::string, Names> table = [] {
    std::map<std::string, Names> families;
#define USES(Lowering, Family) families[#Lowering].insert(#Family);
#include "delegates/vulkan/lower/lowering_shaders.def"
#undef USES
    return families;
  }();
  return table;
}

/// By operator, and whether codes are computed with.
using LoweringKey = std::pair<OpCode, bool>;
const std::map<LoweringKey, std::string>& Lowerings() {
  static const std::map<LoweringKey, std::string> lowerings = {
#define LOWERING(Name, Lowering) {{OpCode::k##Name, false}, #Lowering},
#include "delegates/vulkan/lowerings.def"
#undef LOWERING
#define LOWERING(Name, Lowering) {{OpCode::k##Name, true}, "Quantized" #Lowering},
#include "delegates/vulkan/quantized.def"
#undef LOWERING
  };
  return lowerings;
}

LoweringKey KeyOf(const Node& node) { return {node.description().op, ComputesQuantized(node.types())}; }

/// "" for an operator without one.
std::string LoweringOf(const LoweringKey& key) {
  const auto found = Lowerings().find(key);
  return found == Lowerings().end() ? "" : found->second;
}

/// Recurrent weights, unlike others, are not worked through in parts: f32 layers of 2,900 units and more,
/// where a shader sees 128 MiB.
bool IsTooLarge(const Node& node, const Configuration& configuration) {
  const int64_t bytes = configuration.precision == VulkanPrecision::kF32 ? 4 : 2;
  return LoweringOf(KeyOf(node)) == "Recurrent" && configuration.limits.buffer_range != 0 &&
         node.input(1).shape.elements() * bytes > static_cast<int64_t>(configuration.limits.buffer_range);
}

struct Parameter {
  size_t index;
  size_t configuration;
};

/// With vectors of 512 bits on a CPU of shorter ones, lavapipe (Mesa 22.3) rounds half away from zero.
bool RoundsOtherwise(OpCode op) {
#if defined(__x86_64__)
  const char* const width = std::getenv("LP_NATIVE_VECTOR_WIDTH");
  return op == OpCode::kRound && width != nullptr && std::string(width) == "512" &&
         !__builtin_cpu_supports("avx512f");
#else
  return op == OpCode::kInvalid;
#endif
}

class VulkanConformance : public ::testing::TestWithParam<Parameter> {};

TEST_P(VulkanConformance, MatchesTheReference) {
  const Configuration& configuration = kConfigurations[GetParam().configuration];
  ModelState* state = StateOf(configuration);
  if (state == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  const Case& listed = ConformanceCases()[GetParam().index];
  if (RoundsOtherwise(listed.op)) GTEST_SKIP() << "the device rounds half away from zero on this CPU";
  Node node(configuration.precision == VulkanPrecision::kF32 ? listed : InHalf(listed));
  auto reference = ReferenceDelegate().CreateModelState({});
  const Node::Outcome expected = node.Run(**reference, {});
  const uint64_t messages = vulkan::ValidationMessages();
  const Node::Outcome got = node.Run(*state, {});
  EXPECT_EQ(vulkan::ValidationMessages(), messages) << "the validation layer had something to say";
  EXPECT_EQ(Compare(node, got, expected, **reference, DelegateKind::kVulkan), "");
  EXPECT_EQ(got.fell_back, ReadsNothing(node) || IsTooLarge(node, configuration)) << "whether a shader ran";
}

/// Whether one of the lowering's shaders computes something in f16.
bool HasF16Arithmetic(const Node& node) {
  constexpr vulkan::Shader kShaders[] = {
#define SHADER(Name, file) vulkan::Shader::k##Name,
#include "delegates/vulkan/pipelines/shaders.def"
#undef SHADER
  };
  const auto found = FamiliesByLowering().find(LoweringOf(KeyOf(node)));
  if (found == FamiliesByLowering().end()) return false;
  const Names& families = found->second;
  return std::any_of(std::begin(kShaders), std::end(kShaders), [&](vulkan::Shader shader) {
    return families.contains(vulkan::ShaderName(shader)) &&
           vulkan::CodeOf(shader, VulkanPrecision::kF16Arithmetic).words !=
               vulkan::CodeOf(shader, VulkanPrecision::kF16Storage).words;
  });
}

std::vector<Parameter> ListParameters() {
  std::vector<Parameter> all;
  for (size_t c = 0; c < std::size(kConfigurations); ++c) {
    for (size_t i = 0; i < ConformanceCases().size(); ++i) {
      const Case& description = ConformanceCases()[i];
      const VulkanPrecision precision = kConfigurations[c].precision;
      const Node node(description);
      if (!VulkanSupport().Supports(node.types())) continue;
      if (precision == VulkanPrecision::kF16Arithmetic && !HasF16Arithmetic(node)) continue;
      // Of codes the reference has f32, which storage rounds once more.
      const bool rounded = ReadsCodes(description) && IsFloat(node.output(0).dtype);
      if (precision != VulkanPrecision::kF32 && rounded) continue;
      all.push_back({i, c});
    }
  }
  return all;
}

const std::vector<Parameter>& AllParameters() {
  static const std::vector<Parameter> all = ListParameters();
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, VulkanConformance, ::testing::ValuesIn(AllParameters()),
                         [](const ::testing::TestParamInfo<Parameter>& info) {
                           return ConformanceCases()[info.param.index].name + "_" +
                                  kConfigurations[info.param.configuration].name;
                         });

/// A session for each form of a case takes its time: the first case of each operator with these inputs, of
/// these types, in mapped memory with f32 and through staging buffers with f16.
std::vector<Parameter> SampledParameters() {
  std::vector<Parameter> sampled;
  std::set<std::tuple<size_t, OpCode, std::vector<DType>>> seen;
  for (const Parameter& parameter : AllParameters()) {
    const Configuration& configuration = kConfigurations[parameter.configuration];
    if (configuration.name != std::string("f32") && configuration.name != std::string("f16_staged")) continue;
    const Case& description = ConformanceCases()[parameter.index];
    std::vector<DType> types;
    for (const Argument& input : description.inputs)
      types.push_back(input.absent                                                   ? DType::kInvalid
                      : configuration.force_staging && input.quantization == nullptr ? DType::kF16
                                                                                     : input.dtype);
    if (seen.insert({parameter.configuration, description.op, types}).second) sampled.push_back(parameter);
  }
  return sampled;
}

class VulkanForms : public ::testing::TestWithParam<Parameter> {};

/// Commands are recorded before a run's inputs are there. What is usually constant may as well be an input,
/// or computed, and the other way round.
TEST_P(VulkanForms, FollowsItsInputs) {
  const Configuration& configuration = kConfigurations[GetParam().configuration];
  ModelState* state = StateOf(configuration);
  if (state == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  const Case& listed = ConformanceCases()[GetParam().index];
  const Case description = configuration.precision == VulkanPrecision::kF32 ? listed : InHalf(listed);
  Node node(description);
  auto reference = ReferenceDelegate().CreateModelState({});
  const Node::Outcome expected = node.Run(**reference, {});
  const uint64_t messages = vulkan::ValidationMessages();
  for (const Form& form : FormsOf(description)) {
    SCOPED_TRACE(FormText(form));
    Node formed(description, form);
    const Node::Outcome got = formed.RunAfterOthers(*state, {});
    EXPECT_EQ(Compare(node, got, expected, **reference, DelegateKind::kVulkan), "");
    EXPECT_EQ(got.fell_back, ReadsNothing(formed) || !VulkanSupport().Supports(formed.types()))
        << "whether a shader ran";
  }
  EXPECT_EQ(vulkan::ValidationMessages(), messages) << "the validation layer had something to say";
}

INSTANTIATE_TEST_SUITE_P(All, VulkanForms, ::testing::ValuesIn(SampledParameters()),
                         [](const ::testing::TestParamInfo<Parameter>& info) {
                           return ConformanceCases()[info.param.index].name + "_" +
                                  kConfigurations[info.param.configuration].name + "_forms";
                         });

/// A build from an operator list has what the table says and nothing else.
TEST(VulkanConformanceTable, SaysWhichShadersALoweringUses) {
  auto device = vulkan::Device::Get(VulkanOptionsFromEnvironment());
  if (!device.ok()) GTEST_SKIP() << "there is no Vulkan device here";
  std::map<std::string, Names> table = FamiliesByLowering();
  std::map<std::string, Names> used;
  // In f32, in f16, and with integer dot products where the device has them.
  VulkanOptions asked[3];
  asked[1].precision = VulkanPrecision::kF16Storage;
  for (VulkanOptions& options : asked) options.dot = VulkanDot::kNever;
  asked[2].dot = VulkanDot::kAlways;
  for (const Parameter& parameter : AllParameters()) {
    if (parameter.configuration != 0) continue;
    const Case& description = ConformanceCases()[parameter.index];
    const Node node(description);
    if (ReadsNothing(node)) continue;
    const std::string lowering = LoweringOf(KeyOf(node));
    const bool on_reals = lowering == "QuantizedReals";
    const Names plain = on_reals ? table[LoweringOf({description.op, false})] : Names();
    for (const VulkanOptions& options : asked) {
      for (const std::string& family : FamiliesOf(node, *device, options)) {
        if (plain.contains(family)) continue;
        used[lowering].insert(family);
        EXPECT_TRUE(table[lowering].contains(family)) << description.name << " asks for " << family;
      }
    }
  }
  const auto is_dot = [](const std::string& family) { return family.ends_with("_dot"); };
  for (auto& [lowering, families] : table) {
    if ((*device)->DotsFor(asked[2]) == 0) std::erase_if(families, is_dot);
  }
  EXPECT_EQ(used, table) << "a row that no case needs";
}

TEST(VulkanConformanceTable, HasWeightsThatASmallDeviceSeesInParts) {
  auto device = vulkan::Device::Get(VulkanOptionsFromEnvironment());
  if (!device.ok()) GTEST_SKIP() << "there is no Vulkan device here";
  VulkanOptions options;
  options.limits = kLimits;
  std::set<OpCode> in_parts = {OpCode::kConv2d, OpCode::kFullyConnected, OpCode::kMatMul, OpCode::kGather};
  std::set<OpCode> missing = in_parts;
  for (const Parameter& parameter : AllParameters()) {
    const Case& description = ConformanceCases()[parameter.index];
    if (parameter.configuration != 0 || !in_parts.contains(description.op)) continue;
    const Node node(description);
    if (!ReadsNothing(node) && ProgramOf(node, *device, options).dispatches.size() > 1)
      missing.erase(description.op);
  }
  EXPECT_EQ(missing, std::set<OpCode>());
}

TEST(VulkanConformanceTable, CoversEveryLowering) {
  const auto keys_of = [](const std::vector<Parameter>& parameters) {
    std::set<LoweringKey> keys;
    for (const Parameter& parameter : parameters)
      keys.insert(KeyOf(Node(ConformanceCases()[parameter.index])));
    return keys;
  };
  const std::set<LoweringKey> covered = keys_of(AllParameters());
  std::set<LoweringKey> lowered;
  for (const auto& [key, lowering] : Lowerings()) lowered.insert(key);
  EXPECT_EQ(covered, lowered);
  const std::set<LoweringKey> in_forms = keys_of(SampledParameters());
  EXPECT_EQ(in_forms, covered);
}

}  // namespace
}  // namespace skiff::testing
