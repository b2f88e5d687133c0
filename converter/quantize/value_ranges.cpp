#include "quantize/value_ranges.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ops/op_codes.h"
#include "passes/fuse/clamp_range.h"

namespace skiff {
namespace {

bool IsReadByOneAlone(const Graph& graph, ValueId value) {
  return graph.value(value).uses.size() == 1 && !graph.IsGraphOutput(value);
}

}  // namespace

void LimitTerms(const Graph& graph, Ranges& ranges) {
  const Ranges seen = ranges;
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    if (node.op != OpCode::kAdd) continue;
    const ClampAttrs clamp = FusedClamp(node);
    for (int i = 0; i < 2; ++i) {
      const ValueId term = node.inputs[static_cast<size_t>(i)];
      const auto other = seen.find(node.inputs[static_cast<size_t>(1 - i)]);
      const auto own = ranges.find(term);
      if (own == ranges.end() || other == seen.end() || !IsReadByOneAlone(graph, term)) continue;
      own->second.low =
          std::min(0.0, std::max(own->second.low, static_cast<double>(clamp.min) - other->second.high));
      own->second.high =
          std::max(0.0, std::min(own->second.high, static_cast<double>(clamp.max) - other->second.low));
    }
  }
}

void ShareRanges(const Graph& graph, const FormatPlan& plan, Ranges& ranges) {
  const std::set<ValueId> read = ReadAsCodes(graph, plan);
  std::vector<ValueId> root(static_cast<size_t>(graph.value_count()));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](ValueId value) {
    while (root[static_cast<size_t>(value)] != value) value = root[static_cast<size_t>(value)];
    return value;
  };
  for (const NodeId id : graph.TopologicalOrder()) {
    for (const ValueId input : SharedInputs(graph, graph.node(id))) {
      for (const ValueId output : graph.node(id).outputs) {
        if (read.contains(output)) root[static_cast<size_t>(find(output))] = find(input);
      }
    }
  }
  Ranges of_roots;
  for (const auto& [value, range] : ranges) {
    const auto [found, added] = of_roots.emplace(find(value), range);
    if (!added) found->second = Union(found->second, range);
  }
  for (auto& [value, range] : ranges) range = of_roots.at(find(value));
}

}  // namespace skiff
