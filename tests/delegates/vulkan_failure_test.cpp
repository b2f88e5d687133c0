// What happens where the device is absent or fails.
#include <gmock/gmock.h>

#include "tests/delegates/vulkan_session.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

/// What goes wrong, and the sentence about it.
struct Failure {
  VulkanFault fault;
  const char* sentence;
  StatusCode code;
  VulkanPrecision precision = VulkanPrecision::kF32;
};

constexpr Failure kFailures[] = {
    {VulkanFault::kNoDevice, "finds no device", StatusCode::kUnsupported},
    {VulkanFault::kOldDriver, "speaks Vulkan 1.0; Skiff needs 1.1", StatusCode::kUnsupported},
    {VulkanFault::kMissingFeature, "has no 16-bit storage, which", StatusCode::kUnsupported,
     VulkanPrecision::kF16Storage},
    {VulkanFault::kMissingFeature, "has no 16-bit storage and arithmetic", StatusCode::kUnsupported,
     VulkanPrecision::kF16Arithmetic},
    {VulkanFault::kOutOfMemory, "cannot allocate", StatusCode::kOutOfMemory},
    {VulkanFault::kPipeline, "cannot compile a shader", StatusCode::kUnsupported},
    {VulkanFault::kWrongResult, "computes wrong numbers", StatusCode::kUnsupported},
};

class VulkanFailure : public ::testing::TestWithParam<Failure> {
 protected:
  void SetUp() override {
    if (!HasDevice()) GTEST_SKIP() << "there is no Vulkan device here";
    options_ = TestOptions();
    options_.fault = GetParam().fault;
    options_.precision = GetParam().precision;
  }
  VulkanOptions options_;
};

TEST_P(VulkanFailure, FallsBackToTheCpuVisibly) {
  for (const char* net : {kSmallNet, kOpenNet}) {
    Opened opened(net, options_);
    const Tensors inputs = net == kSmallNet ? RandomInputs(opened.source(), 7) : RowsOf(3, 7);
    const LogCapture log;
    const auto session = opened.MustCreate();
    const Tensors outputs = RunSession(*session, inputs);
    EXPECT_EQ(session->target(), Target::kCpu);
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr(GetParam().sentence)));
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("the cpu plan runs instead")));
    ExpectNear(outputs, Evaluate(opened.source(), inputs));
  }
}

TEST_P(VulkanFailure, IsAnErrorWhereTheGpuIsDemanded) {
  Opened opened(kSmallNet, options_);
  SessionOptions demanding;
  demanding.fall_back = false;
  ErrorCapture capture;
  EXPECT_EQ(opened.Create(demanding).status().code(), GetParam().code);
  EXPECT_THAT(capture.message(), HasSubstr(GetParam().sentence));
}

std::string FaultName(const ::testing::TestParamInfo<Failure>& info) {
  constexpr const char* kNames[] = {"none",          "no_device", "old_driver",  "missing_feature",
                                    "out_of_memory", "pipeline",  "device_lost", "too_long",
                                    "wrong_result"};
  const bool arithmetic = info.param.precision == VulkanPrecision::kF16Arithmetic;
  return std::string(kNames[static_cast<size_t>(info.param.fault)]) + (arithmetic ? "_arithmetic" : "");
}

INSTANTIATE_TEST_SUITE_P(All, VulkanFailure, ::testing::ValuesIn(kFailures), FaultName);

TEST_F(VulkanSession, TriesIntegerDotProductsBeforeItUsesThem) {
  VulkanOptions options = TestOptions();
  options.dot = VulkanDot::kAlways;
  if ((*vulkan::Device::Get(options))->DotsFor(options) == 0)
    GTEST_SKIP() << "the device has no integer dot products";
  const auto is_wrong = ::testing::Contains(HasSubstr("wrong numbers with the shader quantized_conv_dot"));
  for (const VulkanFault fault : {VulkanFault::kNone, VulkanFault::kWrongResult}) {
    options.fault = fault;
    for (const VulkanDot dot : {VulkanDot::kNever, VulkanDot::kAlways}) {
      options.dot = dot;
      const bool expected = fault == VulkanFault::kWrongResult && dot == VulkanDot::kAlways;
      Opened opened(kSmallNet, options);
      const LogCapture log;
      const auto session = opened.MustCreate();
      EXPECT_EQ(::testing::Matches(is_wrong)(log.lines()), expected) << ::testing::PrintToString(log.lines());
    }
  }
}

/// What takes too long may still run: nothing that it uses is destroyed.
TEST_F(VulkanSession, ReportsALostDeviceAndStartsAnew) {
  struct Loss {
    VulkanFault fault;
    const char* sentence;
  };
  for (const Loss& loss : {Loss{VulkanFault::kDeviceLost, "the device is lost"},
                           Loss{VulkanFault::kTooLong, "it took too long"}}) {
    SCOPED_TRACE(loss.sentence);
    VulkanOptions options = TestOptions();
    options.fault = loss.fault;
    {
      Opened opened(kSmallNet, options);
      const auto session = opened.MustCreate();
      const Tensors inputs = RandomInputs(opened.source(), 7);
      ASSERT_TRUE(session->SetInput("image", inputs.at("image").view()).ok());
      ErrorCapture capture;
      EXPECT_EQ(session->Run().code(), StatusCode::kDeviceLost);
      EXPECT_THAT(capture.message(), HasSubstr(loss.sentence));
      EXPECT_EQ(session->Run().code(), StatusCode::kDeviceLost) << "again";
      EXPECT_EQ(opened.Create({.fall_back = false}).status().code(), StatusCode::kDeviceLost);
    }
    Opened opened(kSmallNet, TestOptions());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  }
}

TEST(VulkanPlan, IsMissingUnlessAskedFor) {
  Opened opened(kSmallNet, TestOptions(), ConvertOptions());
  ErrorCapture capture;
  EXPECT_EQ(opened.Create().status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(), HasSubstr("--target vulkan"));
}

}  // namespace
}  // namespace skiff::testing
