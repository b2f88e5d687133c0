#include "emit/plan_draft.h"

#include <xxhash.h>

#include "graph/error.h"

namespace skiff {
namespace {

ContentHash HashOf(const TensorData& data) {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size_bytes());
  return {hash.low64, hash.high64};
}

class Drafter {
 public:
  explicit Drafter(const Graph& graph) : graph_(graph), index_(static_cast<size_t>(graph.value_count()), -1) {
    draft_.graph = &graph;
  }

  PlanDraft Draft() {
    for (const GraphPort& port : graph_.inputs()) draft_.inputs.push_back(IndexOf(port.value));
    for (const NodeId id : graph_.TopologicalOrder()) {
      DraftNode node;
      node.id = id;
      for (const ValueId input : graph_.node(id).inputs)
        node.inputs.push_back(input == kNoValue ? -1 : IndexOf(input));
      for (const ValueId output : graph_.node(id).outputs) node.outputs.push_back(IndexOf(output));
      draft_.nodes.push_back(std::move(node));
    }
    for (const GraphPort& port : graph_.outputs()) draft_.outputs.push_back(IndexOf(port.value));
    draft_.placements.resize(draft_.tensors.size());
    return std::move(draft_);
  }

 private:
  int32_t IndexOf(ValueId id) {
    int32_t& index = index_[static_cast<size_t>(id)];
    if (index >= 0) return index;
    const Value& value = graph_.value(id);
    if (!value.has_static_shape()) Throw(StatusCode::kInternal, "value '{}' has no static shape", value.name);
    index = static_cast<int32_t>(draft_.tensors.size());
    PlanTensor& tensor = draft_.tensors.emplace_back();
    tensor.name = value.name.c_str();
    tensor.view = TensorView(nullptr, value.dtype, value.shape());
    if (value.constant) {
      tensor.constant = true;
      tensor.view.data = value.constant->view().data;
      tensor.hash = HashOf(*value.constant);
    }
    draft_.values.push_back(id);
    return index;
  }

  const Graph& graph_;
  PlanDraft draft_;
  std::vector<int32_t> index_;
};

}  // namespace

PlanNode PlanDraft::ViewOf(size_t node) const {
  const DraftNode& draft = nodes[node];
  const Node& source = graph->node(draft.id);
  return {FindOp(source.op),
          &source.attrs,
          source.name.c_str(),
          {draft.inputs.data(), draft.inputs.size()},
          {draft.outputs.data(), draft.outputs.size()}};
}

NodeTypes PlanDraft::TypesOf(size_t node, std::vector<const PlanTensor*>& storage) const {
  const PlanNode view = ViewOf(node);
  storage.clear();
  for (const Span<const int32_t>& indices : {view.inputs, view.outputs}) {
    for (const int32_t i : indices) storage.push_back(i < 0 ? nullptr : &tensors[static_cast<size_t>(i)]);
  }
  return {view.op,
          view.attrs,
          {storage.data(), view.inputs.size()},
          {storage.data() + view.inputs.size(), view.outputs.size()}};
}

PlanDraft DraftPlan(const Graph& graph) { return Drafter(graph).Draft(); }

}  // namespace skiff
