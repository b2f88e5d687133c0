#include "graph/known_values.h"

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/node_types.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// No axis or matrix is computed from more nodes.
constexpr size_t kMaxNodes = 1024;

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

class Finder {
 public:
  Finder(const Graph& graph, int64_t max_elements, int64_t& bytes_left)
      : graph_(graph), max_elements_(max_elements), bytes_left_(bytes_left) {}

  std::optional<TensorData> Find(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.constant) return value.constant;
    if (auto elements = ElementsOf(value)) return elements;
    if (value.producer == kNoNode) return {};
    if (const auto known = found_.find(id); known != found_.end()) return known->second;
    if (++nodes_ > kMaxNodes) return {};
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
      if (!data || data->elements() > max_elements_) return;
      inputs.push_back(&known.emplace_back(std::move(*data)));
    }
    try {
      int64_t bytes = 0;
      for (const TensorView& output :
           InferOutputs(node.op, node.attrs, inputs, node.outputs.size(), node.name)) {
        if (output.shape.elements() > max_elements_) return;
        bytes += ElementBytes(output.dtype, output.shape.elements());
      }
      if (bytes > bytes_left_) return;
      bytes_left_ -= bytes;
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
  int64_t max_elements_;
  int64_t& bytes_left_;
  size_t nodes_ = 0;
  std::map<ValueId, std::optional<TensorData>> found_;
};

}  // namespace

std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements,
                                         int64_t& bytes_left) {
  if (graph.value(value).quantization) return {};  // These integers are no positions and no sizes.
  return Finder(graph, max_elements, bytes_left).Find(value);
}

std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements) {
  // At most eight bytes each.
  int64_t bytes_left = static_cast<int64_t>(kMaxNodes) * max_elements * 8;
  return FindKnownValue(graph, value, max_elements, bytes_left);
}

}  // namespace skiff
