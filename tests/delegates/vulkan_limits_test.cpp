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

using ::testing::Each;
using ::testing::ElementsAre;
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

bool IsSoftware() { return (*vulkan::Device::Get(TestOptions()))->is_software(); }

std::string GraphOf(const std::string& lines, const std::string& outputs = "  output y\n") {
  return "graph limits {\n" + lines + "\n" + outputs + "}\n";
}

/// Whether each node fell back, in order.
std::vector<bool> FellBack(const Session& session) {
  std::vector<bool> fell_back;
  for (int i = 0; i < session.node_count(); ++i) fell_back.push_back(session.node(i).fell_back);
  return fell_back;
}

/// lavapipe ends the loops of an invocation after 65,535 rounds, and says nothing.
TEST_F(VulkanSession, LeavesLongLoopsToTheCpuWhereADriverEndsThem) {
  constexpr const char* kGraphs[] = {
      "  input x: f32[1, 100000]\n  y = ArgMax(x) {axis=1}",
      "  input x: f32[1, 8000000]\n  const k: i64[1] = [2]\n  y, places = TopK(x, k) {axis=1}",
      "  input x: f32[1, 3000000]\n  y = ReduceMax(x) {axes=[1]}",
      "  input x: f32[1, 2000000]\n  y = Softmax(x) {axis=1}",
      "  input x: f32[1, 2000000]\n  const scale: f32[2000000] = seed 1\n  y = LayerNorm(x, scale, _)",
      "  input x: f32[1, 3000000]\n  const axis: i64[] = 1\n  y = CumSum(x, axis)",
      "  input x: f32[1, 400, 400, 4]\n  y = MaxPool2d(x) {kernel=[400, 400]}",
      "  input x: f32[1, 400, 400, 4]\n  y = AveragePool2d(x) {kernel=[400, 400]}",
      "  input x: i8[1, 200, 200, 4] {scale=0.05, zero_point=3}\n"
      "  z: i8[1, 1, 1, 4] {scale=0.001, zero_point=3} = AveragePool2d(x) {kernel=[200, 200]}\n"
      "  y = Dequantize(z)",
      "  input x: f32[1, 100001]\n  input w: f32[4, 100001]\n  y = FullyConnected(x, w, _)",
      "  input x: f32[1, 100001]\n  const w: f32[2, 100001] = seed 1\n  y = FullyConnected(x, w, _)",
      "  input x: f32[1, 100001]\n  const codes: i8[2, 100001] {scale=0.01, zero_point=1} = seed 1\n"
      "  w = Dequantize(codes)\n  y = FullyConnected(x, w, _)",
      "  input x: f32[1, 200002]\n  const codes: i4[2, 200002] {scale=0.01, zero_point=1} = seed 1\n"
      "  w = Dequantize(codes)\n  y = FullyConnected(x, w, _)",
      "  input x: f32[1, 300, 300, 4]\n  const w: f32[4, 300, 300, 1] = seed 1\n"
      "  y = Conv2d(x, w, _) {groups=4}",
      "  input x: f32[1, 200, 200, 2]\n  const w: f32[2, 200, 200, 1] = seed 1\n"
      "  y = Conv2d(x, w, _) {groups=2}",
      "  input x: i8[1, 120, 120, 3] {scale=0.05, zero_point=3}\n"
      "  const w: i8[3, 120, 120, 1] {scale=0.01, zero_point=0} = seed 1\n"
      "  z: i8[1, 1, 1, 3] {scale=0.5, zero_point=0} = Conv2d(x, w, _) {groups=3}\n  y = Dequantize(z)",
  };
  for (const char* lines : kGraphs) {
    SCOPED_TRACE(lines);
    Opened opened(GraphOf(lines), TestOptions());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs), 1e-3);
    EXPECT_EQ(session->node(0).fell_back, IsSoftware());
  }
}

/// A dispatch has no more steps than a driver lets it go through.
TEST_F(VulkanSession, RunsLongSequencesOfSmallStates) {
  constexpr struct {
    const char* node;
    int gates, hidden;
  } kLayers[] = {{"y, last = Rnn(x, r)", 1, 1},
                 {"y, last = Gru(x, r)", 3, 5},
                 {"y, last, cell = Lstm(x, r)", 4, 20},
                 {"y, last = Rnn(x, r)", 1, 70}};
  for (const auto& [node, gates, hidden] : kLayers) {
    SCOPED_TRACE(fmt::format("{} of {}", node, hidden));
    const std::string lines = fmt::format(
        "  input x: f32[20000, 1, {0}]\n  const all: f32[{0}, {1}] = seed 2\n  const part: f32[] = 0.1\n"
        "  r = Mul(all, part)\n  {2}",
        gates * hidden, hidden, node);
    Opened opened(GraphOf(lines), TestOptions());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
    EXPECT_THAT(FellBack(*session), ElementsAre(false));
  }
}

TEST_F(VulkanSession, LeavesSequencesOfTooManyDispatchesToTheCpu) {
  const auto fell_back = [](int steps) {
    const std::string lines = fmt::format(
        "  input x: f32[{0}, 1, 363]\n  const r: f32[363, 363] = seed 2\n  y, last = Rnn(x, r)", steps);
    Opened opened(GraphOf(lines), TestOptions());
    return FellBack(*opened.MustCreate());
  };
  EXPECT_THAT(fell_back(1000), ElementsAre(false));
  EXPECT_THAT(fell_back(3000), ElementsAre(IsSoftware()));
  EXPECT_THAT(fell_back(17000), ElementsAre(true));
}

/// Only what lies inside of the picture is walked over.
TEST_F(VulkanSession, RunsPoolsOfWhichMostIsPadding) {
  Opened opened(GraphOf(R"(  input x: f32[1, 2, 3, 4]
  input codes: i8[1, 1, 2, 4] {scale=0.05, zero_point=3}
  a = MaxPool2d(x) {kernel=[2, 80000], pads=[1, 79999, 0, 79999], strides=[1, 7]}
  b = AveragePool2d(x) {kernel=[80000, 1], pads=[79999, 0, 79999, 0], strides=[7, 1]}
  c = AveragePool2d(x) {kernel=[2, 80000], pads=[0, 79999, 1, 79999], strides=[1, 7], count_include_pad=true}
  d = AveragePool2d(x) {kernel=[1, 262144], pads=[0, 262143, 0, 262143], strides=[1, 7]}
  small: i8[1, 11, 11, 4] {scale=0.05, zero_point=3} = MaxPool2d(codes) {
    kernel=[1024, 1024], pads=[1023, 1023, 1023, 1023], strides=[200, 200]}
  large: i8[1, 11, 11, 4] {scale=0.05, zero_point=3} = AveragePool2d(codes) {
    kernel=[1024, 1024], pads=[1023, 1023, 1023, 1023], strides=[200, 200]}
  e = Dequantize(small)
  f = Dequantize(large))",
                        "  output a\n  output b\n  output c\n  output d\n  output e\n  output f\n"),
                TestOptions());
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  EXPECT_THAT(FellBack(*session), Each(false));
}

TEST_F(VulkanSession, LeavesToTheCpuWhatASortFindsFaster) {
  const auto fell_back = [](int lines, int extent, int found) {
    Opened opened(GraphOf(fmt::format("  input x: f32[{}, {}]\n  const k: i64[1] = [{}]\n"
                                      "  y, places = TopK(x, k) {{axis=1}}",
                                      lines, extent, found)),
                  TestOptions());
    return FellBack(*opened.MustCreate());
  };
  EXPECT_THAT(fell_back(1, 16384, 100), ElementsAre(false));
  EXPECT_THAT(fell_back(16, 8400, 300), ElementsAre(false));
  EXPECT_THAT(fell_back(1, 8192, 8192), ElementsAre(true));
  EXPECT_THAT(fell_back(1024, 1024, 512), ElementsAre(true));
}

/// Resizes to these heights, one after the other.
std::string ResizesTo(std::initializer_list<int> heights) {
  std::string lines = "  input x: f32[1, 4, 1, 1]\n  const axis: i64[1] = [1]\n  const none: i64[1] = [0]\n";
  lines += "  const four: i64[1] = [4]\n  x0 = Tanh(x)\n";
  int i = 0;
  for (const int height : heights) {
    lines += fmt::format("  const s{0}: i64[2] = [{1}, 1]\n  r{0} = Resize2d(x{0}, s{0}) {{mode=cubic}}\n", i,
                         height);
    lines += fmt::format("  x{} = Slice(r{}, none, four, axis)\n", i + 1, i);
    ++i;
  }
  return GraphOf(lines, fmt::format("  output y = x{}\n", i));
}

TEST_F(VulkanSession, KeepsATableOfAResizeOnce) {
  constexpr int kHeight = 1 << 20;
  constexpr uint64_t kTable = 2 * 4 * 4 * (kHeight + 1);
  const auto workspace = [](const std::string& text) {
    Opened opened(text, TestOptions());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
    EXPECT_THAT(FellBack(*session), Each(false));
    return session->memory_usage().workspace;
  };
  const uint64_t one = workspace(ResizesTo({kHeight}));
  EXPECT_GE(one, kTable);
  EXPECT_LT(one, kTable + kTable / 2) << "the host's copy is kept";
  EXPECT_LT(workspace(ResizesTo({kHeight, kHeight, kHeight})), one + kTable / 2);
}

TEST_F(VulkanSession, LeavesTablesBeyondALimitToTheCpu) {
  Opened opened(ResizesTo({700001, 700002, 700003, 700002}), TestOptions());
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  std::vector<bool> resizes;
  for (int i = 0; i < session->node_count(); ++i) {
    if (session->node(i).op == std::string("Resize2d")) resizes.push_back(session->node(i).fell_back);
  }
  EXPECT_THAT(resizes, ElementsAre(false, false, true, false));
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
