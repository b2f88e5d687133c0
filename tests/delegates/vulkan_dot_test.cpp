// Products of codes with integer dot products and without: the same bits, whichever instruction computes
// them.
#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>

#include "conformance_cases.h"
#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/support.h"
#include "ops/op_codes.h"
#include "vulkan_program.h"

namespace skiff::testing {
namespace {

constexpr VulkanDot kForced[] = {VulkanDot::kSigned, VulkanDot::kUnsigned, VulkanDot::kMixed,
                                 VulkanDot::kAlways};

VulkanOptions OptionsFor(VulkanDot dot, VulkanPrecision precision = VulkanPrecision::kF32) {
  VulkanOptions options = VulkanOptionsFromEnvironment();
  options.validation = true;
  options.dot = dot;
  options.precision = precision;
  return options;
}

std::shared_ptr<vulkan::Device> DeviceOrNull() {
  ErrorCapture quiet;
  auto device = vulkan::Device::Get(OptionsFor(VulkanDot::kNever));
  return device.ok() ? *device : nullptr;
}

/// One Model for all cases.
ModelState& StateOf(VulkanDot dot, VulkanPrecision precision) {
  static std::map<std::pair<VulkanDot, VulkanPrecision>, std::unique_ptr<ModelState>> states;
  auto [at, is_new] = states.try_emplace({dot, precision});
  if (is_new) at->second = std::move(*VulkanDelegate(OptionsFor(dot, precision)).CreateModelState({}));
  return *at->second;
}

bool IsCodes(const Argument& argument) {
  return argument.quantization != nullptr && (argument.dtype == DType::kI8 || argument.dtype == DType::kU8);
}

bool IsProduct(const Case& description) {
  const OpCode op = description.op;
  const bool product = op == OpCode::kConv2d || op == OpCode::kConvTranspose2d ||
                       op == OpCode::kFullyConnected || op == OpCode::kMatMul;
  return product && IsCodes(description.inputs[0]) && IsCodes(description.inputs[1]) &&
         VulkanSupport().Supports(Node(description).types());
}

const std::vector<Case>& Products() {
  static const std::vector<Case> products = [] {
    std::vector<Case> some;
    std::copy_if(ConformanceCases().begin(), ConformanceCases().end(), std::back_inserter(some), IsProduct);
    return some;
  }();
  return products;
}

/// The same real numbers, as codes of the other sign.
void Flip(Argument& argument) {
  static std::list<Quantization> kept;
  static std::list<std::vector<int32_t>> kept_zeros;
  const int32_t by = argument.dtype == DType::kI8 ? 128 : -128;
  Quantization flipped = *argument.quantization;
  if (flipped.per_tensor()) {
    flipped.zero_point += by;
  } else {
    std::vector<int32_t>& zeros = kept_zeros.emplace_back();
    for (int64_t i = 0; i < flipped.count; ++i) zeros.push_back(flipped.ZeroPointAt(i) + by);
    flipped.zero_points = zeros.data();
  }
  argument.dtype = argument.dtype == DType::kI8 ? DType::kU8 : DType::kI8;
  argument.low += by;
  argument.high += by;
  argument.quantization = &kept.emplace_back(flipped);
}

struct Variant {
  const char* name;
  bool flips_x, flips_w;
  bool to_reals;
  VulkanPrecision precision;
};
constexpr Variant kVariants[] = {
    {"as listed", false, false, false, VulkanPrecision::kF32},
    {"other x", true, false, false, VulkanPrecision::kF32},
    {"other weights", false, true, false, VulkanPrecision::kF32},
    {"to floats", false, false, true, VulkanPrecision::kF32},
    {"to f16", true, false, true, VulkanPrecision::kF16Storage},
};

Case VariantOf(Case description, const Variant& variant) {
  if (variant.flips_x) Flip(description.inputs[0]);
  if (variant.flips_w) Flip(description.inputs[1]);
  if (variant.to_reals) {
    description.quantized_output = DType::kInvalid;
    description.output_quantization = nullptr;
  }
  return description;
}

class VulkanDotProducts : public ::testing::TestWithParam<size_t> {};

TEST_P(VulkanDotProducts, GiveTheSameBits) {
  const auto device = DeviceOrNull();
  if (device == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  if (device->DotsFor(OptionsFor(VulkanDot::kAlways)) == 0)
    GTEST_SKIP() << "the device has no integer dot products";
  const uint64_t messages = vulkan::ValidationMessages();
  for (const Variant& variant : kVariants) {
    Node node(VariantOf(Products()[GetParam()], variant));
    if (!device->Has(variant.precision) || !VulkanSupport().Supports(node.types())) continue;
    const Node::Outcome expected = node.Run(StateOf(VulkanDot::kNever, variant.precision), {});
    EXPECT_FALSE(expected.fell_back);
    for (const VulkanDot dot : kForced) {
      if (variant.to_reals != (dot == VulkanDot::kAlways)) continue;
      SCOPED_TRACE(std::string(variant.name) + ", " + std::to_string(static_cast<int>(dot)));
      const Node::Outcome got = node.Run(StateOf(dot, variant.precision), {});
      EXPECT_EQ(got.damage, "");
      EXPECT_FALSE(got.fell_back);
      EXPECT_TRUE(SameElements(got, expected));
    }
  }
  EXPECT_EQ(vulkan::ValidationMessages(), messages) << "the validation layer had something to say";
}

std::vector<size_t> Indices() {
  std::vector<size_t> all;
  for (size_t i = 0; i < Products().size(); ++i) all.push_back(i);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, VulkanDotProducts, ::testing::ValuesIn(Indices()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return Products()[info.param].name + "_dot";
                         });

using Names = std::set<std::string>;

/// The families that a product's lowering asks for.
Names FamiliesOf(const char* name, const VulkanOptions& options) {
  const auto found = std::find_if(Products().begin(), Products().end(),
                                  [&](const Case& description) { return description.name == name; });
  if (found == Products().end()) throw std::runtime_error(std::string("there is no case ") + name);
  return testing::FamiliesOf(Node(*found), DeviceOrNull(), options);
}

TEST(VulkanDotProductsTable, AreChosenByTheDeviceAndTheOptions) {
  const auto device = DeviceOrNull();
  if (device == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  const bool has = device->DotsFor(OptionsFor(VulkanDot::kAlways)) != 0;
  const uint32_t fast = device->DotsFor(OptionsFor(VulkanDot::kWhereFast));
  RecordProperty("fast_dots", static_cast<int>(fast));
  const Names in_fours[] = {{"quantized_conv"}, {"quantized_conv_dot"}};
  const Names any[] = {{"quantized_grouped_conv"}, {"quantized_grouped_conv_dot"}};
  for (const char* name : {"Conv2d_quantized_1x1_wide_i8", "Conv2d_quantized_3x3_u8",
                           "FullyConnected_quantized_i8_rows_5", "MatMul_quantized_i8_weights_fours"}) {
    EXPECT_EQ(FamiliesOf(name, OptionsFor(VulkanDot::kNever)), in_fours[0]) << name;
    EXPECT_EQ(FamiliesOf(name, OptionsFor(VulkanDot::kWhereFast)), in_fours[fast != 0]) << name;
    for (const VulkanDot dot : kForced) EXPECT_EQ(FamiliesOf(name, OptionsFor(dot)), in_fours[has]) << name;
  }
  EXPECT_EQ(FamiliesOf("Conv2d_quantized_3x3_odd_channels_i8", OptionsFor(VulkanDot::kAlways)), any[has]);
  EXPECT_EQ(FamiliesOf("Conv2d_quantized_depthwise_3x3_i8", OptionsFor(VulkanDot::kAlways)),
            Names{"quantized_depthwise"});
}

TEST(VulkanDotProductsTable, HaveNamesInTheEnvironment) {
  const char* const kNames[] = {"fast", "never", "always", "signed", "unsigned", "mixed"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    setenv("SKIFF_VULKAN_DOT", kNames[i], 1);
    EXPECT_EQ(VulkanOptionsFromEnvironment().dot, static_cast<VulkanDot>(i)) << kNames[i];
  }
  unsetenv("SKIFF_VULKAN_DOT");
  EXPECT_EQ(VulkanOptionsFromEnvironment().dot, VulkanDot::kWhereFast);
}

TEST(VulkanDotProductsTable, MultiplyOneByOneWithoutTheShader) {
  if (DeviceOrNull() == nullptr) GTEST_SKIP() << "there is no Vulkan device here";
  VulkanOptions options = OptionsFor(VulkanDot::kAlways);
  options.quarantine = "quantized_conv_dot";
  EXPECT_EQ(FamiliesOf("Conv2d_quantized_1x1_wide_i8", options), Names{"quantized_conv"});
}

}  // namespace
}  // namespace skiff::testing
