#include "report/source_fates.h"

#include <algorithm>
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
  std::map<std::string_view, size_t> node_of;
  for (size_t i = 0; i < plan.nodes.size(); ++i) node_of[plan.nodes[i].name] = i;
  if (node_of.contains("")) return {};
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
    const auto found = node_of.find(node.name);
    if (found == node_of.end() || plan.nodes[found->second].op != node.op) continue;
    for (const SourceId id : planned->graph.node(draft.nodes[i].id).sources)
      fates[static_cast<size_t>(id)].nodes.push_back(found->second);
  }
  return fates;
}

}  // namespace skiff
