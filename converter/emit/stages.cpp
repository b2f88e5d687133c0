// Each node has a level: 0 where its shapes are known before the run, one more than the level of what
// computes the elements that they follow from. Shape arithmetic on short lists that the levels before have
// computed belongs to a level: it is done before the level's data is.
#include "emit/stages.h"

#include <algorithm>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/shape_program.h"
#include "graph/symbolic_rules.h"
#include "ops/op_codes.h"
#include "plan/limits.h"

namespace skiff {
namespace {

/// Whether it can be shape arithmetic: a short list of numbers, as a caller gives one to choose shapes. What
/// is larger is data, which a run must not look at before it begins, and which delegates compute. So are
/// codes: a shape program has none.
bool MayChooseShapes(const Value& value) {
  if (value.quantization) return false;
  Dim elements(1);
  for (const Dim& dim : value.dims) elements = elements * dim;
  return value.dims.size() <= 1 && elements.bounds().max <= kMaxShapeElements;
}

/// Whether it computes short lists from short lists.
bool IsShapeArithmetic(const Graph& graph, const Node& node) {
  const auto is_short = [&](ValueId id) { return id == kNoValue || MayChooseShapes(graph.value(id)); };
  return node.bodies.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), is_short) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), is_short);
}

/// Whether it reads or makes codes during the run.
bool HasCodes(const Graph& graph, const Node& node) {
  const auto has = [&](ValueId id) {
    return id != kNoValue && graph.value(id).quantization && !graph.value(id).constant;
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), has) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), has);
}

class Levels {
 public:
  /// `computed`: how many of the first inputs are data, whatever they are like.
  Levels(const Graph& graph, size_t computed)
      : graph_(graph),
        level_(static_cast<size_t>(graph.node_count()), 0),
        shaped_(static_cast<size_t>(graph.value_count()), 0),
        known_(static_cast<size_t>(graph.value_count()), 0) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId input = graph.inputs()[i].value;
      const bool chooses = i >= computed && MayChooseShapes(graph.value(input));
      known_[static_cast<size_t>(input)] = chooses ? 0 : 1;
    }
    for (const NodeId id : graph.TopologicalOrder()) Visit(id);
  }

  int Of(NodeId node) const { return level_[static_cast<size_t>(node)]; }
  int Of(ValueId value, const Graph& graph) const {
    const NodeId producer = graph.value(value).producer;
    return producer == kNoNode ? 0 : Of(producer);
  }
  int Last() const {
    int last = 0;
    for (NodeId id = 0; id < graph_.node_count(); ++id) {
      if (!graph_.node(id).removed) last = std::max(last, Of(id));
    }
    return last;
  }

 private:
  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    int level = 0;
    int known = 0;  // From which level on its elements can be shape arithmetic.
    const std::vector<bool> needed = NeededInputs(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue) continue;
      level = std::max(level, shaped_[static_cast<size_t>(input)]);
      known = std::max(known, known_[static_cast<size_t>(input)]);
      if (needed[i]) level = std::max(level, known_[static_cast<size_t>(input)]);
    }
    level_[static_cast<size_t>(id)] = level;
    if (node.op == OpCode::kShape) {
      known = level;
    } else if (known > level || (level > 0 && !IsShapeArithmetic(graph_, node)) || !node.bodies.empty() ||
               HasCodes(graph_, node)) {
      known = level + 1;  // Behind the first level all data of those before could be looked at.
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto output = static_cast<size_t>(node.outputs[i]);
      shaped_[output] = level + (IsCountedResult(graph_, node, i) ? 1 : 0);
      known_[output] = std::max(known, shaped_[output]);
    }
  }

  const Graph& graph_;
  std::vector<int> level_;   ///< By node.
  std::vector<int> shaped_;  ///< By value: the first level in which its shape is known.
  std::vector<int> known_;   ///< By value: the first level whose shapes may follow from its elements.
};

std::string NameOf(const Graph& graph, ValueId value) { return graph.value(value).name; }

/// What nodes of a level behind `level` read of it and of those before it, but constants.
std::vector<ValueId> ReadBehind(const Graph& graph, const Levels& levels, int level) {
  std::vector<ValueId> read;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.constant || levels.Of(id, graph) > level) continue;
    const bool behind = std::any_of(value.uses.begin(), value.uses.end(),
                                    [&](const Use& use) { return levels.Of(use.node) > level; });
    if (behind) read.push_back(id);
  }
  return read;
}

/// What the callers get of the levels behind `level`, each value once.
std::vector<ValueId> ReturnedBehind(const Graph& graph, const Levels& levels, int level) {
  std::vector<ValueId> returned;
  for (const GraphPort& port : graph.outputs()) {
    const bool behind = levels.Of(port.value, graph) > level;
    if (behind && std::find(returned.begin(), returned.end(), port.value) == returned.end())
      returned.push_back(port.value);
  }
  return returned;
}

std::vector<GraphPort> PortsOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<GraphPort> ports;
  for (const ValueId value : values) ports.push_back({NameOf(graph, value), value});
  return ports;
}

/// Removes the nodes whose level is not as wanted, users first, with their bodies: each level has a copy.
template <class Unwanted>
void RemoveNodes(Graph& graph, Unwanted unwanted) {
  std::vector<NodeId> order = graph.TopologicalOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!unwanted(*id)) continue;
    graph.RemoveNode(*id);
    graph.node(*id).bodies.clear();
  }
}

/// Of what nobody gets, that which has an effect must run: its order is a value, too.
void AddEffects(const Graph& graph, const Levels& levels, int level, std::vector<ValueId>& results) {
  for (const NodeId id : graph.TopologicalOrder()) {
    if (results.empty() && levels.Of(id) > level && HasEffect(graph.node(id)))
      results.push_back(graph.node(id).outputs.back());
  }
}

/// `graph` without its nodes behind `level`, which become the body of its last node.
void Cut(Graph& graph, const Levels& levels, int level, int last) {
  if (level == last) return;
  const std::vector<ValueId> inputs = ReadBehind(graph, levels, level);
  std::vector<ValueId> results = ReturnedBehind(graph, levels, level);
  AddEffects(graph, levels, level, results);
  if (results.empty()) return RemoveNodes(graph, [&](NodeId id) { return levels.Of(id) > level; });
  Graph body = graph;
  RemoveNodes(body, [&](NodeId id) { return levels.Of(id) <= level; });
  body.SetPorts(PortsOf(graph, inputs), PortsOf(graph, results));
  body.variables.clear();
  Cut(body, levels, level + 1, last);

  std::vector<GraphPort> outputs = graph.outputs();
  RemoveNodes(graph, [&](NodeId id) { return levels.Of(id) > level; });
  std::vector<std::string> names;
  for (const ValueId result : results) names.push_back(NameOf(graph, result));
  const NodeId stage = graph.AddNode(OpCode::kStage, inputs, names);
  for (size_t i = 0; i < results.size(); ++i) {
    const Value& from = graph.value(results[i]);
    Value& to = graph.value(graph.node(stage).outputs[i]);
    to.dtype = from.dtype;
    to.has_shape = from.has_shape;
    to.dims = from.dims;
    to.quantization = from.quantization;
    to.source = from.source;
    to.source_perm = from.source_perm;
    for (size_t port = 0; port < outputs.size(); ++port) {
      if (outputs[port].value == results[i]) graph.SetOutput(port, graph.node(stage).outputs[i]);
    }
  }
  graph.node(stage).bodies.push_back(std::move(body));
}

/// Each level is a body in that of the level before it.
void CheckLevels(const Graph& graph, const Levels& levels, int depth) {
  if (depth + levels.Last() <= kMaxBodyDepth) return;
  for (const NodeId id : graph.TopologicalOrder()) {
    if (depth + levels.Of(id) <= kMaxBodyDepth) continue;
    Throw(StatusCode::kUnsupported,
          "{}: its shape follows from computed elements, whose own shape follows from such elements, {} "
          "times in a row{}; {} are the most that a file can have. Split the net before it",
          DescribeNode(graph, graph.node(id)), levels.Of(id),
          depth == 0 ? "" : fmt::format(" in {} bodies", depth), kMaxBodyDepth);
  }
}

/// `depth`: how many bodies the graph lies in.
void Split(Graph& graph, size_t computed, int depth) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    Node& node = graph.node(id);
    if (node.removed) continue;
    for (Graph& body : node.bodies) Split(body, LoopVariables(node), depth + 1);
  }
  const Levels levels(graph, computed);
  CheckLevels(graph, levels, depth);
  Cut(graph, levels, 0, levels.Last());
}

}  // namespace

void SplitStages(Graph& graph) { Split(graph, 0, 0); }

}  // namespace skiff
