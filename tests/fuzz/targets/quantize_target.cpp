// An ONNX model that is quantised before it is converted, opened and run. Its own version, a number that
// means nothing else, says how, and what its calls hold.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "graph/error.h"
#include "quantize/quantizer.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/targets/onnx_input.h"
#include "tests/fuzz/targets/target.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

constexpr auto kFormats =
    std::to_array<Format>({Format::kI8, Format::kDynamic, Format::kWeights8, Format::kWeights4, Format::kF16,
                           Format::k16x8, Format::kDynamic4});
constexpr auto kRanges =
    std::to_array<RangeMethod>({RangeMethod::kMinMax, RangeMethod::kMovingAverage, RangeMethod::kPercentile,
                                RangeMethod::kMse, RangeMethod::kEntropy});
/// Layers that are measured have the net converted twice each, a search for an error once for each.
constexpr NodeId kMostMeasured = 50;

/// In every tensor of a call; the first: none.
constexpr auto kOddNumbers = std::to_array<float>({0, NAN, INFINITY, 1e38F, 1e-42F});

/// Takes one number after the other out of a large one.
class Choices {
 public:
  explicit Choices(int64_t number) : number_(static_cast<uint64_t>(number)) {}
  size_t Below(size_t count) {
    const size_t choice = number_ % count;
    number_ /= count;
    return choice;
  }

 private:
  uint64_t number_;
};

int64_t VersionOf(const std::string& bytes) {
  onnx::ModelProto model;
  return model.ParseFromString(bytes) ? model.model_version() : 0;
}

std::string WithVersion(const std::string& bytes, int64_t version) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  model.set_model_version(version);
  return model.SerializeAsString();
}

/// Cases of one node are given their weights: all inputs of floats but the first become constants.
std::string WithConstants(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs = model.graph().input();
  model.mutable_graph()->clear_input();
  for (int i = 0; i < inputs.size(); ++i) {
    const onnx::TypeProto::Tensor& type = inputs[i].type().tensor_type();
    int64_t elements = 1;
    for (const auto& dim : type.shape().dim()) elements *= std::min<int64_t>(dim.dim_value(), 64);
    if (i == 0 || type.elem_type() != onnx::TensorProto::FLOAT || elements < 1 || elements > 4096) {
      *model.mutable_graph()->add_input() = inputs[i];
      continue;
    }
    onnx::TensorProto& constant = *model.mutable_graph()->add_initializer();
    constant.set_name(inputs[i].name());
    constant.set_data_type(onnx::TensorProto::FLOAT);
    for (const auto& dim : type.shape().dim()) constant.add_dims(std::min<int64_t>(dim.dim_value(), 64));
    for (int64_t k = 0; k < elements; ++k) constant.add_float_data(static_cast<float>(k * 37 % 11 - 5) / 4);
  }
  return model.SerializeAsString();
}

QuantizeOptions OptionsOf(Choices& choices) {
  QuantizeOptions options;
  options.threads = 1;
  options.format = kFormats[choices.Below(kFormats.size())];
  options.ranges = kRanges[choices.Below(kRanges.size())];
  options.everything = choices.Below(2) == 1;
  options.equalize = choices.Below(2) == 0;
  options.measure_layers = choices.Below(4) == 1;
  if (choices.Below(4) == 1) options.max_error = 0.01;
  options.weights.rounding = choices.Below(2) == 0 ? WeightRounding::kByEffect : WeightRounding::kNearest;
  options.weights.correct_bias = choices.Below(2) == 0;
  options.weights.block = choices.Below(2) == 0 ? 32 : 2;
  return options;
}

/// Formats that need none have some in every other case.
std::vector<NamedTensors> CallsOf(const Graph& graph, Format format, Choices& choices) {
  std::vector<NamedTensors> calls;
  if (choices.Below(2) == 1 && !NeedsCalibration(format)) return calls;
  const float odd = kOddNumbers[choices.Below(kOddNumbers.size())];
  for (size_t count = 1 + choices.Below(2); count > 0; --count) {
    calls.push_back(RandomInputs(graph, static_cast<uint32_t>(count)));
    for (auto& [name, tensor] : calls.back()) {
      if (odd != 0 && tensor.dtype() == DType::kF32 && tensor.elements() > 0)
        std::memcpy(tensor.mutable_data(), &odd, sizeof(odd));
    }
  }
  return calls;
}

/// A body may repeat itself without end, and nobody is there to cancel the float net's runs.
bool HasBodies(const Graph& graph) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (!graph.node(id).bodies.empty()) return true;
  }
  return false;
}

Graph Quantized(const uint8_t* data, size_t size) {
  Graph graph = ImportOnnxInput(data, size);
  if (HasBodies(graph)) Throw(StatusCode::kUnsupported, "left out: bodies");
  ShapeContract contract;
  for (const Symbol& symbol : graph.symbols()) contract.dims[symbol.name] = 2;
  FixShapes(graph, contract);
  if (ElementsOfInputs(graph) > 1e4) Throw(StatusCode::kUnsupported, "left out: large inputs");
  Choices choices(VersionOf({reinterpret_cast<const char*>(data), size}));
  QuantizeOptions options = OptionsOf(choices);
  if (graph.node_count() > kMostMeasured) {
    options.measure_layers = false;
    options.max_error.reset();
  }
  const std::vector<NamedTensors> calls = CallsOf(graph, options.format, choices);
  return QuantizeGraph(std::move(graph), calls, options).graph;
}

}  // namespace

/// Those in which there is something to quantise once their weights are constants, each in another way.
std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  std::mt19937_64 random(1);
  for (const std::string& other : OnnxSeeds()) {
    try {
      const std::string seed = WithConstants(other);
      const std::string plain = WithVersion(seed, 0);
      static_cast<void>(Quantized(reinterpret_cast<const uint8_t*>(plain.data()), plain.size()));
      seeds.push_back(WithVersion(seed, static_cast<int64_t>(random())));
    } catch (const Error&) {
    }
  }
  return seeds;
}

}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace skiff::testing;
  std::mt19937_64 random(seed);
  if (random() % 4 != 0) return MutateOnnxBytes(data, size, max_size, seed);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  return Replaced(WithVersion(bytes, static_cast<int64_t>(random())), data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  const auto quantize = [&] { return std::vector<NamedGraph>{{"main", testing::Quantized(data, size)}}; };
  const std::string outcome = testing::ConvertAndRun(quantize, testing::KeepModel);
  testing::Require(!outcome.starts_with(testing::kDefect), outcome);
  return 0;
}
