#include "report/source_fates.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>

#include "convert.h"

namespace skiff {
namespace {

/// The source with the file's open dimensions as open as they are there.
Graph WithContract(Graph graph, const ModelSignature& signature) {
  ShapeContract contract;
  const Span<const SymbolInfo> symbols = signature.model().symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const bool known = std::any_of(graph.symbols().begin(), graph.symbols().end(),
                                   [&](const Symbol& symbol) { return symbol.name == symbols[i].name; });
    if (signature.Has(i) && known)
      contract.dims[symbols[i].name] = {symbols[i].min, symbols[i].max, symbols[i].multiple};
  }
  FixShapes(graph, contract);
  return graph;
}

}  // namespace

std::vector<SourceFate> FatesOf(const Graph& source, const ModelSignature& signature, const PlanData& plan) {
  // A source may give several the same name: they are known by their order.
  std::map<std::pair<std::string_view, const OpDef*>, std::deque<size_t>> nodes_of;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const std::string_view name = plan.nodes[i].name;
    if (name.empty()) return {};
    nodes_of[{name, plan.nodes[i].op}].push_back(i);
  }
  ConvertOptions options;
  if (plan.target != Target::kCpu) options.targets = {plan.target};
  const auto planned = PlanGraph(WithContract(source, signature), options);
  std::vector<SourceFate> fates;
  for (const SourceNode& node : planned->graph.sources()) {
    fates.push_back({node.name, node.op, {}, {}});
    for (const auto& note : node.notes) fates.back().notes.push_back(*note);
  }
  const PlanDraft& draft = plan.target == Target::kCpu ? planned->draft : planned->others[0];
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    const PlanNode node = draft.ViewOf(i);
    const auto found = nodes_of.find({node.name, node.op});
    if (found == nodes_of.end() || found->second.empty()) continue;
    for (const SourceId id : planned->graph.node(draft.nodes[i].id).sources)
      fates[static_cast<size_t>(id)].nodes.push_back(found->second.front());
    found->second.pop_front();
  }
  return fates;
}

}  // namespace skiff
