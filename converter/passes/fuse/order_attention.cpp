// What lies between two products of computed matrices, as in attention, runs right before the second one,
// behind all that this one needs: a delegate can then compute both a block of rows at a time.
#include <algorithm>
#include <map>
#include <vector>

#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

bool IsProduct(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.op == OpCode::kMatMul && !graph.value(node.inputs[0]).IsConstant() &&
         !graph.value(node.inputs[1]).IsConstant();
}

/// Each row of its output follows from the same row of one input.
bool ChangesRows(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = *FindOp(node.op);
  return node.outputs.size() == 1 &&
         (node.op == OpCode::kSoftmax || op.Is(kUnary) || op.Is(kBinary) || op.Is(kReinterpret));
}

constexpr size_t kLongest = 8;

/// The nodes from a product on that end in `value`, which only `user` reads. Of operands that may be swapped
/// the one that comes from the product is the first.
bool FindChain(Graph& graph, ValueId value, NodeId user, std::vector<NodeId>& chain) {
  if (value == kNoValue || graph.OnlyUser(value) != user || chain.size() == kLongest) return false;
  const NodeId id = graph.value(value).producer;
  if (id == kNoNode) return false;
  if (IsProduct(graph, id)) {
    chain.push_back(id);
    return true;
  }
  if (!ChangesRows(graph, id)) return false;
  chain.push_back(id);
  const size_t length = chain.size();
  if (FindChain(graph, graph.node(id).inputs[0], id, chain)) return true;
  chain.resize(length);
  if (FindOp(graph.node(id).op)->Is(kCommutative) && FindChain(graph, graph.node(id).inputs[1], id, chain)) {
    const ValueId other = graph.node(id).inputs[0];
    graph.SetInput(id, 0, graph.node(id).inputs[1]);
    graph.SetInput(id, 1, other);
    return true;
  }
  return false;
}

/// The transposition that makes input `index` of `user` and nothing else; kNoNode where there is none.
NodeId TransposeBefore(const Graph& graph, NodeId user, int index) {
  const NodeId id = graph.ProducerOf(user, index);
  const bool found = id != kNoNode && graph.node(id).op == OpCode::kTranspose &&
                     graph.OnlyUser(graph.node(id).outputs[0]) == user;
  return found ? id : kNoNode;
}

/// Two products and what belongs to them, from the end.
struct Attention {
  std::vector<NodeId> nodes;
  NodeId first = kNoNode;   ///< The first product.
  NodeId behind = kNoNode;  ///< The transposition of the result, where there is one.
};

/// Without nodes where `id` is no second product.
Attention FindAttention(Graph& graph, NodeId id) {
  Attention found;
  std::vector<NodeId> chain;
  if (!IsProduct(graph, id) || !FindChain(graph, graph.node(id).inputs[0], id, chain)) return found;
  found.first = chain.back();
  const NodeId user = graph.OnlyUser(graph.node(id).outputs[0]);
  if (user != kNoNode && graph.node(user).op == OpCode::kTranspose) {
    found.behind = user;
    found.nodes.push_back(user);
  }
  found.nodes.push_back(id);
  found.nodes.insert(found.nodes.end(), chain.begin(), chain.end());
  for (const NodeId before : {TransposeBefore(graph, id, 1), TransposeBefore(graph, found.first, 1),
                              TransposeBefore(graph, found.first, 0)}) {
    if (before != kNoNode) found.nodes.push_back(before);
  }
  return found;
}

}  // namespace

void OrderAttention(Graph& graph) {
  const std::vector<NodeId> order = graph.TopologicalOrder();
  std::map<NodeId, Attention> all;  // By the second product.
  std::vector<bool> placed(static_cast<size_t>(graph.node_count()));
  std::vector<bool> behind(placed.size());
  for (const NodeId id : order) {
    Attention found = FindAttention(graph, id);
    if (found.nodes.empty()) continue;
    if (found.behind != kNoNode) behind[static_cast<size_t>(found.behind)] = true;
    all.emplace(id, std::move(found));
  }
  if (all.empty()) return;
  auto position = static_cast<NodeId>(order.size());
  const auto place = [&](NodeId id) {
    if (placed[static_cast<size_t>(id)]) return;
    placed[static_cast<size_t>(id)] = true;
    graph.node(id).position = --position;
  };
  for (auto last = order.rbegin(); last != order.rend(); ++last) {
    // What is behind a product comes with it.
    if (placed[static_cast<size_t>(*last)] || behind[static_cast<size_t>(*last)]) continue;
    auto at = all.find(*last);
    if (at == all.end()) place(*last);
    // A first product may be another attention's second one.
    for (; at != all.end(); at = all.find(at->second.first))
      std::for_each(at->second.nodes.begin(), at->second.nodes.end(), place);
  }
}

}  // namespace skiff
