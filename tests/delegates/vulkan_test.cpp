// Sessions on the GPU: what they compute and keep.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "delegates/vulkan/pipelines/pipelines.h"
#include "tests/delegates/vulkan_session.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(VulkanSession, RunsANetAsEagerModeDoes) {
  for (const bool staged : {false, true}) {
    for (const bool f16 : {false, true}) {
      SCOPED_TRACE(::testing::Message() << (staged ? "staged " : "mapped ") << (f16 ? "f16" : "f32"));
      VulkanOptions options = TestOptions();
      options.force_staging = staged;
      options.precision = f16 ? VulkanPrecision::kF16Storage : VulkanPrecision::kF32;
      Opened opened(kSmallNet, options);
      const auto session = opened.MustCreate();
      EXPECT_EQ(session->target(), Target::kVulkan);
      for (int i = 0; i < session->node_count(); ++i) {
        EXPECT_EQ(session->node(i).delegate, DelegateKind::kVulkan) << session->node(i).op;
        EXPECT_FALSE(session->node(i).fell_back) << session->node(i).op;
      }
      const Tensors inputs = RandomInputs(opened.source(), 7);
      const Tensors expected = Evaluate(opened.source(), inputs);
      ExpectNear(RunSession(*session, inputs), expected, f16 ? 1e-2 : 2e-5);
      ExpectNear(RunSession(*session, inputs), expected, f16 ? 1e-2 : 2e-5);
    }
  }
}

TEST_F(VulkanSession, GivesTheSameBitsAtEveryRun) {
  Opened opened(kSmallNet, TestOptions());
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  const TensorData first = RunSession(*session, inputs).at("scores");
  for (int run = 0; run < 20; ++run) {
    const TensorData again = RunSession(*session, inputs).at("scores");
    ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size_bytes()), 0) << "run " << run;
  }
}

TEST_F(VulkanSession, SharesASegmentWithTheCpuAndMeetsNewShapes) {
  for (const bool staged : {false, true}) {
    VulkanOptions options = TestOptions();
    options.force_staging = staged;
    Opened opened(kOpenNet, options);
    ASSERT_EQ(opened.converted().others[0].segments.size(), 3u) << "GPU, CPU, GPU";
    const auto session = opened.MustCreate();
    const auto device = *vulkan::Device::Get(options);
    size_t pipelines = 0;
    for (const int64_t rows : {3, 1, 64, 7, 200, 1, 2}) {
      SCOPED_TRACE(rows);
      const Tensors inputs = RowsOf(rows, static_cast<uint32_t>(rows));
      ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
      if (pipelines == 0) pipelines = device->pipelines().made();
      EXPECT_EQ(device->pipelines().made(), pipelines) << "a new shape made a pipeline";
    }
  }
}

TEST_F(VulkanSession, CountsTheArenaThatSegmentsShareOnce) {
  const auto workspace = [](const char* text, size_t segments) {
    Opened opened(text, TestOptions());
    EXPECT_EQ(opened.converted().others[0].segments.size(), segments);
    const auto session = opened.MustCreate();
    RunSession(*session, RandomInputs(opened.source(), 7));
    return session->memory_usage().workspace;
  };
  const uint64_t one = workspace(R"(graph one {
    input x: f32[512, 512]
    y = Sigmoid(x)
    output y = y
  })",
                                 1);
  const uint64_t three = workspace(R"(graph three {
    input x: f32[512, 512]
    a = Sigmoid(x)
    b = Tan(a)
    c = Sigmoid(b)
    d = Tan(c)
    y = Sigmoid(d)
    output y = y
  })",
                                   5);
  EXPECT_GE(one, uint64_t{512} * 512 * 4);
  EXPECT_GE(three, one);
  EXPECT_LT(three, 2 * one);
}

/// Two copies to one place would race, even of the same bytes: the synchronisation check says so.
TEST_F(VulkanSession, BringsATensorAndItsReshapeBackInOneCopy) {
  VulkanOptions options = TestOptions();
  options.force_staging = true;
  Opened opened(R"(graph both {
    input x: f32[6, 4]
    const shape: i64[2] = [3, 8]
    bounded: f32[6, 4] = Tanh(x)
    wide: f32[3, 8] = Reshape(bounded, shape)
    output tall = bounded
    output wide = wide
  })",
                options);
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
}

TEST_F(VulkanSession, RunsQuarantinedShadersOnTheCpuVisibly) {
  VulkanOptions options = TestOptions();
  options.quarantine = "softmax,conv";
  Opened opened(kSmallNet, options);
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  int fell_back = 0;
  for (int i = 0; i < session->node_count(); ++i) {
    const NodeInfo node = session->node(i);
    const bool product = std::string(node.op) == "Conv2d" || std::string(node.op) == "FullyConnected";
    EXPECT_EQ(node.fell_back, product) << node.op;
    fell_back += node.fell_back ? 1 : 0;
  }
  EXPECT_EQ(fell_back, 4);
}

TEST_F(VulkanSession, RefusesIntegersOutsideOfTheirRange) {
  struct {
    const char* graph;
    std::vector<double> good, bad;
    const char* message;
  } const kRuns[] = {
      {R"(graph rows {
        input ids: i64[3]
        const table: f32[5, 8] = seed 1
        rows: f32[3, 8] = Gather(table, ids) {axis=0}
        y: f32[3, 8] = Tanh(rows)
        output y = y
      })",
       {0, -5, 4},
       {0, 1, 5},
       "position 2 is outside [-5, 5)"},
      {R"(graph computed {
        input ids: f32[3]
        const table: f32[5, 8] = seed 1
        rounded: i32[3] = Cast(ids) {to=i32}
        rows: f32[3, 8] = Gather(table, rounded) {axis=0}
        y: f32[3, 8] = Tanh(rows)
        output y = y
      })",
       {0.5, -5, 4},
       {1, -6, 7},
       "position 1 is outside [-5, 5)"},
      {R"(graph lengths {
        input ids: i64[2]
        const x: f32[4, 2, 3] = seed 1
        const r: f32[3, 3] = seed 2
        y: f32[4, 2, 3], last: f32[2, 3] = Rnn(x, r, _, _, ids)
        output y = y
        output last = last
      })",
       {4, 0},
       {3, -1},
       "position 1 is outside [0, 5)"},
  };
  for (const auto& run : kRuns) {
    for (const bool staged : {false, true}) {
      SCOPED_TRACE(::testing::Message() << run.message << (staged ? " staged" : " mapped"));
      VulkanOptions options = TestOptions();
      options.force_staging = staged;
      Opened opened(run.graph, options);
      const auto session = opened.MustCreate();
      const DType dtype = opened.source().value(opened.source().inputs()[0].value).dtype;
      const auto with = [&](const std::vector<double>& values) {
        TensorData tensor(dtype, Shape{static_cast<int64_t>(values.size())});
        for (size_t i = 0; i < values.size(); ++i) {
          if (dtype == DType::kF32)
            static_cast<float*>(tensor.mutable_data())[i] = static_cast<float>(values[i]);
          if (dtype == DType::kI64)
            static_cast<int64_t*>(tensor.mutable_data())[i] = static_cast<int64_t>(values[i]);
        }
        return Tensors{{"ids", tensor}};
      };
      const auto expect_parity = [&] {
        ExpectNear(RunSession(*session, with(run.good)), Evaluate(opened.source(), with(run.good)));
      };
      expect_parity();
      for (int i = 0; i < session->node_count(); ++i) {
        EXPECT_EQ(session->node(i).delegate, DelegateKind::kVulkan) << session->node(i).op;
        EXPECT_FALSE(session->node(i).fell_back) << session->node(i).op;
      }
      {
        ErrorCapture capture;
        ASSERT_TRUE(session->SetInput("ids", with(run.bad).at("ids").view()).ok());
        EXPECT_EQ(session->Run().code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(capture.message(), HasSubstr(run.message));
      }
      expect_parity();
    }
  }
}

TEST_F(VulkanSession, KeepsIntermediatesForTaps) {
  Opened opened(kSmallNet, TestOptions());
  SessionOptions options;
  options.keep_intermediates = true;
  const auto session = opened.MustCreate(options);
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  Tensors eager;
  EvaluateOptions observe;
  observe.observe = [&](ValueId value, const TensorData& tensor) {
    eager[opened.source().value(value).name] = tensor;
  };
  Evaluate(opened.source(), inputs, observe);
  Result<TensorView> pooled = session->Tap("pooled");
  ASSERT_TRUE(pooled.ok());
  TensorData copy(DType::kF32, pooled->shape);
  std::memcpy(copy.mutable_data(), pooled->data, copy.size_bytes());
  ExpectNear({{"pooled", copy}}, {{"pooled", eager.at("pooled").Reshaped(copy.shape())}});
}

TEST_F(VulkanSession, ReportsTheTimeOfEachNode) {
  Opened opened(kSmallNet, TestOptions());
  SessionOptions options;
  options.profile = true;
  const auto session = opened.MustCreate(options);
  RunSession(*session, RandomInputs(opened.source(), 7));
  uint64_t total = 0;
  for (int i = 0; i < session->node_count(); ++i) total += session->node(i).last_ns;
  EXPECT_GT(total, 0u);
}

TEST_F(VulkanSession, KeepsWeightsOfFourBitsAsTheyAre) {
  constexpr const char* kNet = R"(graph narrow {
  input x: f32[3, 256]
  const codes: i4[512, 256] {scale=0.01, zero_point=1} = seed 5
  const bias: f32[512] = seed 6
  weights = Dequantize(codes)
  y = FullyConnected(x, weights, bias)
  output y
}
)";
  for (const VulkanPrecision precision : {VulkanPrecision::kF32, VulkanPrecision::kF16Storage}) {
    VulkanOptions options = TestOptions();
    options.precision = precision;
    if (!(*vulkan::Device::Get(options))->Has(precision)) continue;
    Opened opened(kNet, options);
    const Tensors inputs = RandomInputs(opened.source(), 7);
    const auto session = opened.MustCreate();
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs),
               precision == VulkanPrecision::kF32 ? 2e-5 : 2e-3);
    EXPECT_LT(opened.model().packed_bytes().heap, 512u * 256 / 2 + 512 * 16);
  }
}

TEST_F(VulkanSession, SharesWeightsAmongSessionsOfSeveralThreads) {
  Opened opened(kSmallNet, TestOptions());
  const Tensors inputs = RandomInputs(opened.source(), 7);
  const Tensors expected = Evaluate(opened.source(), inputs);
  const auto first = opened.MustCreate();
  const uint64_t packed = opened.model().packed_bytes().heap;
  EXPECT_GT(packed, 0u);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const auto session = opened.MustCreate();
      for (int run = 0; run < 5; ++run) ExpectNear(RunSession(*session, inputs), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened.model().packed_bytes().heap, packed);
}

}  // namespace
}  // namespace skiff::testing
