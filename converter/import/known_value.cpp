#include "import/known_value.h"

#include <algorithm>

#include "graph/evaluate.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// Arithmetic on ranks and extents is short; anything longer is data.
constexpr int64_t kMaxElements = 64;
constexpr int kMaxNodes = 64;

class ValueFinder {
 public:
  ValueFinder(const Graph& graph, const std::vector<KnownType>& types) : graph_(graph), types_(types) {}

  std::optional<TensorData> Find(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.constant) {
      if (value.constant->elements() > kMaxElements) return std::nullopt;
      return value.constant;
    }
    if (value.producer == kNoNode || nodes_left_-- == 0) return std::nullopt;
    const Node& node = graph_.node(value.producer);
    if (node.op == OpCode::kShape) return KnownShape(node);
    return Compute(node, static_cast<size_t>(value.output_index));
  }

 private:
  std::optional<TensorData> KnownShape(const Node& node) const {
    const KnownType& type = types_[static_cast<size_t>(node.inputs[0])];
    if (!type.HasRank()) return std::nullopt;
    const auto& attrs = node.As<ShapeAttrs>();
    const SliceRange range = ResolveSlice(type.rank, attrs.start, attrs.end, 1);
    const std::vector<int64_t> extents(type.extents + range.start, type.extents + range.start + range.count);
    if (std::count(extents.begin(), extents.end(), KnownType::kUnknownExtent) > 0) return std::nullopt;
    return TensorData::OfInts(extents);
  }

  std::optional<TensorData> Compute(const Node& node, size_t output) {
    std::vector<std::optional<TensorData>> known;
    std::vector<const TensorData*> inputs;
    known.reserve(node.inputs.size());
    for (ValueId input : node.inputs) {
      known.push_back(input == kNoValue ? std::nullopt : Find(input));
      if (input != kNoValue && !known.back()) return std::nullopt;
      inputs.push_back(known.back() ? &*known.back() : nullptr);
    }
    for (const TensorView& view : InferOutputs(node.op, node.attrs, inputs, node.outputs.size(), node.name)) {
      if (view.shape.elements() > kMaxElements) return std::nullopt;
    }
    return EvaluateOp(node.op, node.attrs, inputs, node.outputs.size(), node.name)[output];
  }

  const Graph& graph_;
  const std::vector<KnownType>& types_;
  int nodes_left_ = kMaxNodes;
};

}  // namespace

std::optional<TensorData> FindKnownValue(const Graph& graph, const std::vector<KnownType>& types,
                                         ValueId value) {
  return ValueFinder(graph, types).Find(value);
}

}  // namespace skiff
