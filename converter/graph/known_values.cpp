#include "graph/known_values.h"

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/node_types.h"
#include "graph/op_steps.h"
#include "graph/symbolic_rules.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// No axis or matrix is computed from more nodes that nobody has asked of yet.
constexpr size_t kMaxNodes = 1024;
/// To look at a node, beside what it has to do.
constexpr int64_t kStepsOfNode = 1024;
/// Of a node that decides shapes: more than one of kMaxShapeElements takes.
constexpr uint64_t kMostStepsOfShapeNode = uint64_t{1} << 17;
constexpr KnownValueBudget kOfAllShapes{int64_t{256} << 20, kMostKnownValueSteps};

template <class T>
TensorData Narrowed(const Value& value) {
  TensorData data(value.dtype, value.shape());
  std::transform(value.elements->begin(), value.elements->end(), static_cast<T*>(data.mutable_data()),
                 [](const Dim& element) { return static_cast<T>(element.value); });
  return data;
}

/// A value whose elements inference knows as numbers; of the dtypes that shape arithmetic uses.
std::optional<TensorData> ElementsOf(const Value& value) {
  const bool numbers = value.elements && value.has_static_shape() &&
                       value.shape().elements() == static_cast<int64_t>(value.elements->size()) &&
                       std::all_of(value.elements->begin(), value.elements->end(),
                                   [](const Dim& element) { return element.constant(); });
  if (!numbers) return {};
  if (value.dtype == DType::kI64) return Narrowed<int64_t>(value);
  if (value.dtype == DType::kI32) return Narrowed<int32_t>(value);
  if (value.dtype == DType::kBool) return Narrowed<uint8_t>(value);
  return {};
}

using Found = std::map<ValueId, std::optional<TensorData>>;

struct Limits {
  int64_t elements;
  uint64_t steps;  ///< Of one node.
};

class Finder {
 public:
  Finder(const Graph& graph, const Limits& limits, KnownValueBudget& left, Found& found)
      : graph_(graph), limits_(limits), left_(left), found_(found) {}

  std::optional<TensorData> Find(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.constant) return value.constant;
    if (auto elements = ElementsOf(value)) return elements;
    if (value.producer == kNoNode) return {};
    if (const auto known = found_.find(id); known != found_.end()) return known->second;
    if (++nodes_ > kMaxNodes || left_.steps < kStepsOfNode) return {};
    left_.steps -= kStepsOfNode;
    const Node& node = graph_.node(value.producer);
    for (const ValueId output : node.outputs) found_[output] = {};
    if (FindOp(node.op)->Is(kEffect) || !node.bodies.empty()) return {};
    if (node.op == OpCode::kShape) {
      const Value& of = graph_.value(node.inputs[0]);
      if (of.has_static_shape()) found_[id] = StaticShape(graph_, node);
    } else {
      Compute(node);
    }
    return found_[id];
  }

 private:
  void Compute(const Node& node) {
    std::vector<TensorData> known;
    known.reserve(node.inputs.size());
    std::vector<const TensorData*> inputs;
    for (ValueId input : node.inputs) {
      if (input == kNoValue) {
        inputs.push_back(nullptr);
        continue;
      }
      std::optional<TensorData> data = Find(input);
      if (!data || data->elements() > limits_.elements) return;
      inputs.push_back(&known.emplace_back(std::move(*data)));
    }
    try {
      const std::vector<TensorView> outputs =
          InferOutputs(node.op, node.attrs, inputs, node.outputs.size(), node.name);
      int64_t bytes = 0;
      for (const TensorView& output : outputs) {
        if (output.shape.elements() > limits_.elements) return;
        bytes += ElementBytes(output.dtype, output.shape.elements());
      }
      const uint64_t steps = StepsOf(node.op, node.attrs, inputs, outputs);
      if (bytes > left_.bytes || steps > limits_.steps || steps > static_cast<uint64_t>(left_.steps)) return;
      left_.bytes -= bytes;
      left_.steps -= static_cast<int64_t>(steps);
      std::vector<TensorData> results = EvaluateNode(graph_, node, inputs);
      for (size_t i = 0; i < results.size(); ++i) found_[node.outputs[i]] = std::move(results[i]);
      // Nobody asks again for what this node alone reads.
      for (ValueId input : node.inputs) {
        if (input != kNoValue && graph_.value(input).uses.size() == 1) found_.erase(input);
      }
    } catch (const Error&) {
      // Whoever runs the node will say what is wrong with it.
    }
  }

  const Graph& graph_;
  const Limits limits_;
  KnownValueBudget& left_;
  Found& found_;
  size_t nodes_ = 0;
};

}  // namespace

KnownValues::KnownValues(const Graph& graph) : graph_(graph), left_(kOfAllShapes) {}

std::optional<TensorData> KnownValues::Find(ValueId value) {
  if (graph_.value(value).quantization) return {};  // These integers are no positions and no sizes.
  return Finder(graph_, {kMaxShapeElements, kMostStepsOfShapeNode}, left_, found_).Find(value);
}

std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements,
                                         KnownValueBudget& left) {
  if (graph.value(value).quantization) return {};
  Found found;
  return Finder(graph, {max_elements, UINT64_MAX}, left, found).Find(value);
}

std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements) {
  if (graph.value(value).quantization) return {};
  KnownValueBudget left{kOfAllShapes.bytes, graph.known_value_steps};
  Found found;
  auto data = Finder(graph, {max_elements, kMostStepsOfShapeNode}, left, found).Find(value);
  graph.known_value_steps = left.steps;
  return data;
}

}  // namespace skiff
