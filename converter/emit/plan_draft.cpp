#include "emit/plan_draft.h"

#include <xxhash.h>

#include <algorithm>

#include "core/extents.h"
#include "core/widen.h"
#include "emit/stored_form.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/shape_program.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Throws Error for a shape that would be known too late: what is large, or comes from an input that is no
/// list of numbers, is data.
void CheckShapeProgram(const Graph& graph, const std::vector<bool>& member, bool of_stage) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (!member[static_cast<size_t>(id)] || graph.node(id).bodies.empty()) continue;
    Throw(StatusCode::kUnsupported,
          "{}: a shape depends on the elements that it returns; that is not supported",
          DescribeNode(graph, graph.node(id)));
  }
  for (const NodeId id : graph.TopologicalOrder()) {
    if (!member[static_cast<size_t>(id)] || graph.node(id).op == OpCode::kShape) continue;
    for (const ValueId input : graph.node(id).inputs) {
      if (of_stage || input == kNoValue || !graph.IsGraphInput(input) || graph.value(input).dims.size() <= 1)
        continue;
      Throw(StatusCode::kUnsupported,
            "{}: a shape depends on the elements of input '{}', which is no list of numbers; shapes that "
            "follow from data "
            "are not supported",
            DescribeNode(graph, graph.node(id)), graph.value(input).name);
    }
  }
}

class Drafter {
 public:
  Drafter(const Graph& graph, bool of_stage)
      : graph_(graph), of_stage_(of_stage), index_(static_cast<size_t>(graph.value_count()), -1) {
    draft_.graph = &graph;
  }

  PlanDraft Draft() {
    shape_program_ = ShapeProgram(graph_);
    CheckShapeProgram(graph_, shape_program_, of_stage_);
    for (const GraphPort& port : graph_.inputs()) draft_.inputs.push_back(IndexOf(port.value));
    for (const NodeId id : graph_.TopologicalOrder()) {
      // What it makes is a constant of the plan.
      if (graph_.node(id).op == OpCode::kDequantize && CodesBehind(graph_, graph_.node(id).outputs[0]))
        continue;
      DraftNode node;
      node.id = id;
      node.shape_program = IsShapeNode(id);
      for (const ValueId input : graph_.node(id).inputs)
        node.inputs.push_back(input == kNoValue ? -1 : IndexOf(input));
      for (const ValueId output : graph_.node(id).outputs) node.outputs.push_back(IndexOf(output));
      for (const Graph& body : graph_.node(id).bodies) {
        node.bodies.push_back(Drafter(body, graph_.node(id).op == OpCode::kStage).Draft());
        node.bodies.back().inputs_outside = true;
      }
      if (!node.bodies.empty()) node.outputs.push_back(AddScratch(node.bodies));
      draft_.nodes.push_back(std::move(node));
    }
    for (const GraphPort& port : graph_.outputs()) draft_.outputs.push_back(IndexOf(port.value));
    std::stable_partition(draft_.nodes.begin(), draft_.nodes.end(),
                          [](const DraftNode& node) { return node.shape_program; });
    draft_.shape_node_count = static_cast<uint32_t>(std::count_if(
        draft_.nodes.begin(), draft_.nodes.end(), [](const DraftNode& node) { return node.shape_program; }));
    draft_.placements.resize(draft_.tensors.size());
    LeaveCountedResultsInScratch();
    FindWhatIsMadeInRun();
    ChooseKind();
    return std::move(draft_);
  }

 private:
  /// Its bytes are known when the bodies' arenas are planned.
  int32_t AddScratch(const std::vector<PlanDraft>& bodies) {
    const bool unbounded = std::any_of(bodies.begin(), bodies.end(), [](const PlanDraft& body) {
      return body.kind == BucketKind::kUnbounded;
    });
    PlanTensor& tensor = draft_.tensors.emplace_back();
    tensor.name = "scratch";
    tensor.view = TensorView(nullptr, DType::kU8, Shape{-1});
    draft_.largest_bytes.push_back(unbounded ? -1 : 0);
    draft_.values.push_back(kNoValue);
    return static_cast<int32_t>(draft_.tensors.size() - 1);
  }

  int32_t IndexOf(ValueId id) {
    int32_t& index = index_[static_cast<size_t>(id)];
    if (index >= 0) return index;
    const Value& value = graph_.value(id);
    if (!value.has_shape) Throw(StatusCode::kInternal, "value '{}' has no shape", value.name);
    index = static_cast<int32_t>(draft_.tensors.size());
    PlanTensor& tensor = draft_.tensors.emplace_back();
    tensor.name = value.name.c_str();
    Shape shape;
    Shape smallest;  // The loader takes an extent that varies for 1.
    for (const Dim& dim : value.dims) {
      shape.Append(dim.constant() ? dim.value : -1);
      smallest.Append(dim.constant() ? dim.value : 1);
    }
    if (const char* why = WhyNoTensor(value.dtype, smallest))
      Throw(StatusCode::kUnsupported, "'{}', {}, {}", value.name, ShapeText(shape).c_str(), why);
    tensor.view = TensorView(nullptr, value.dtype, shape, value.quantization.get());
    draft_.largest_bytes.push_back(LargestBytes(value));
    if (value.constant) {
      tensor.constant = true;
      tensor.view.data = value.constant->view().data;
      tensor.hash = HashOf(*value.constant);
    } else if (const TensorData* codes = CodesBehind(graph_, id)) {
      tensor.constant = true;
      if (IsNarrower(*codes)) {
        draft_.codes.emplace(index, *codes);
      } else {
        TensorData& floats = draft_.made.emplace_back(DType::kF32, codes->shape());
        WidenCodes(codes->view(), static_cast<float*>(floats.mutable_data()));
        tensor.view.data = draft_.made.back().view().data;
        tensor.hash = HashOf(draft_.made.back());
      }
    }
    draft_.values.push_back(id);
    return index;
  }

  /// The interval maximum of a value's bytes; -1 where it has none.
  int64_t LargestBytes(const Value& value) const {
    Dim bytes(DTypeSize(value.dtype));  // What is smaller than a byte is constant, and not planned.
    for (const Dim& dim : value.dims) bytes = bytes * dim;
    int64_t largest = bytes.bounds().max;
    // The same elements as its input, whose number may be known better.
    if (value.producer != kNoNode) {
      const Node& node = graph_.node(value.producer);
      const bool moves = FindOp(node.op)->Is(kReinterpret) || node.op == OpCode::kTranspose;
      const int32_t input = moves ? index_[static_cast<size_t>(node.inputs[0])] : -1;
      const int64_t source = input >= 0 ? draft_.largest_bytes[static_cast<size_t>(input)] : -1;
      if (source >= 0) largest = std::min(largest, source);
    }
    return largest >= kMaxTensorBytes ? -1 : std::max<int64_t>(largest, 0);
  }

  /// Of the branch that was taken: its arena is the scratch.
  void LeaveCountedResultsInScratch() {
    for (const DraftNode& draft : draft_.nodes) {
      const Node& node = graph_.node(draft.id);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (!IsCountedResult(graph_, node, i)) continue;
        const auto result = static_cast<size_t>(draft.outputs[i]);
        draft_.placements[result].view_of = draft.outputs.back();
        draft_.largest_bytes[result] = 0;
      }
    }
  }

  void ChooseKind() {
    bool open = draft_.shape_node_count > 0;
    bool bounded = true;
    for (size_t i = 0; i < draft_.tensors.size(); ++i) {
      if (draft_.tensors[i].constant) continue;
      if (draft_.values[i] == kNoValue) {
        open = open || draft_.largest_bytes[i] < 0;
        bounded = bounded && (IsMadeInRun(i) || draft_.largest_bytes[i] >= 0);
        continue;
      }
      for (const int64_t extent : draft_.tensors[i].view.shape) open = open || extent < 0;
      const NodeId producer = graph_.value(draft_.values[i]).producer;
      const bool planned = producer != kNoNode && !IsShapeNode(producer) && !IsMadeInRun(i);
      bounded = bounded && (!planned || draft_.largest_bytes[i] >= 0);
    }
    if (!open && !ReadsShapeInput()) return;
    draft_.kind = bounded ? BucketKind::kRelaxed : BucketKind::kUnbounded;
    draft_.inputs_outside = true;
  }

  /// A result or the scratch of a node whose bodies are shaped in the run: the results lie elsewhere, and the
  /// scratch may be as good as none.
  bool IsMadeInRun(size_t tensor) const { return made_in_run_[tensor]; }

  void FindWhatIsMadeInRun() {
    made_in_run_.assign(draft_.tensors.size(), false);
    for (const DraftNode& draft : draft_.nodes) {
      const Node& node = graph_.node(draft.id);
      if (!IsShapedInRun(graph_, node)) continue;
      made_in_run_[static_cast<size_t>(draft.outputs.back())] = true;
      for (size_t i = 0; i < node.outputs.size(); ++i)
        made_in_run_[static_cast<size_t>(draft.outputs[i])] =
            node.op == OpCode::kStage || IsCountedResult(graph_, node, i);
    }
  }

  bool IsShapeNode(NodeId id) const { return shape_program_[static_cast<size_t>(id)]; }

  /// A graph input whose elements a shape rule needs.
  bool ReadsShapeInput() const {
    for (const DraftNode& draft : draft_.nodes) {
      const Node& node = graph_.node(draft.id);
      const std::vector<bool> needed = NeededInputs(node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNoValue && needed[i] && graph_.IsGraphInput(node.inputs[i])) return true;
      }
    }
    return false;
  }

  static constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

  const Graph& graph_;
  const bool of_stage_;  ///< All elements of the graph's inputs are known when its shapes are asked for.
  PlanDraft draft_;
  std::vector<int32_t> index_;
  std::vector<bool> shape_program_;  ///< By node.
  std::vector<bool> made_in_run_;    ///< By tensor.
};

}  // namespace

ContentHash HashOf(const TensorData& data) {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size_bytes());
  return {hash.low64, hash.high64};
}

bool PlanDraft::IsStage(size_t node) const { return graph->node(nodes[node].id).op == OpCode::kStage; }

PlanNode PlanDraft::ViewOf(size_t node) const {
  const DraftNode& draft = nodes[node];
  const Node& source = graph->node(draft.id);
  return {FindOp(source.op),
          &source.attrs,
          source.name.c_str(),
          {draft.inputs.data(), draft.inputs.size()},
          {draft.outputs.data(), draft.outputs.size()},
          {}};
}

NodeTypes PlanDraft::TypesOf(size_t node, std::vector<const PlanTensor*>& storage) const {
  const PlanNode view = ViewOf(node);
  storage.clear();
  const std::vector<PlanTensor>& types = typical.empty() ? tensors : typical;
  for (const Span<const int32_t>& indices : {view.inputs, view.outputs}) {
    for (const int32_t i : indices) storage.push_back(i < 0 ? nullptr : &types[static_cast<size_t>(i)]);
  }
  return {view.op,
          view.attrs,
          {storage.data(), view.inputs.size()},
          {storage.data() + view.inputs.size(), view.outputs.size()}};
}

void PlanDraft::FindTypicalTypes() {
  if (kind == BucketKind::kExact) return;
  typical = tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (values[i] == kNoValue) continue;
    const Value& value = graph->value(values[i]);
    Shape shape;
    for (const Dim& dim : value.dims) {
      const Bounds bounds = dim.bounds();
      shape.Append(dim.constant()                ? dim.value
                   : bounds.max < kTypicalExtent ? std::max<int64_t>(bounds.max, 1)
                                                 : kTypicalExtent);
    }
    // Beside large extents, typical ones may be more than a tensor has; the smallest were checked.
    if (WhyNoTensor(value.dtype, shape) != nullptr) shape = tensors[i].view.shape;
    typical[i].view = TensorView(tensors[i].view.data, value.dtype, shape, value.quantization.get());
    typical[i].view.row_stride = tensors[i].constant ? shape.last() : tensors[i].view.row_stride;
    if (shape.rank() > 0 && tensors[i].view.shape.last() < 0) typical[i].view.row_stride = shape.last();
  }
  // A list that is known once the shape is serves as a constant where a delegate wants one.
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = graph->node(nodes[n].id);
    const std::vector<bool> needed = NeededInputs(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (nodes[n].inputs[i] >= 0 && needed[i])
        typical[static_cast<size_t>(nodes[n].inputs[i])].constant = true;
    }
  }
}

PlanDraft DraftPlan(const Graph& graph) { return Drafter(graph, false).Draft(); }

}  // namespace skiff
