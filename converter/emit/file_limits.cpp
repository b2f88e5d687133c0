#include "emit/file_limits.h"

#include <algorithm>

#include "core/extents.h"
#include "emit/attr_encoder.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "plan/limits.h"

namespace skiff {
namespace {

void CheckDepth(const Graph& graph, int depth) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.removed || node.bodies.empty()) continue;
    if (depth == kMaxBodyDepth)
      Throw(StatusCode::kUnsupported,
            "{} lies in {} bodies of others and has bodies itself; {} in each other are the most that a file "
            "can have. Split the net, or put fewer of its conditions and loops into each other",
            DescribeNode(graph, node), depth, kMaxBodyDepth);
    for (const Graph& body : node.bodies) CheckDepth(body, depth + 1);
  }
}

void CheckOperands(const PlanDraft& draft, size_t n) {
  const DraftNode& node = draft.nodes[n];
  if (node.inputs.size() + node.outputs.size() <= kMaxOperands) return;
  Throw(StatusCode::kUnsupported,
        "{} has {} inputs and {} outputs; {} together are the most that a node of a file can have. Let "
        "several nodes share its work in the source",
        DescribeNode(*draft.graph, draft.graph->node(node.id)), node.inputs.size(), node.outputs.size(),
        kMaxOperands);
}

}  // namespace

void CheckBodyDepth(const Graph& graph) { CheckDepth(graph, 0); }

void CheckInputCount(const Graph& graph) {
  if (graph.inputs().size() <= kMaxInputs) return;
  Throw(StatusCode::kUnsupported,
        "the net has {} inputs, '{}' and others; {} are the most that a file can have. Let one input hold "
        "what several do, and split it in the net",
        graph.inputs().size(), graph.inputs()[0].name, kMaxInputs);
}

void CheckDimensions(const Graph& graph) {
  for (const Symbol& symbol : graph.symbols()) {
    if (std::max(symbol.min, symbol.multiple) <= kMaxTensorBytes) continue;
    Throw(StatusCode::kUnsupported,
          "dimension '{}' begins at {}, in steps of {}; {} are the most that a tensor can have. Give it a "
          "smaller one (--dim '{}=MIN..MAX')",
          symbol.name, symbol.min, symbol.multiple, kMaxTensorBytes, symbol.name);
  }
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    for (const Dim& dim : value.dims) {
      if (dim.bounds().min >= 0) continue;
      Throw(StatusCode::kUnsupported, "input '{}' {} has an extent that may be below 0", port.name,
            DimsText(graph, value.dims));
    }
    if (IsTooLarge(value.dtype, value.dims))
      Throw(StatusCode::kUnsupported,
            "input '{}' {} {} has more bytes than a tensor can have. Give it smaller sizes", port.name,
            DTypeName(value.dtype), DimsText(graph, value.dims));
  }
}

void CheckArena(const PlanDraft& draft) {
  for (const DraftNode& node : draft.nodes) {
    for (const PlanDraft& body : node.bodies) CheckArena(body);
  }
  if (draft.arena_bytes <= static_cast<uint64_t>(kMaxTensorBytes)) return;
  size_t largest = 0;
  for (size_t i = 0; i < draft.tensors.size(); ++i) {
    if (draft.tensors[i].view.bytes() > draft.tensors[largest].view.bytes()) largest = i;
  }
  Throw(StatusCode::kUnsupported,
        "the net's tensors need more than {} bytes at once, the most that an arena can have; the largest is "
        "'{}' with {}. Give the inputs smaller sizes",
        kMaxTensorBytes, draft.tensors[largest].name, draft.tensors[largest].view.bytes());
}

void FileLimits::Add(const PlanDraft& draft) {
  AddPlan(draft);
  AddTables(draft.inputs.size() + draft.outputs.size());  // Ports.
}

void FileLimits::Add(const PortSettings& ports) {
  for (const auto& [output, labels] : ports.labels) {
    references_ += labels.size();
    if (references_ > kMaxReferences)
      Throw(StatusCode::kUnsupported,
            "its outputs have more labels than a file can have: {} with the inputs and outputs of its nodes, "
            "'{}' has {}. Give it fewer (--labels), or leave them out",
            kMaxReferences, output, labels.size());
  }
}

void FileLimits::AddTables(uint64_t count) {
  tables_ += count;
  if (tables_ > kMaxTables)
    Throw(StatusCode::kUnsupported,
          "its nodes, attributes and tensors are more than the {} that a file can have, those of each "
          "signature, bucket and target counted. Convert fewer of these into one file",
          kMaxTables);
}

void FileLimits::AddPlan(const PlanDraft& draft) {
  uint64_t tables = 1 + 2 * draft.ranges.size();  // With their dimensions.
  for (const PlanTensor& tensor : draft.tensors) tables += tensor.view.quantization != nullptr ? 2 : 1;
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    CheckOperands(draft, n);
    const DraftNode& node = draft.nodes[n];
    const Node& source = draft.graph->node(node.id);
    tables += 1 + CountEncodedAttrs(source.op, source.attrs);
    references_ += node.inputs.size() + node.outputs.size() + node.bodies.size();
    for (const PlanDraft& body : node.bodies) AddPlan(body);
  }
  // Of the plan itself; a loader compares outputs with inputs, and counts that.
  references_ += draft.inputs.size() + draft.outputs.size() * (1 + draft.inputs.size() / 64);
  if (references_ > kMaxReferences)
    Throw(StatusCode::kUnsupported,
          "its nodes and plans have more than {} inputs and outputs, the most that a file can have, those of "
          "each "
          "signature, bucket and target counted. Convert fewer of these into one file",
          kMaxReferences);
  AddTables(tables);
}

}  // namespace skiff
