// Equal constants become one, and so do nodes that compute the same from the same inputs.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/text.h"
#include "graph/text_grammar.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Enough bytes to tell most constants apart without reading all weights.
constexpr size_t kHashedBytes = 4096;

bool SameElements(const TensorData& a, const TensorData& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         SameQuantization(a.quantization(), b.quantization()) &&
         std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void MergeConstants(Graph& graph) {
  std::map<std::pair<uint64_t, size_t>, std::vector<ValueId>> seen;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.constant || value.uses.empty()) continue;
    std::vector<ValueId>& alike =
        seen[{text::HashElements(*value.constant, kHashedBytes), value.constant->size_bytes()}];
    const auto twin = std::find_if(alike.begin(), alike.end(), [&](ValueId other) {
      return SameElements(*value.constant, *graph.value(other).constant);
    });
    if (twin == alike.end()) {
      alike.push_back(id);
    } else {
      graph.ReplaceUses(id, *twin);
    }
  }
}

/// A hash where there are many scales: all outputs of a net may share them.
std::string QuantizationKey(const Quantization& quantization) {
  if (quantization.per_tensor()) return QuantizationText(&quantization);
  const size_t bytes = static_cast<size_t>(quantization.count) * sizeof(float);
  return fmt::format(" {:016x}", XXH3_64bits(quantization.scales, bytes));
}

/// What two nodes must have in common to compute the same; but for quantisation per axis, of which they have
/// the hash in common.
std::string Key(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<ValueId> inputs = node.inputs;
  if (FindOp(node.op)->Is(kCommutative)) std::sort(inputs.begin(), inputs.begin() + 2);
  std::string key = std::to_string(static_cast<int>(node.op)) + PrintAttrs(node.op, node.attrs);
  for (ValueId input : inputs) key += "," + std::to_string(input);
  key += ";" + std::to_string(node.outputs.size());
  // Equal operators may round into different types.
  for (ValueId output : node.outputs) {
    const Value& value = graph.value(output);
    if (value.quantization)
      key += fmt::format(" {}{}", DTypeName(value.dtype), QuantizationKey(*value.quantization));
  }
  return key;
}

bool HaveSameQuantization(const Graph& graph, const Node& a, const Node& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), [&](ValueId one, ValueId other) {
    return SameQuantization(graph.value(one).quantization, graph.value(other).quantization);
  });
}

}  // namespace

void EliminateCommonSubexpressions(Graph& graph) {
  MergeConstants(graph);
  std::map<std::string, NodeId> seen;
  ForEachNode(graph, [&](NodeId id) {
    if (HasEffect(graph.node(id)) || !graph.node(id).bodies.empty()) return;
    const auto [twin, fresh] = seen.try_emplace(Key(graph, id), id);
    const NodeId kept = twin->second;
    if (fresh || !HaveSameQuantization(graph, graph.node(kept), graph.node(id))) return;
    graph.Note(id, "computes the same as '" + graph.node(kept).name + "': merged");
    for (size_t i = 0; i < graph.node(id).outputs.size(); ++i) {
      graph.ReplaceUses(graph.node(id).outputs[i], graph.node(kept).outputs[i]);
    }
    graph.MergeSources(kept, id);
    graph.RemoveNode(id);
  });
}

}  // namespace skiff
