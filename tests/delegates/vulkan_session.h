/// What the tests of Sessions on the GPU share.
#pragma once

#include <gtest/gtest.h>

#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device/device.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"
#ifdef SKIFF_WITH_XNNPACK
#include "delegates/xnnpack/delegate.h"
#endif

namespace skiff::testing {

using Tensors = std::map<std::string, TensorData>;

/// A product per row over a dimension that stays open, with what the GPU leaves to the CPU (Tan) in between.
inline constexpr const char* kOpenNet = R"(graph open {
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

inline VulkanOptions TestOptions() {
  VulkanOptions options = VulkanOptionsFromEnvironment();
  options.validation = true;
  return options;
}

inline bool HasDevice() {
  ErrorCapture quiet;
  return vulkan::Device::Get(TestOptions()).ok();
}

inline ConvertOptions ForTheGpu() {
  ConvertOptions options;
  options.targets = {Target::kVulkan};
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
        &BuiltinXnnpackDelegate(),
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

inline void ExpectNear(const Tensors& got, const Tensors& expected, double relative = 2e-5) {
  for (const auto& [name, tensor] : expected) {
    const Difference difference = Compare(got.at(name), tensor);
    EXPECT_LE(difference.difference, relative * difference.largest) << name;
  }
}

inline Tensors RowsOf(int64_t rows, uint32_t seed) {
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

}  // namespace skiff::testing
