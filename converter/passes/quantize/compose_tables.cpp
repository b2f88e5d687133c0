// Codes that depend on the codes of one tensor alone, as x * sigmoid(x) or a Gelu of six nodes, with real
// numbers in between or without: 256 of them go in, so that one table says what comes out. The reference
// kernels fill it.
#include <algorithm>
#include <map>
#include <optional>

#include "ops/op_codes.h"
#include "passes/passes.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int64_t kCodes = 256;

/// An operator that gives the same for equal elements, wherever they are.
bool IsElementwise(OpCode op) {
  const OpDef& def = *FindOp(op);
  return def.Is(kUnary) || def.Is(kBinary) || op == OpCode::kQuantize || op == OpCode::kDequantize ||
         op == OpCode::kRequantize;
}

bool IsParameter(const Graph& graph, const Node& node, size_t input) {
  const Value& value = graph.value(node.inputs[input]);
  return value.constant && (value.constant->elements() == 1 || node.op == OpCode::kLookup);
}

class Composer {
 public:
  explicit Composer(Graph& graph)
      : graph_(graph), roots_(static_cast<size_t>(graph.value_count()), kNoValue) {
    for (const NodeId id : graph.TopologicalOrder()) order_.push_back(id);
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      if (IsCodes(id) && !graph.value(id).constant) roots_[static_cast<size_t>(id)] = id;
    }
    for (const NodeId id : order_) {
      const ValueId root = FindRoot(id);
      if (root != kNoValue) roots_[static_cast<size_t>(graph.node(id).outputs[0])] = root;
    }
  }

  /// From the end, so that what leads to a result is not composed for itself.
  void Compose() {
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (!graph_.node(*id).removed && graph_.node(*id).outputs.size() == 1) ComposeNode(*id);
    }
  }

 private:
  bool IsCodes(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.quantization && value.quantization->per_tensor() && DTypeBits(value.dtype) == 8;
  }

  /// A scale for each channel: equal codes stand for different numbers.
  bool DependsOnPlace(const Node& node) const {
    const auto by_axis = [&](ValueId id) {
      return id != kNoValue && graph_.value(id).quantization && !graph_.value(id).quantization->per_tensor();
    };
    return by_axis(node.outputs[0]) || std::any_of(node.inputs.begin(), node.inputs.end(), by_axis);
  }

  ValueId RootOf(ValueId id) const { return roots_[static_cast<size_t>(id)]; }

  /// The codes that alone decide the elements of a node's only result, each the one at its place.
  ValueId FindRoot(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || !IsElementwise(node.op) || DependsOnPlace(node)) return kNoValue;
    ValueId root = kNoValue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) return kNoValue;
      if (IsParameter(graph_, node, i)) continue;
      const ValueId from = RootOf(node.inputs[i]);
      if (from == kNoValue || (root != kNoValue && from != root)) return kNoValue;
      root = from;
    }
    const bool same_shape = root != kNoValue && graph_.value(root).dims == graph_.value(node.outputs[0]).dims;
    return same_shape ? root : kNoValue;
  }

  /// The nodes between the root and this one, which is the last. False where they are too many.
  bool Collect(NodeId id, ValueId root, int& visits, std::vector<NodeId>& chain) const {
    if (std::find(chain.begin(), chain.end(), id) != chain.end()) return true;
    if (++visits > kMostVisits) return false;
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (input == root || IsParameter(graph_, graph_.node(id), i)) continue;
      if (!Collect(graph_.value(input).producer, root, visits, chain)) return false;
    }
    chain.push_back(id);
    return true;
  }

  void ComposeNode(NodeId id) {
    const ValueId result = graph_.node(id).outputs[0];
    const ValueId root = RootOf(result);
    std::vector<NodeId> chain;
    int visits = 0;
    if (!IsCodes(result) || root == kNoValue || root == result || !Collect(id, root, visits, chain)) return;
    // One function of one input is a table without this pass.
    if (chain.size() == 1 && graph_.node(id).inputs.size() == 1) return;
    if (chain.size() == 1 && graph_.node(id).op == OpCode::kLookup) return;
    const std::optional<TensorData> table = Fill(chain, root);
    if (!table) return;
    std::string operators;
    for (const NodeId node : chain)
      operators += (operators.empty() ? "" : ", ") + std::string(FindOp(graph_.node(node).op)->name);
    Become(graph_, id, OpCode::kLookup,
           {root, graph_.AddConstant(graph_.value(result).name + ".table", *table)});
    graph_.Note(id, "a table of 256 codes in place of " + operators);
  }

  /// What the last node makes of all codes of the root; nothing where a kernel does not take a dtype.
  std::optional<TensorData> Fill(const std::vector<NodeId>& chain, ValueId root) const {
    std::map<ValueId, TensorData> results;
    TensorData codes(graph_.value(root).dtype, Shape{kCodes});
    for (int64_t i = 0; i < kCodes; ++i)
      static_cast<uint8_t*>(codes.mutable_data())[i] = static_cast<uint8_t>(i);
    results.emplace(root, codes.Quantized(graph_.value(root).quantization));
    for (const NodeId id : chain) {
      const Node& node = graph_.node(id);
      std::vector<TensorData> parameters;
      parameters.reserve(node.inputs.size());
      std::vector<const TensorData*> inputs;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool is_parameter = IsParameter(graph_, node, i);
        if (is_parameter) parameters.push_back(Parameter(node, i));
        inputs.push_back(is_parameter ? &parameters.back() : &results.at(node.inputs[i]));
      }
      const std::optional<std::vector<TensorData>> made = EvaluateIfSupported(graph_, node, inputs);
      if (!made) return {};
      results.emplace(node.outputs[0], made->front());
    }
    return results.at(graph_.node(chain.back()).outputs[0]);
  }

  /// Without axes that the row of codes does not have.
  TensorData Parameter(const Node& node, size_t input) const {
    const TensorData& constant = *graph_.value(node.inputs[input]).constant;
    return node.op == OpCode::kLookup ? constant : constant.Reshaped(Shape{});
  }

  Graph& graph_;
  std::vector<NodeId> order_;
  /// The codes that a value is a function of; those that are one of no others are their own.
  std::vector<ValueId> roots_;
};

}  // namespace

void ComposeTables(Graph& graph) { Composer(graph).Compose(); }

}  // namespace skiff
