// Types of all values, by the operators' shape rules in topological order.
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/known_values.h"
#include "graph/node_types.h"
#include "graph/shape_program.h"
#include "graph/symbolic_rules.h"
#include "graph/typing.h"
#include "ops/op_codes.h"
#include "passes/rewrite.h"
#include "passes/shapes/loop_extents.h"

namespace skiff {
namespace {

/// Shape inputs whose elements are numbers become constants, so that the node can be typed alone from now on.
void PinShapeInputs(Graph& graph, NodeId id, KnownValues& known) {
  const std::vector<bool> needed = NeededInputs(graph.node(id));
  for (size_t i = 0; i < needed.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (input == kNoValue || graph.value(input).constant || !needed[i]) continue;
    if (std::optional<TensorData> data = known.Find(input)) {
      graph.SetInput(id, static_cast<int>(i),
                     graph.AddConstant(graph.value(input).name + ".value", *std::move(data)));
    } else {
      GiveElements(graph, input);
    }
  }
}

/// Each body has all of the Symbols: so many together, of one typing of a graph.
constexpr int64_t kMostBodySymbols = int64_t{1} << 22;

struct Typing {
  int64_t body_symbols_left = kMostBodySymbols;
};

void InferWithin(Graph& graph, LoopsOf& loops, Typing& typing);

/// Types body `b` anew, with `types` for its inputs. Bodies share the graph's Symbols, which may become more.
void InferBody(Graph& graph, NodeId id, size_t b, const std::vector<ValueType>& types, LoopsOf& loops,
               Typing& typing) {
  typing.body_symbols_left -= static_cast<int64_t>(graph.symbols().size());
  if (typing.body_symbols_left < 0)
    Throw(StatusCode::kUnsupported,
          "{}: it and the nodes before it have too many sub-graphs for {} open sizes; convert the net with "
          "fixed sizes, or with fewer sub-graphs",
          DescribeNode(graph, graph.node(id)), graph.symbols().size());
  Graph body = std::move(graph.node(id).bodies[b]);
  body.symbols() = graph.symbols();
  ForgetTypes(body, graph.symbols().size());
  body.nominal_sizes = graph.nominal_sizes;
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    Value& to = body.value(body.inputs()[i].value);
    to.dtype = types[i].dtype;
    to.has_shape = true;
    to.dims = types[i].dims;
    to.quantization = types[i].quantization;
    to.elements = types[i].elements;
  }
  InferWithin(body, loops, typing);
  graph.symbols() = body.symbols();
  graph.node(id).bodies[b] = std::move(body);
}

/// What the node passes its bodies. The elements of a loop variable are others in each iteration.
std::vector<ValueType> TypesForBodies(const Graph& graph, const Node& node) {
  std::vector<ValueType> types;
  for (size_t i = FirstBodyInput(node.op); i < node.inputs.size(); ++i) {
    const Value& from = graph.value(node.inputs[i]);
    types.push_back({from.dtype, from.dims, from.quantization,
                     i < LoopVariables(node) ? nullptr : KnownElements(graph, node.inputs[i])});
  }
  return types;
}

/// Typing builds into a body what holds for its types: shapes that are known, branches that are taken. Under
/// wider types some of that holds no more, so each round of a loop begins with the body as it was.
void InferBodies(Graph& graph, NodeId id, LoopsOf::OfNode& known, Typing& typing) {
  CheckBodies(graph, graph.node(id));
  std::vector<ValueType> types = TypesForBodies(graph, graph.node(id));
  const size_t last = graph.node(id).bodies.size() - 1;
  known.extents.Begin(graph, graph.node(id), types);
  std::optional<Graph> before;
  if (LoopVariables(graph.node(id)) > 0) before = graph.node(id).bodies[last];
  InferBody(graph, id, last, types, known.bodies[last], typing);
  while (known.extents.Widen(graph, graph.node(id), types)) {
    graph.node(id).bodies[last] = *before;
    InferBody(graph, id, last, types, known.bodies[last], typing);
  }
  for (size_t b = 0; b < last; ++b) InferBody(graph, id, b, types, known.bodies[b], typing);
}

void InferNodeWithin(Graph& graph, NodeId id, LoopsOf& loops, Typing& typing) {
  if (FindOp(graph.node(id).op)->Is(kBodies)) {
    std::unique_ptr<LoopsOf::OfNode>& known = loops.nodes[id];
    if (!known) known = std::make_unique<LoopsOf::OfNode>();
    InferBodies(graph, id, *known, typing);
  }
  SetTypes(graph, id, InferTypes(graph, graph.node(id)));
}

/// A branch that is never taken may even be of other types.
std::optional<bool> KnownCondition(KnownValues& known, const Node& node) {
  if (node.op != OpCode::kIf) return {};
  const std::optional<TensorData> condition = known.Find(node.inputs[0]);
  if (!condition || condition->dtype() != DType::kBool || condition->elements() != 1) return {};
  return *condition->as<uint8_t>() != 0;
}

void InferInOrder(Graph& graph, NodeId id, LoopsOf& loops, KnownValues& known, Typing& typing) {
  if (graph.node(id).removed) return;
  if (const std::optional<bool> condition = KnownCondition(known, graph.node(id))) {
    for (NodeId inlined : InlineBranch(graph, id, *condition))
      InferInOrder(graph, inlined, loops, known, typing);
    return;
  }
  PinShapeInputs(graph, id, known);
  InferNodeWithin(graph, id, loops,
                  typing);  // Even where it has types: they may be those of another contract.
}

void InferWithin(Graph& graph, LoopsOf& loops, Typing& typing) {
  KnownValues known(graph);
  for (NodeId id : graph.TopologicalOrder()) InferInOrder(graph, id, loops, known, typing);
}

}  // namespace

void InferNode(Graph& graph, NodeId id) {
  LoopsOf loops;
  Typing typing;
  InferNodeWithin(graph, id, loops, typing);
}

void InferShapes(Graph& graph) {
  graph.known_value_steps = kMostKnownValueSteps;
  LoopsOf loops;
  Typing typing;
  InferWithin(graph, loops, typing);
}

}  // namespace skiff
