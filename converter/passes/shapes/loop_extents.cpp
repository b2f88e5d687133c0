#include "passes/shapes/loop_extents.h"

#include <algorithm>

#include "graph/bodies.h"

namespace skiff {

void LoopExtents::Begin(Graph& graph, const Node& node, std::vector<ValueType>& types) {
  symbols_ = graph.symbols().size();
  std::erase_if(extents_, [&](const auto& extent) {
    return extent.first.first >= types.size() || extent.first.second >= types[extent.first.first].dims.size();
  });
  for (auto& [at, interval] : extents_) {
    const Bounds bounds = types[at.first].dims[at.second].bounds();
    interval.min = std::min(interval.min, std::max<int64_t>(bounds.min, 0));
    interval.max = std::max(interval.max, bounds.max);
  }
  SetSymbols(graph, node, types);
}

bool LoopExtents::WidenOne(size_t variable, size_t axis, const Dim& before, const Dim& after) {
  if (before == after) return false;
  const Bounds first = before.bounds();
  const auto [known, fresh] =
      extents_.try_emplace({variable, axis}, Interval{std::max<int64_t>(first.min, 0), first.max});
  Interval& interval = known->second;
  const Bounds bounds = after.bounds();
  const bool shrinks = bounds.min < interval.min && interval.min > 0;
  const bool grows = bounds.max > interval.max;
  if (shrinks) interval.min = 0;
  if (grows) interval.max = Symbol::kUnbounded;
  return fresh || shrinks || grows;
}

void LoopExtents::OpenAll(const Node& node, const std::vector<ValueType>& types) {
  for (size_t i = 0; i < LoopVariables(node); ++i) {
    for (size_t axis = 0; axis < types[i].dims.size(); ++axis) extents_[{i, axis}] = {0, Symbol::kUnbounded};
  }
}

void LoopExtents::SetSymbols(Graph& graph, const Node& node, std::vector<ValueType>& types) const {
  for (const auto& [at, interval] : extents_) {
    const SymbolId id = graph.AddFreshSymbol(graph.value(node.inputs[at.first]).name);
    Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
    symbol.min = interval.min;
    symbol.max = interval.max;
    types[at.first].dims[at.second] = Dim::OfSymbol(id, symbol);
  }
}

bool LoopExtents::Widen(Graph& graph, const Node& node, std::vector<ValueType>& types) {
  bool changed = false;
  for (size_t i = 0; i < LoopVariables(node); ++i) {
    const Graph& body = node.bodies.back();
    const std::vector<Dim>& after = body.value(body.outputs()[i].value).dims;
    for (size_t axis = 0; axis < types[i].dims.size() && after.size() == types[i].dims.size(); ++axis)
      changed = WidenOne(i, axis, types[i].dims[axis], after[axis]) || changed;
  }
  if (!changed) return false;
  if (++rounds_ >= kMostRounds) OpenAll(node, types);
  graph.symbols().resize(symbols_);
  SetSymbols(graph, node, types);
  return true;
}

}  // namespace skiff
