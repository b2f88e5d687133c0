#include "tests/models/model_cases.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/error_capture.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "import/import_model.h"
#include "ops/op_codes.h"
#include "skiff/delegates.h"

namespace skiff::testing {
namespace {

Graph ImportFixed(const std::string& path, const ShapeContract& contract) {
  return ImportModel(path, {{}, [&](Graph& graph) { FixShapes(graph, contract); }});
}

bool UsesHalf(const Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).dtype == DType::kF16) return true;
  }
  return false;
}

ConvertOptions ForAllTargets() {
  ConvertOptions options;
  options.targets = {Target::kVulkan};
  return options;
}

/// Those of bodies too.
int CountNodes(const PlanDraft& plan, DelegateKind delegate) {
  int count = 0;
  for (const DraftNode& node : plan.nodes) {
    count += node.delegate() == delegate ? 1 : 0;
    for (const PlanDraft& body : node.bodies) count += CountNodes(body, delegate);
  }
  return count;
}

bool IsConvolution(OpCode op) { return op == OpCode::kConv2d || op == OpCode::kConvTranspose2d; }

}  // namespace

ModelCase::ModelCase(const std::string& path, const std::map<std::string, std::vector<int64_t>>& shapes)
    : ModelCase(path, ShapeContract{shapes, {}}) {}

ModelCase::ModelCase(const std::string& path, const ShapeContract& contract)
    : source_(ImportFixed(path, contract)),
      converted_(ConvertGraph(source_, ForAllTargets())),
      file_(converted_->file),
      half_(UsesHalf(source_)) {
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> opened = Model::Open(file_.span(), options);
  if (!opened.ok()) Throw(opened.status().code(), "{}", capture.message());
  model_ = std::move(opened.value());
}

std::map<std::string, TensorData> ModelCase::RunEagerly(
    const std::map<std::string, TensorData>& inputs) const {
  return Evaluate(source_, inputs);
}

std::unique_ptr<Session> ModelCase::Open(Backend backend, Target target) {
  ErrorCapture capture;
  SessionOptions options;
  options.target = target;
  options.fall_back = false;
  options.backend = backend;
  options.threads = 2;
  Result<std::unique_ptr<Session>> session = Session::Create(*model_, options);
  if (!session.ok()) Throw(session.status().code(), "{}", capture.message());
  return std::move(session.value());
}

std::map<std::string, TensorData> ModelCase::Run(Backend backend,
                                                 const std::map<std::string, TensorData>& inputs,
                                                 Target target) {
  const std::unique_ptr<Session> session = Open(backend, target);
  std::map<std::string, TensorData> outputs = RunSession(*session, inputs);
  fell_back_ = 0;
  for (int i = 0; i < session->node_count(); ++i) fell_back_ += session->node(i).fell_back ? 1 : 0;
  return outputs;
}

int ModelCase::NodesOn(DelegateKind delegate) const { return CountNodes(converted_->draft, delegate); }

int ModelCase::NodesBesideTheGpu() const {
  const auto& nodes = converted_->others[0].nodes;
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [](const DraftNode& node) {
    return !node.shape_program && node.delegate() != DelegateKind::kVulkan;
  }));
}

int ModelCase::CountOps(OpCode op) const {
  const auto& nodes = converted_->draft.nodes;
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const DraftNode& node) {
    return converted_->graph.node(node.id).op == op;
  }));
}

int ModelCase::ConvolutionsElsewhere() const {
  const auto& nodes = converted_->draft.nodes;
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const DraftNode& node) {
    return IsConvolution(converted_->graph.node(node.id).op) && node.delegate() != DelegateKind::kXnnpack;
  }));
}

int ModelCase::TransposesBetweenConvolutions() const {
  const Graph& graph = converted_->graph;
  const std::vector<NodeId> order = graph.TopologicalOrder();
  std::set<NodeId> after;   // A convolution lies before it.
  std::set<NodeId> before;  // A convolution lies behind it.
  for (const NodeId id : order) {
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const NodeId producer = graph.ProducerOf(id, static_cast<int>(i));
      if (producer != kNoNode && (after.contains(producer) || IsConvolution(graph.node(producer).op)))
        after.insert(id);
    }
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    for (const ValueId output : graph.node(*id).outputs) {
      for (const Use& use : graph.value(output).uses) {
        if (before.contains(use.node) || IsConvolution(graph.node(use.node).op)) before.insert(*id);
      }
    }
  }
  return static_cast<int>(std::count_if(order.begin(), order.end(), [&](NodeId id) {
    return graph.node(id).op == OpCode::kTranspose && after.contains(id) && before.contains(id);
  }));
}

double WorstRelative(const std::map<std::string, TensorData>& got,
                     const std::map<std::string, TensorData>& expected) {
  double worst = 0;
  for (const auto& [name, tensor] : expected) {
    const Difference difference = Compare(got.at(name), tensor);
    worst = std::max(
        worst, difference.difference == 0 ? 0 : difference.difference / std::max(difference.largest, 1e-30));
  }
  return worst;
}

std::map<std::string, TensorData> NumpySeededInputs(const Graph& graph) {
  std::mt19937 generator(0);
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.caller_inputs()) {
    const Value& value = graph.value(port.value);
    if (DTypeBits(value.dtype) == 8) {
      TensorData data(value.dtype, value.shape());
      auto* bytes = static_cast<uint8_t*>(data.mutable_data());
      // A whole range of 256 numbers is the low byte of a draw, counted from the lowest one.
      const uint32_t lowest = value.dtype == DType::kI8 ? 0x80 : 0;
      for (int64_t i = 0; i < data.elements(); ++i) bytes[i] = static_cast<uint8_t>(generator() + lowest);
      inputs[port.name] = value.quantization ? data.Quantized(value.quantization) : data;
      continue;
    }
    TensorData data(DType::kF32, value.shape());
    auto* elements = static_cast<float*>(data.mutable_data());
    for (int64_t i = 0; i < data.elements(); ++i) {
      const auto high = static_cast<double>(generator() >> 5);
      const auto low = static_cast<double>(generator() >> 6);
      elements[i] = static_cast<float>((high * 67108864.0 + low) / 9007199254740992.0);
    }
    inputs[port.name] = data;
  }
  return inputs;
}

}  // namespace skiff::testing
