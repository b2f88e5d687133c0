#include "import/known_value.h"

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// No axis or matrix is computed from more nodes.
constexpr size_t kMaxNodes = 256;

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<KnownType>& types, int64_t max_elements)
      : graph_(graph), types_(types), max_elements_(max_elements) {}

  std::optional<TensorData> Find(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.constant) return value.constant;
    if (value.producer == kNoNode) return {};
    if (const auto known = found_.find(id); known != found_.end()) return known->second;
    if (found_.size() >= kMaxNodes) return {};
    found_[id] = {};
    const Node& node = graph_.node(value.producer);
    if (node.outputs.size() != 1) return {};
    return found_[id] = node.op == OpCode::kShape ? FindShape(node) : Compute(node);
  }

 private:
  std::optional<TensorData> FindShape(const Node& node) const {
    const KnownType& type = types_[static_cast<size_t>(node.inputs[0])];
    if (!type.HasRank()) return {};
    const auto& attrs = node.As<ShapeAttrs>();
    const SliceRange range = ResolveSlice(type.rank, attrs.start, attrs.end, 1);
    std::vector<int64_t> extents(type.extents + range.start, type.extents + range.start + range.count);
    if (std::find(extents.begin(), extents.end(), KnownType::kUnknownExtent) != extents.end()) return {};
    return TensorData::OfInts(extents);
  }

  std::optional<TensorData> Compute(const Node& node) {
    std::vector<TensorData> known;
    known.reserve(node.inputs.size());
    std::vector<const TensorData*> inputs;
    for (ValueId input : node.inputs) {
      if (input == kNoValue) {
        inputs.push_back(nullptr);
        continue;
      }
      std::optional<TensorData> data = Find(input);
      if (!data || data->elements() > max_elements_) return {};
      inputs.push_back(&known.emplace_back(std::move(*data)));
    }
    try {
      const std::vector<TensorView> outputs = InferOutputs(node.op, node.attrs, inputs, 1, node.name);
      if (outputs[0].shape.elements() > max_elements_) return {};
      return EvaluateOp(node.op, node.attrs, inputs, 1, node.name)[0];
    } catch (const Error&) {
      return {};  // Whoever runs the node will say what is wrong with it.
    }
  }

  const Graph& graph_;
  const std::vector<KnownType>& types_;
  int64_t max_elements_;
  std::map<ValueId, std::optional<TensorData>> found_;
};

}  // namespace

std::optional<TensorData> FindKnownValue(const Graph& graph, const std::vector<KnownType>& types,
                                         ValueId value, int64_t max_elements) {
  return Finder(graph, types, max_elements).Find(value);
}

}  // namespace skiff
