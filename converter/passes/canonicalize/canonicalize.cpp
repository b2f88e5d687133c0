// One spelling for each thing: the rules are in this folder, this file applies them until none fires.
#include <unordered_map>

#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Each sweep shortens some chain; real graphs settle in three or four.
constexpr int kMaxSweeps = 100;

using RuleTable = std::unordered_map<OpCode, std::vector<CanonicalRule>>;

const RuleTable& Rules() {
  static const RuleTable table = [] {
    RuleTable rules;
    for (const auto* theme :
         {&ReshapeRules(), &SliceRules(), &ScatterRules(), &WindowRules(), &ArithmeticRules()}) {
      for (const CanonicalRule& rule : *theme) rules[rule.op].push_back(rule);
    }
    return rules;
  }();
  return table;
}

/// Whether a rule fired. The first that does ends the visit: the node may have become another operator.
bool ApplyFirst(Graph& graph, NodeId id) {
  const auto rules = Rules().find(graph.node(id).op);
  if (rules == Rules().end()) return false;
  for (const CanonicalRule& rule : rules->second) {
    if (rule.apply(graph, id)) return true;
  }
  return false;
}

bool Sweep(Graph& graph) {
  bool changed = false;
  ForEachPlainNode(graph, [&](NodeId id) {
    while (!graph.node(id).removed && ApplyFirst(graph, id)) changed = true;
  });
  return changed;
}

}  // namespace

void Canonicalize(Graph& graph) {
  for (int sweep = 0; sweep < kMaxSweeps && Sweep(graph); ++sweep) {
  }
}

}  // namespace skiff
