// What a Session on the GPU may take, and where it writes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "delegates/vulkan/program/weights.h"
#include "skiff/delegates.h"
#include "tests/delegates/vulkan_session.h"
#include "tests/support/read_only.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

/// The GPU makes `rows`, whose elements are the input's, in the input's memory; the CPU goes on (Tan).
constexpr const char* kViewOfInput = R"(graph view {
  input x: f32[2, 6]
  const shape: i64[2] = [3, 4]
  rows = Reshape(x, shape)
  bent = Tan(rows)
  output y = bent
}
)";

TEST_F(VulkanSession, OnlyReadsWhatIsBound) {
  for (const bool f16 : {false, true}) {
    SCOPED_TRACE(f16);
    VulkanOptions options = TestOptions();
    options.precision = f16 ? VulkanPrecision::kF16Storage : VulkanPrecision::kF32;
    Opened opened(kViewOfInput, options);
    const auto session = opened.MustCreate();
    ASSERT_EQ(session->node(0).delegate, DelegateKind::kVulkan);
    const Tensors inputs = RandomInputs(opened.source(), 7);
    const ReadOnlyCopy copy(inputs.at("x"));
    ASSERT_TRUE(session->BindInput(0, copy.view()).ok());
    ASSERT_TRUE(session->Run().ok());
    const TensorView y = *session->Output(0);
    const TensorData expected = Evaluate(opened.source(), inputs).at("y");
    EXPECT_EQ(std::memcmp(y.data, expected.data(), expected.size_bytes()), 0);
  }
}

TEST_F(VulkanSession, ComparesItsMemoryWithTheLimit) {
  constexpr const char* kTruths = R"(graph truths {
    input x: f32[1024, 256]
    const zero: f32[] = 0
    above = Greater(x, zero)
    below = Less(x, zero)
    both = And(above, below)
    output y = both
  })";  // Four bytes an element on the device, one on the host.
  VulkanOptions options = TestOptions();
  options.force_staging = true;
  Opened opened(kTruths, options);
  const uint64_t arena = opened.MustCreate()->memory_usage().arena;
  ASSERT_GT(arena, uint64_t{1} << 20);
  SessionOptions limited;
  limited.fall_back = false;
  limited.memory_limit = arena + (uint64_t{1} << 18);
  ErrorCapture capture;
  const Result<std::unique_ptr<Session>> session = opened.Create(limited);
  EXPECT_EQ(session.status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("are needed beside the arena for '"));
}

TEST_F(VulkanSession, RefusesConstantsThatOutgrowTheirFile) {
  const VulkanOptions options = TestOptions();
  const auto device = *vulkan::Device::Get(options);
  vulkan::Weights weights(device, options, 1 << 20);
  unsigned char* host = nullptr;
  vulkan::WeightsKey key;
  constexpr uint64_t kEach = 20u << 20;
  for (key.layout = 1; key.layout <= 4; ++key.layout) {
    ASSERT_TRUE(weights.Add(key, kEach, &host).ok());
    EXPECT_EQ(weights.Find(key).bytes, kEach);
  }
  ErrorCapture capture;
  EXPECT_EQ(weights.Add(key, 1, &host).status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("many times what the file has"));
  EXPECT_EQ(weights.Find(key).place, vulkan::Operand::Place::kNone);
}

TEST_F(VulkanSession, FindsEachOfManyConstants) {
  const VulkanOptions options = TestOptions();
  vulkan::Weights weights(*vulkan::Device::Get(options), options, 0);
  unsigned char* host = nullptr;
  vulkan::WeightsKey key;
  for (key.sizes[0] = 0; key.sizes[0] < 1000; ++key.sizes[0]) ASSERT_TRUE(weights.Add(key, 4, &host).ok());
  for (key.sizes[0] = 0; key.sizes[0] < 1000; ++key.sizes[0])
    ASSERT_EQ(weights.Find(key).offset, key.sizes[0] * vulkan::kTensorAlignment);
  EXPECT_EQ(weights.Find(key).place, vulkan::Operand::Place::kNone);
}

/// Factors of n channels in f32 and of 2n in f16 that are the same bytes of the file.
TEST_F(VulkanSession, TellsConstantsOfTheSameBytesApart) {
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  auto model =
      Model::Open(SKIFF_SOURCE_DIR "/tests/fuzz/seeds/skiff/vulkan_one_blob_two_types.skiff", options);
  ASSERT_TRUE(model.ok());
  SessionOptions on_gpu;
  on_gpu.target = Target::kVulkan;
  on_gpu.fall_back = false;
  auto session = Session::Create(**model, on_gpu);
  ASSERT_TRUE(session.ok());
  for (int i = 0; i < 2; ++i) {
    const TensorView input = *(*session)->InputBuffer(i);
    std::memset(input.data, 0x3C, static_cast<size_t>(input.bytes()));
  }
  ASSERT_TRUE((*session)->Run().ok());
  const TensorView halves = *(*session)->Output(1);
  ASSERT_EQ(halves.dtype, DType::kF16);
  const auto* const elements = halves.as<const uint16_t>();
  for (int64_t i = 2; i < halves.shape.elements(); ++i) EXPECT_EQ(elements[i], elements[i % 2]) << i;
}

/// Pads that follow from the picture are beyond 32 bits here: cut to these, other taps would be in it.
TEST_F(VulkanSession, LeavesWindowsThatReachTooFarToTheCpu) {
  for (const char* node :
       {"Conv2d(x, weights, _) {", "MaxPool2d(x) {kernel=[1, 9], ", "AveragePool2d(x) {kernel=[1, 9], "}) {
    SCOPED_TRACE(node);
    const std::string text = fmt::format(
        "graph far {{\n  symbol h: 1..10\n  symbol w: 1..10\n  input x: f32[1, h, w, 4]\n"
        "  const weights: f32[4, 1, 9, 4] = seed 1\n"
        "  y = {}dilations=[1, 1073741823], auto_pad=same_upper}}\n  output y = y\n}}\n",
        node);
    Opened opened(text, TestOptions());
    const auto session = opened.MustCreate();
    const Tensors inputs = {{"x", RandomTensor(DType::kF32, Shape{1, 3, 10, 4}, 1)}};
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  }
}

/// One barrier is enough for many independent dispatches, but what they wrote is not compared for ever.
TEST_F(VulkanSession, RunsMoreIndependentNodesThanItKeepsInMind) {
  std::string nodes;
  std::string joined;
  for (int i = 0; i < 700; ++i) {
    nodes += fmt::format("  const c{0}: f32[8] = seed {0}\n  n{0} = Add(x, c{0})\n", i);
    joined += fmt::format("{}n{}", i == 0 ? "" : ", ", i);
  }
  const std::string text = fmt::format(
      "graph wide {{\n  input x: f32[8]\n{}  y = Concat({}) {{axis=0}}\n  output y\n}}\n", nodes, joined);
  Opened opened(text, TestOptions());
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
}

}  // namespace
}  // namespace skiff::testing
