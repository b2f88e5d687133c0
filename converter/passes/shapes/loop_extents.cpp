#include "passes/shapes/loop_extents.h"

#include <algorithm>

#include "graph/bodies.h"

namespace skiff {

bool LoopExtents::WidenOne(size_t variable, size_t axis, const Dim& before, const Dim& after) {
  if (before == after) return false;
  auto known = std::find_if(extents_.begin(), extents_.end(), [&](const Extent& extent) {
    return extent.variable == variable && extent.axis == axis;
  });
  const bool first = known == extents_.end();
  if (first) {
    const Bounds bounds = before.bounds();
    known = extents_.insert(known, {variable, axis, std::max<int64_t>(bounds.min, 0), bounds.max});
  }
  const Bounds bounds = after.bounds();
  const bool shrinks = bounds.min < known->min && known->min > 0;
  const bool grows = bounds.max > known->max;
  if (shrinks) known->min = 0;
  if (grows) known->max = Symbol::kUnbounded;
  return first || shrinks || grows;
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
  graph.symbols().resize(symbols_);
  for (const Extent& extent : extents_) {
    const SymbolId id = graph.AddFreshSymbol(graph.value(node.inputs[extent.variable]).name);
    Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
    symbol.min = extent.min;
    symbol.max = extent.max;
    types[extent.variable].dims[extent.axis] = Dim::OfSymbol(id, symbol);
  }
  return true;
}

}  // namespace skiff
