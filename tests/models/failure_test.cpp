// Trained models where each piece of memory that the runtime, XNNPACK or the pool ask for is refused in its
// turn, once or from then on: an error, and then, with what there is, the numbers of an undisturbed start.
// From a file that is mapped, with a cache folder, whose files are right after it all.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "emit/write_file.h"
#include "import/import_model.h"
#include "quantize/quantizer.h"
#include "skiff/delegates.h"
#include "tests/models/models_list.h"
#include "tests/support/refusals.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, TensorData>;
using Bytes = std::map<std::string, std::vector<uint8_t>>;  ///< By name and shape.

/// Of each kind: products, convolutions, recurrences, loops, variables, open dimensions; f32, hybrid, i8,
/// i16.
struct ModelCase {
  const char* file;
  bool dynamic = false;  ///< Quantised so, on the way.
};
const ModelCase kModels[] = {
    {"hello_world/hello_world_float.tflite"},
    {"micro_speech_int8/micro_speech_quantized.tflite"},
    {"mnist_sequence_lstm/trained_lstm_fp32.tflite"},
    {"mnist_cnn_onnx/model.onnx"},
    {"micro_kws_m_five_formats/int8.tflite"},
    {"micro_kws_m_five_formats/qdq.onnx"},
    {"kws_dscnn/kws_ref_hybrid.tflite"},
    {"micro_wake_word_streaming/hey_jarvis_v2.tflite"},
    {"ds_cnn_s_int16x8/ds_cnn_s_int16x8.tflite"},
    {"rnnoise_int8/rnnoise_int8.tflite"},
    {"resnet8_cifar10/resnet8_int8.tflite"},
    {"go1_policy_mlp/go1_policy.onnx"},
    {"recommendation_rnn/recommendation_rnn_i10o100.tflite"},
    {"mnist_cnn_onnx/model.onnx", true},
    {"go1_policy_mlp/go1_policy.onnx", true},
};

/// Dimensions that the file leaves open have these sizes, one run each.
constexpr int64_t kSizes[] = {1, 3};

/// What a program does with a model, until something is refused.
class Attempt {
 public:
  Attempt(const std::string& path, const std::string& cache, const std::vector<Tensors>& inputs)
      : path_(path), cache_(cache), inputs_(inputs) {}

  /// Goes on with the call that failed.
  Status GoOn() {
    if (!model_) {
      ModelOptions options;
      options.delegates = BuiltinDelegates();
      options.cache_folder = cache_.c_str();
      SKIFF_ASSIGN_OR_RETURN(model_, Model::Open(path_.c_str(), options));
    }
    if (!session_) {
      SessionOptions options;
      options.threads = 1;
      SKIFF_ASSIGN_OR_RETURN(session_, Session::Create(*model_, options));
    }
    while (outputs_.size() < inputs_.size()) {
      for (const auto& [name, data] : inputs_[outputs_.size()])
        SKIFF_RETURN_IF_ERROR(session_->SetInput(name.c_str(), data.view()));
      SKIFF_RETURN_IF_ERROR(session_->Run());
      SKIFF_RETURN_IF_ERROR(TakeOutputs());
    }
    return model_->SaveCache();
  }
  const std::vector<Bytes>& outputs() const { return outputs_; }

 private:
  Status TakeOutputs() {
    Bytes outputs;
    for (const PortInfo& port : session_->signature().outputs) {
      SKIFF_ASSIGN_OR_RETURN(const TensorView view, session_->Output(port.name));
      const auto* bytes = static_cast<const uint8_t*>(view.data);
      outputs[std::string(port.name) + " " + ShapeText(view.shape).c_str()].assign(bytes,
                                                                                   bytes + view.bytes());
    }
    outputs_.push_back(std::move(outputs));
    return OkStatus();
  }

  const std::string& path_;
  const std::string& cache_;
  const std::vector<Tensors>& inputs_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Session> session_;
  std::vector<Bytes> outputs_;
};

class RefusedMemory : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    SetLogSink([](void*, LogLevel, const char*) {}, nullptr);
    const fs::path source = ModelsFolder() / GetParam().file;
    if (!fs::exists(source)) GTEST_SKIP() << "the trained model is absent: " << source;
    const Graph graph = ImportModel(source.string());
    Write(graph, source.string());
    for (const int64_t size : kSizes) {
      Graph at_size = graph;
      ShapeContract contract;
      for (const Symbol& symbol : graph.symbols()) contract.dims[symbol.name] = DimRange(size);
      FixShapes(at_size, contract);
      inputs_.push_back(RandomInputs(at_size, 1));
    }
  }
  void TearDown() override { SetLogSink(nullptr, nullptr); }

  void Write(const Graph& graph, const std::string& source) const {
    if (!GetParam().dynamic) {
      static_cast<void>(ConvertFileTo(source, path_));
      return;
    }
    QuantizeOptions options;
    options.format = Format::kDynamic;
    const auto converted = ConvertGraph(QuantizeGraph(graph, {}, options).graph);
    WriteFileAtomically(path_, converted->file);
  }

  std::vector<Bytes> Undisturbed() {
    Attempt attempt(path_, cache_.path(), inputs_);
    const Status status = attempt.GoOn();
    EXPECT_TRUE(status.ok()) << StatusCodeName(status.code());
    return attempt.outputs();
  }
  void ForgetCache() const {
    for (const std::string& file : cache_.List()) fs::remove(cache_ / file);
  }

  const TempFolder folder_;
  const TempFolder cache_;
  const std::string path_ = folder_ / "model.skiff";
  std::vector<Tensors> inputs_;
};

TEST_P(RefusedMemory, IsAnErrorAndTheNextTimeWorks) {
  const std::vector<Bytes> expected = Undisturbed();
  long points = 0;
  for (const bool lasting : {false, true}) {
    for (long at = 1;; ++at) {
      SCOPED_TRACE(::testing::Message() << "piece " << at << (lasting ? " and later ones" : ""));
      ForgetCache();
      bool hit = false;
      {
        Attempt attempt(path_, cache_.path(), inputs_);
        of_memory = {at, lasting};
        Status status = attempt.GoOn();
        hit = of_memory.hit;
        of_memory = {};
        EXPECT_TRUE(status.ok() || hit);
        if (!status.ok()) {
          status = attempt.GoOn();
        }
        ASSERT_TRUE(status.ok()) << StatusCodeName(status.code());
        EXPECT_EQ(attempt.outputs(), expected);
      }
      if (!hit) break;
      ++points;
      ASSERT_EQ(Undisturbed(), expected) << "from the cache that it left";
    }
  }
  std::printf("%s%s: %ld failure points\n", GetParam().file, GetParam().dynamic ? ", dynamic" : "", points);
  EXPECT_GT(points, 50);
}

INSTANTIATE_TEST_SUITE_P(Models, RefusedMemory, ::testing::ValuesIn(kModels), [](const auto& info) {
  return NameOf(info.param.file) + (info.param.dynamic ? "_dynamic" : "");
});

}  // namespace
}  // namespace skiff::testing
