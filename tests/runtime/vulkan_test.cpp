// Sessions on the GPU: what they compute, what they keep, and what happens where the device is absent or
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device.h"
#include "delegates/vulkan/pipelines.h"
#include "delegates/vulkan/tuning.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"
#ifdef SKIFF_WITH_XNNPACK
#include "delegates/xnnpack/delegate.h"
#endif

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;
using Tensors = std::map<std::string, TensorData>;

/// A product per row over a dimension that stays open, with what the GPU leaves to the CPU (Tan) in between.
constexpr const char* kOpenNet = R"(graph open {
  symbol rows: 1..1000
  input x: f32[rows, 12]
  const w1: f32[16, 12] = seed 1
  const w2: f32[5, 16] = seed 2
  const scale: f32[16] = seed 3
  const shift: f32[16] = seed 4
  first: f32[rows, 16] = FullyConnected(x, w1, _)
  normal: f32[rows, 16] = LayerNorm(first, scale, shift)
  bounded: f32[rows, 16] = Sigmoid(normal)
  bent: f32[rows, 16] = Tan(bounded)
  sum: f32[rows, 16] = Add(bent, first)
  last: f32[rows, 5] = FullyConnected(sum, w2, _)
  output y = last
  output chances = bounded
}
)";

VulkanOptions TestOptions() {
  VulkanOptions options = VulkanOptionsFromEnvironment();
  options.validation = true;
  return options;
}

bool HasDevice() {
  ErrorCapture quiet;
  return vulkan::Device::Get(TestOptions()).ok();
}

ConvertOptions ForTheGpu() {
  ConvertOptions options;
  options.vulkan = true;
  return options;
}

/// A file opened with a Vulkan delegate of its own.
class Opened {
 public:
  Opened(const std::string& text, const VulkanOptions& options, const ConvertOptions& convert = ForTheGpu(),
         const char* cache_folder = nullptr)
      : source_(ParseGraph(text)),
        converted_(ConvertGraph(source_, convert)),
        bytes_(converted_->file),
        vulkan_(options) {
    const Delegate* const delegates[] = {
        &vulkan_,
#ifdef SKIFF_WITH_XNNPACK
        &XnnpackDelegate(),
#endif
    };
    std::copy(std::begin(delegates), std::end(delegates), delegates_);
    ModelOptions model_options;
    model_options.delegates = {delegates_, std::size(delegates)};
    model_options.cache_folder = cache_folder;
    Result<std::unique_ptr<Model>> opened = Model::Open(bytes_.span(), model_options);
    if (!opened.ok()) throw std::runtime_error("the model does not open");
    model_ = std::move(*opened);
  }

  Model& model() { return *model_; }
  const Graph& source() const { return source_; }
  const ConvertResult& converted() const { return *converted_; }
  Result<std::unique_ptr<Session>> Create(SessionOptions options = {}) {
    options.target = Target::kVulkan;
    return Session::Create(*model_, options);
  }
  std::unique_ptr<Session> MustCreate(const SessionOptions& options = {}) {
    Result<std::unique_ptr<Session>> session = Create(options);
    if (!session.ok()) throw std::runtime_error("there is no session");
    return std::move(*session);
  }

 private:
  const Graph source_;
  std::unique_ptr<ConvertResult> converted_;
  AlignedBytes bytes_;
  VulkanDelegate vulkan_;
  const Delegate* delegates_[2] = {};
  std::unique_ptr<Model> model_;
};

void ExpectNear(const Tensors& got, const Tensors& expected, double relative = 2e-5) {
  for (const auto& [name, tensor] : expected) {
    const Difference difference = Compare(got.at(name), tensor);
    EXPECT_LE(difference.difference, relative * difference.largest) << name;
  }
}

Tensors RowsOf(int64_t rows, uint32_t seed) {
  return {{"x", RandomTensor(DType::kF32, Shape{rows, 12}, seed)}};
}

class VulkanSession : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasDevice()) GTEST_SKIP() << "there is no Vulkan device here";
    messages_ = vulkan::ValidationMessages();
  }
  void TearDown() override {
    EXPECT_EQ(vulkan::ValidationMessages(), messages_) << "the validation layer had something to say";
  }

 private:
  uint64_t messages_ = 0;
};

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
    ASSERT_EQ(opened.converted().vulkan->segments.size(), 3u) << "GPU, CPU, GPU";
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

/// An empty folder, gone at the end.
class CacheFolder {
 public:
  CacheFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("skiff_vulkan_test_cache_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
    name_ = path_.string();
  }
  ~CacheFolder() { std::filesystem::remove_all(path_); }

  const char* name() const { return name_.c_str(); }
  /// The only file of a kind.
  std::filesystem::path FileOf(const char* extension) const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().extension() != extension) continue;
      EXPECT_EQ(found, "") << "one file, and nothing temporary";
      found = entry.path();
    }
    return found;
  }

 private:
  std::filesystem::path path_;
  std::string name_;
};

void Overwrite(const std::filesystem::path& path, std::streamoff position, char with) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(position);
  file.put(with);
}

/// Messages while it lives.
class LogCapture {
 public:
  LogCapture() {
    SetLogSink([](void* to, LogLevel,
                  const char* message) { static_cast<LogCapture*>(to)->lines_.push_back(message); },
               this);
  }
  ~LogCapture() { SetLogSink(nullptr, nullptr); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

TEST_F(VulkanSession, MeasuresSizesOfWorkGroupsForLaterSessions) {
  struct {
    const char* net;
    bool f16;
    bool staged;
  } const kRuns[] = {{kSmallNet, false, false}, {kOpenNet, true, true}};
  for (const auto& run : kRuns) {
    SCOPED_TRACE(::testing::Message() << (run.f16 ? "f16 " : "f32 ") << (run.staged ? "staged" : "mapped"));
    const CacheFolder folder;
    VulkanOptions options = TestOptions();
    options.precision = run.f16 ? VulkanPrecision::kF16Storage : VulkanPrecision::kF32;
    options.force_staging = run.staged;
    const auto device = *vulkan::Device::Get(options);
    const auto expect_parity = [&] {
      Opened opened(run.net, options, ForTheGpu(), folder.name());
      const auto session = opened.MustCreate();
      for (const int64_t rows : {3, 70}) {
        const Tensors inputs = run.net == kOpenNet
                                   ? RowsOf(rows, 7)
                                   : RandomInputs(opened.source(), static_cast<uint32_t>(rows));
        ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs), run.f16 ? 1e-2 : 2e-5);
      }
    };

    options.tuning = VulkanTuning::kMeasure;
    expect_parity();
    options.tuning = VulkanTuning::kUse;
    vulkan::Tuning measured(*device, options, folder.name());
    ASSERT_GE(measured.rows().size(), 4u);
    for (const vulkan::TuningRow& row : measured.rows()) {
      EXPECT_EQ(row.precision, run.f16 ? 1u : 0u);
      EXPECT_GT(row.rule_ns, 0u);
      EXPECT_LE(row.chosen_ns, row.rule_ns);
    }

    // What the file says is what runs, whatever that is.
    std::vector<vulkan::TuningRow> rows(measured.rows().begin(), measured.rows().end());
    for (vulkan::TuningRow& row : rows) row.choice = {16, row.choice.tile == 0 ? 0u : 1u};
    ASSERT_TRUE(measured.Add({rows.data(), rows.size()}).ok());
    expect_parity();
    for (const vulkan::TuningRow& row : rows) {
      vulkan::PipelineKey key{static_cast<vulkan::Shader>(row.shader), options.precision};
      std::copy(std::begin(row.constants), std::end(row.constants), key.constants);
      EXPECT_EQ(measured.Of(key), row.choice);
      key.constants[0] = row.choice.group_size;
      if (row.choice.tile != 0) key.constants[1] = row.choice.tile;
      EXPECT_NE(device->pipelines().Find(key), VkPipeline{}) << vulkan::ShaderName(key.shader);
    }
  }
}

TEST_F(VulkanSession, DoesNotBelieveAFileOfSizesThatMakesNoSense) {
  const CacheFolder folder;
  const VulkanOptions options = TestOptions();
  const auto device = *vulkan::Device::Get(options);
  const auto shader = [](vulkan::Shader name) { return static_cast<uint32_t>(name); };
  vulkan::TuningRow good;
  good.shader = shader(vulkan::Shader::kUnary);
  good.choice = {32, 0};
  std::vector<vulkan::TuningRow> rows(7, good);
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i].constants[2] = i;  // So that none is another's.
  rows[1].shader = 1000;
  rows[2].choice.group_size = 48;
  rows[3].choice.group_size = 1u << 30;
  rows[4].choice.group_size = 0;
  rows[5].choice.tile = 2;
  rows[6].shader = shader(vulkan::Shader::kConv);
  rows[6].constants[1] = 4;
  rows[6].choice.tile = 5;
  vulkan::Tuning wrote(*device, options, folder.name());
  ASSERT_TRUE(wrote.Add({rows.data(), rows.size()}).ok());
  EXPECT_EQ(vulkan::Tuning(*device, options, folder.name()).rows().size(), 1u);
  VulkanOptions ignoring = options;
  ignoring.tuning = VulkanTuning::kIgnore;
  EXPECT_EQ(vulkan::Tuning(*device, ignoring, folder.name()).rows().size(), 0u);

  Overwrite(folder.FileOf(".tuning"), 100, '?');
  const LogCapture log;
  EXPECT_EQ(vulkan::Tuning(*device, options, folder.name()).rows().size(), 0u);
  EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("is damaged")));
  Opened opened(kSmallNet, options, ForTheGpu(), folder.name());
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*opened.MustCreate(), inputs), Evaluate(opened.source(), inputs));
}

TEST_F(VulkanSession, KeepsPipelinesInAFileAndSurvivesItsDamage) {
  const CacheFolder folder;
  const auto run = [&] {
    Opened opened(kSmallNet, TestOptions(), ForTheGpu(), folder.name());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  };
  run();
  const std::filesystem::path file = folder.FileOf(".pipelines");
  ASSERT_NE(file, "");
  const auto size = std::filesystem::file_size(file);
  EXPECT_GT(size, 96u);
  run();
  Overwrite(file, 100, '?');
  {
    const LogCapture log;
    run();
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("is damaged")));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.FileOf(".pipelines")), size) << "written anew";
}

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
                                    "out_of_memory", "pipeline",  "device_lost", "wrong_result"};
  const bool arithmetic = info.param.precision == VulkanPrecision::kF16Arithmetic;
  return std::string(kNames[static_cast<size_t>(info.param.fault)]) + (arithmetic ? "_arithmetic" : "");
}

INSTANTIATE_TEST_SUITE_P(All, VulkanFailure, ::testing::ValuesIn(kFailures), FaultName);

TEST_F(VulkanSession, ReportsALostDeviceAndStartsAnew) {
  VulkanOptions options = TestOptions();
  options.fault = VulkanFault::kDeviceLost;
  {
    Opened opened(kSmallNet, options);
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ASSERT_TRUE(session->SetInput("image", inputs.at("image").view()).ok());
    ErrorCapture capture;
    EXPECT_EQ(session->Run().code(), StatusCode::kDeviceLost);
    EXPECT_THAT(capture.message(), HasSubstr("the device is lost"));
  }
  Opened opened(kSmallNet, TestOptions());
  const auto session = opened.MustCreate();
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
}

TEST(VulkanPlan, IsMissingUnlessAskedFor) {
  Opened opened(kSmallNet, TestOptions(), ConvertOptions());
  ErrorCapture capture;
  EXPECT_EQ(opened.Create().status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(), HasSubstr("--target vulkan"));
}

}  // namespace
}  // namespace skiff::testing
