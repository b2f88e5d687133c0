// Evaluates what depends on constants only, with the reference kernels.
#include <algorithm>
#include <deque>
#include <set>

#include "graph/bodies.h"
#include "graph/node_types.h"
#include "graph/shape_program.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/fuse/linear.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// A result may be this large whatever it was made from; beyond that it may be kMaxGrowth times its inputs.
constexpr int64_t kSmallBytes = 64 * 1024;
constexpr int64_t kMaxGrowth = 4;
/// No list of extents or pads is larger.
constexpr int64_t kMaxShapeInputBytes = 1024 * 1024;

int64_t BytesWritten(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (ValueId id : node.outputs)
    bytes += graph.value(id).shape().elements() * DTypeSize(graph.value(id).dtype);
  return bytes;
}

/// What it reads twice counts once.
int64_t BytesRead(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (auto at = node.inputs.begin(); at != node.inputs.end(); ++at) {
    const bool again = std::find(node.inputs.begin(), at, *at) != at;
    if (*at != kNoValue && !again && graph.value(*at).constant)
      bytes += static_cast<int64_t>(graph.value(*at).constant->size_bytes());
  }
  return bytes;
}

/// What nobody else reads is gone when the node is.
int64_t BytesFreed(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (const ValueId id : std::set<ValueId>(node.inputs.begin(), node.inputs.end())) {
    if (id == kNoValue || !graph.value(id).constant || graph.IsGraphOutput(id)) continue;
    const std::vector<Use>& uses = graph.value(id).uses;
    const bool alone =
        std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return &graph.node(use.node) == &node; });
    if (alone) bytes += static_cast<int64_t>(graph.value(id).constant->size_bytes());
  }
  return bytes;
}

int64_t BytesAdded(const Graph& graph, const Node& node) {
  return std::max<int64_t>(BytesWritten(graph, node) - BytesFreed(graph, node), 0);
}

/// Expand, Tile and Fill would turn a few bytes of the file into many. Chains of them, each of which is
/// modest, have a budget.
bool BlowsUp(const Graph& graph, const Node& node) {
  const int64_t written = BytesWritten(graph, node);
  return written > kSmallBytes && written > kMaxGrowth * BytesRead(graph, node);
}

/// Some user can only be typed when it knows the elements.
bool NeededAsValues(const Graph& graph, const Node& node) {
  if (BytesWritten(graph, node) > kMaxShapeInputBytes) return false;
  for (ValueId id : node.outputs) {
    for (const Use& use : graph.value(id).uses) {
      if (NeedsValues(graph.node(use.node), static_cast<size_t>(use.input))) return true;
    }
  }
  return false;
}

/// Shape inference knows the only result's elements, as numbers, although an input's extents are open.
bool HasKnownElements(const Graph& graph, const Node& node) {
  const Value& value = graph.value(node.outputs[0]);
  return node.outputs.size() == 1 && value.dtype == DType::kI64 && value.elements &&
         value.shape().elements() == static_cast<int64_t>(value.elements->size()) &&
         std::all_of(value.elements->begin(), value.elements->end(),
                     [](const Dim& dim) { return dim.constant(); });
}

TensorData ElementsOf(const Value& value) {
  std::vector<int64_t> numbers;
  for (const Dim& element : *value.elements) numbers.push_back(element.value);
  return TensorData::OfInts(numbers).Reshaped(value.shape());
}

/// The Dequantize of a constant, which stays one, that makes an input of a product; kNoNode: there is none.
NodeId WeightsOf(const Graph& graph, const Node& node, ValueId input) {
  if (node.op != OpCode::kMatMul && !IsLinear(node.op)) return kNoNode;
  const ValueId codes = input == kNoValue ? kNoValue : DequantizedFrom(graph, input);
  return codes != kNoValue && graph.value(codes).constant ? graph.value(input).producer : kNoNode;
}

/// Takes from the budget what evaluating the node costs; false where that is not left.
bool IsAffordable(Graph& graph, const Node& node) {
  if (HasKnownElements(graph, node) || node.op == OpCode::kShape) return true;
  if (!TakeFoldingWork(graph, node)) return false;
  for (const ValueId id : node.inputs) {
    const NodeId weights = WeightsOf(graph, node, id);
    if (weights != kNoNode && !TakeFoldingWork(graph, graph.node(weights))) return false;
  }
  return TakeFoldingBytes(graph, BytesAdded(graph, node)) || NeededAsValues(graph, node);
}

bool CanFold(const Graph& graph, const Node& node) {
  const bool is_output = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return graph.IsGraphOutput(id); });
  const bool typed = std::all_of(node.outputs.begin(), node.outputs.end(),
                                 [&](ValueId id) { return graph.value(id).has_static_shape(); });
  if (HasEffect(node) || !node.bodies.empty()) return false;
  // Integers take less room than the numbers that they stand for.
  if (node.op == OpCode::kDequantize) return false;
  if (is_output || !typed) return false;  // A graph output stays the result of a node.
  if (node.op == OpCode::kShape && graph.value(node.inputs[0]).has_static_shape()) return true;
  if (HasKnownElements(graph, node)) return true;
  const bool constant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return id == kNoValue || graph.value(id).constant.has_value() || WeightsOf(graph, node, id) != kNoNode;
  });
  return constant && (!BlowsUp(graph, node) || NeededAsValues(graph, node));
}

std::optional<std::vector<TensorData>> Compute(const Graph& graph, const Node& node) {
  if (HasKnownElements(graph, node)) return std::vector<TensorData>{ElementsOf(graph.value(node.outputs[0]))};
  if (node.op == OpCode::kShape) return std::vector<TensorData>{StaticShape(graph, node)};
  std::vector<const TensorData*> arguments;
  std::deque<TensorData> dequantized;
  for (const ValueId id : node.inputs) {
    const NodeId weights = WeightsOf(graph, node, id);
    if (weights == kNoNode) {
      arguments.push_back(id == kNoValue ? nullptr : &*graph.value(id).constant);
      continue;
    }
    const auto numbers = EvaluateIfSupported(graph, graph.node(weights),
                                             {&*graph.value(graph.node(weights).inputs[0]).constant});
    if (!numbers) return std::nullopt;
    arguments.push_back(&dequantized.emplace_back((*numbers)[0]));
  }
  return EvaluateIfSupported(graph, node, arguments);
}

}  // namespace

void FoldConstants(Graph& graph) {
  ForEachNode(graph, [&](NodeId id) {
    const TensorData* condition = graph.node(id).op == OpCode::kIf ? graph.ConstantInput(id, 0) : nullptr;
    if (condition != nullptr) {
      for (NodeId inlined : InlineBranch(graph, id, *condition->as<uint8_t>() != 0))
        InferNode(graph, inlined);
      return;
    }
    if (!CanFold(graph, graph.node(id)) || !IsAffordable(graph, graph.node(id))) return;
    std::optional<std::vector<TensorData>> results = Compute(graph, graph.node(id));
    if (!results) return;
    graph.Note(id, "evaluated ahead of time");
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    std::vector<NodeId> producers;
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i)
      producers.push_back(graph.ProducerOf(id, static_cast<int>(i)));
    graph.RemoveNode(id);
    for (NodeId producer : producers) RemoveIfUnused(graph, producer);
    for (size_t i = 0; i < outputs.size(); ++i) graph.value(outputs[i]).constant = std::move((*results)[i]);
  });
}

}  // namespace skiff
