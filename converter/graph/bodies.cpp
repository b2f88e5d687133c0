#include "graph/bodies.h"

#include <algorithm>

#include "graph/error.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr const char* kIfBodies[] = {"then", "else"};
constexpr const char* kWhileBodies[] = {"condition", "body"};
constexpr const char* kStageBodies[] = {"rest"};

const Value& Input(const Graph& body, size_t i) { return body.value(body.inputs()[i].value); }
const Value& Output(const Graph& body, size_t i) { return body.value(body.outputs()[i].value); }

std::string TypeText(const Graph& graph, const Value& value) {
  return DTypeName(value.dtype) + DimsText(graph, value.dims) + QuantizationText(value.quantization);
}

bool SameRank(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.dims.size() == b.dims.size() &&
         SameQuantization(a.quantization, b.quantization);
}

/// Whether a loop variable has the type that it had: the device asks again at every new shape, but for
/// extents that are known to change.
bool KeepsType(const Value& before, const Value& inside, const Value& after) {
  if (!SameRank(before, after) || !SameRank(before, inside)) return false;
  for (size_t axis = 0; axis < before.dims.size(); ++axis) {
    const bool changes = before.dims[axis] != inside.dims[axis];
    if (!changes && !SameExtent(before.dims[axis], after.dims[axis])) return false;
  }
  return true;
}

void CheckCondition(const Graph& graph, const Node& node, const Graph& names, const Value& condition) {
  const auto is_one = [](const Dim& dim) { return SameExtent(dim, 1); };
  if (condition.dtype == DType::kBool && std::all_of(condition.dims.begin(), condition.dims.end(), is_one))
    return;
  Throw(StatusCode::kInvalidModel, "{}: the condition '{}' is {}; it must be a bool of one element",
        DescribeNode(graph, node), condition.name, TypeText(names, condition));
}

/// A Symbol that is either the one or the other.
Dim EitherDim(Graph& graph, const Node& node, const Dim& a, const Dim& b) {
  const SymbolId id = graph.AddFreshSymbol(node.name);
  Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
  symbol.min = std::max<int64_t>(std::min(a.bounds().min, b.bounds().min), 0);
  symbol.max = std::max(a.bounds().max, b.bounds().max);
  return Dim::OfSymbol(id, symbol);
}

/// Of two results: what is not the same in both branches is a Symbol.
std::vector<Dim> DimsOfEither(Graph& graph, const Node& node, const Value& a, const Value& b) {
  std::vector<Dim> dims = a.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!(dims[i] == b.dims[i])) dims[i] = EitherDim(graph, node, dims[i], b.dims[i]);
  }
  return dims;
}

std::vector<ValueType> IfResults(Graph& graph, const Node& node) {
  CheckCondition(graph, node, graph, graph.value(node.inputs[0]));
  std::vector<ValueType> types;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& a = Output(node.bodies[0], i);
    const Value& b = Output(node.bodies[1], i);
    if (!SameRank(a, b)) {
      Throw(StatusCode::kInvalidModel,
            "{}: output {} is {} ('{}') in the branch '{}' and {} ('{}') in the branch '{}'; both must "
            "return the same dtype and rank. Where the condition follows from a dimension or an input that "
            "is always the "
            "same, fix that (--dim NAME=N, --set NAME=NUMBER): then only the chosen branch counts",
            DescribeNode(graph, node), i, TypeText(node.bodies[0], a), a.name, kIfBodies[0],
            TypeText(node.bodies[1], b), b.name, kIfBodies[1]);
    }
    types.push_back({a.dtype, DimsOfEither(graph, node, a, b), a.quantization, nullptr});
  }
  return types;
}

std::vector<ValueType> WhileResults(const Graph& graph, const Node& node) {
  CheckCondition(graph, node, node.bodies[0], Output(node.bodies[0], 0));
  std::vector<ValueType> types;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& before = graph.value(node.inputs[i]);
    const Value& inside = Input(node.bodies[1], i);
    const Value& after = Output(node.bodies[1], i);
    if (!KeepsType(before, inside, after)) {
      ThrowLoopVariableChanges(DescribeNode(graph, node), i, before.name, TypeText(graph, before),
                               TypeText(node.bodies[1], after));
    }
    types.push_back({before.dtype, inside.dims, before.quantization, nullptr});
  }
  return types;
}

std::vector<ValueType> StageResults(const Node& node) {
  std::vector<ValueType> types;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& result = Output(node.bodies[0], i);
    types.push_back({result.dtype, result.dims, result.quantization, nullptr});
  }
  return types;
}

}  // namespace

std::span<const char* const> BodyNames(OpCode op) {
  if (op == OpCode::kIf) return kIfBodies;
  if (op == OpCode::kWhile) return kWhileBodies;
  if (op == OpCode::kStage) return kStageBodies;
  return {};
}

void ThrowLoopVariableChanges(const std::string& node, size_t variable, const std::string& name,
                              const std::string& before, const std::string& after) {
  Throw(StatusCode::kInvalidModel,
        "{}: loop variable {} '{}' changes its type from {} to {}; a loop variable keeps its dtype and rank: "
        "give it the rank that an iteration leaves (an extent may be 0 at first)",
        node, variable, name, before, after);
}

void CheckBodies(const Graph& graph, const Node& node) {
  const auto names = BodyNames(node.op);
  if (node.bodies.size() != names.size()) {
    Throw(StatusCode::kInvalidModel, "{}: it has {} bodies, the operator runs {}", DescribeNode(graph, node),
          node.bodies.size(), names.size());
  }
  for (size_t b = 0; b < names.size(); ++b) {
    const Graph& body = node.bodies[b];
    const bool asks = node.op == OpCode::kWhile && b == 0;
    const size_t inputs = node.inputs.size() - std::min(FirstBodyInput(node.op), node.inputs.size());
    const size_t outputs = asks ? 1 : node.outputs.size();
    if (body.inputs().size() == inputs && body.outputs().size() == outputs && LoopVariables(node) <= inputs)
      continue;
    Throw(StatusCode::kInvalidModel,
          "{}: its body '{}' has {} inputs and {} outputs, the node wants {} and {}",
          DescribeNode(graph, node), names[b], body.inputs().size(), body.outputs().size(), inputs, outputs);
  }
}

std::vector<ValueType> BodyResults(Graph& graph, const Node& node) {
  CheckBodies(graph, node);
  if (node.op == OpCode::kStage) return StageResults(node);
  return node.op == OpCode::kIf ? IfResults(graph, node) : WhileResults(graph, node);
}

bool ChangesShape(const Graph& graph, const Node& node, size_t i) {
  return i < LoopVariables(node) && graph.value(node.inputs[i]).dims != Input(node.bodies[1], i).dims;
}

bool IsCountedResult(const Graph& graph, const Node& node, size_t i) {
  if (node.op != OpCode::kIf) return ChangesShape(graph, node, i);
  const auto counted_inside = [](const Graph& body, const Value& result) {
    return result.producer != kNoNode && !result.has_static_shape() &&
           IsShapedInRun(body, body.node(result.producer));
  };
  const Value& a = Output(node.bodies[0], i);
  const Value& b = Output(node.bodies[1], i);
  return a.dims != b.dims || counted_inside(node.bodies[0], a) || counted_inside(node.bodies[1], b);
}

bool IsShapedInRun(const Graph& graph, const Node& node) {
  if (node.op == OpCode::kStage) return true;
  for (size_t i = 0; i < LoopVariables(node); ++i) {
    if (ChangesShape(graph, node, i)) return true;
  }
  return false;
}

bool HasEffect(const Node& node) {
  if (FindOp(node.op)->Is(kEffect)) return true;
  return std::any_of(node.bodies.begin(), node.bodies.end(), [](const Graph& body) {
    for (NodeId id = 0; id < body.node_count(); ++id) {
      if (!body.node(id).removed && HasEffect(body.node(id))) return true;
    }
    return false;
  });
}

}  // namespace skiff
