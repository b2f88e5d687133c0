// What ToNhwc knows before it plans: the order of the nodes, which rule each has, and what layouts users
// want.
#include <algorithm>
#include <numeric>

#include "ops/op_codes.h"
#include "passes/layout/rules.h"

namespace skiff {
namespace {

struct RuleRow {
  OpCode op;
  LayoutRule rule;
};

constexpr RuleRow kRules[] = {
    {OpCode::kQuantize, PlanElementwise},
    {OpCode::kDequantize, PlanElementwise},
    {OpCode::kRequantize, PlanElementwise},
    {OpCode::kToCodes, PlanElementwise},
    {OpCode::kFromCodes, PlanElementwise},
    {OpCode::kCast, PlanElementwise},
    {OpCode::kWhere, PlanElementwise},
    {OpCode::kConv2d, PlanConv2d},
    {OpCode::kMatMul, PlanMatMul},
    {OpCode::kFullyConnected, PlanMatMul},
    {OpCode::kSoftmax, PlanSoftmax},
    {OpCode::kLogSoftmax, PlanSoftmax},
    {OpCode::kLayerNorm, PlanLayerNorm},
    {OpCode::kBatchNorm, PlanBatchNorm},
    {OpCode::kReduceSum, PlanReduce},
    {OpCode::kReduceMean, PlanReduce},
    {OpCode::kReduceMax, PlanReduce},
    {OpCode::kReduceMin, PlanReduce},
    {OpCode::kReduceProd, PlanReduce},
    {OpCode::kTranspose, PlanTranspose},
    {OpCode::kReshape, PlanReshape},
    {OpCode::kFlatten, PlanReshape},
    {OpCode::kSqueeze, PlanReshape},
    {OpCode::kUnsqueeze, PlanReshape},
    {OpCode::kIdentity, PlanReshape},
    {OpCode::kConcat, PlanConcat},
    {OpCode::kSplit, PlanSplit},
    {OpCode::kSlice, PlanSlice},
    {OpCode::kGather, PlanGather},
    {OpCode::kPad, PlanPad},
    {OpCode::kExpand, PlanExpand},
    {OpCode::kTile, PlanTile},
    {OpCode::kChannelShuffle, PlanChannelShuffle},
};

/// The order that the users of a node's results want for an input: that of the results, where the node keeps
/// the axes apart and in place.
std::vector<int> WantedOfInput(const Graph& graph, const Node& node,
                               const std::vector<std::vector<int>>& wanted) {
  const Value& result = graph.value(node.outputs[0]);
  std::vector<int> order = wanted[static_cast<size_t>(node.outputs[0])];
  if (node.op == OpCode::kTranspose) {
    if (order.empty()) {
      order.resize(result.dims.size());
      std::iota(order.begin(), order.end(), 0);
    }
    const Ints& perm = node.As<TransposeAttrs>().perm;
    const int rank = static_cast<int>(order.size());
    for (int& axis : order) axis = perm.size == 0 ? rank - 1 - axis : static_cast<int>(perm[axis]);
    return order;
  }
  const LayoutRule rule = FindLayoutRule(graph, node);
  const bool keeps_axes = rule != nullptr && rule != PlanReshape && rule != PlanMatMul &&
                          rule != PlanConv2d && rule != PlanGather;
  return keeps_axes ? order : std::vector<int>();
}

bool IsIdentity(const std::vector<int>& order) { return std::is_sorted(order.begin(), order.end()); }

}  // namespace

LayoutRule FindLayoutRule(const Graph& graph, const Node& node) {
  const auto keeps_its_order = [&](ValueId id) {
    if (id == kNoValue || !graph.value(id).quantization) return false;
    return !graph.value(id).quantization->per_tensor() || DTypeBits(graph.value(id).dtype) < 8;
  };
  if (std::any_of(node.inputs.begin(), node.inputs.end(), keeps_its_order)) return nullptr;
  if (std::any_of(node.outputs.begin(), node.outputs.end(), keeps_its_order)) return nullptr;
  const OpCode op = node.op;
  if (op == OpCode::kLookup) return nullptr;  // There are none yet; the table has no axes of the result.
  const OpDef* def = FindOp(op);
  if (def != nullptr && (def->Is(OpTraits::kUnary) || def->Is(OpTraits::kBinary))) return PlanElementwise;
  // All numbers share a scale, in whatever order they are.
  if (op == OpCode::kFakeQuantize) {
    const auto& attrs = node.As<FakeQuantizeAttrs>();
    if (attrs.axis == 0 && attrs.block == 0) return PlanElementwise;
  }
  for (const RuleRow& row : kRules) {
    if (row.op == op) return row.rule;
  }
  return nullptr;
}

LayoutProblem::LayoutProblem(const Graph& graph)
    : graph(graph), order(graph.TopologicalOrder()), wanted(static_cast<size_t>(graph.value_count())) {
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const std::vector<int> from_users = WantedOfInput(graph, node, wanted);
    if (from_users.empty()) continue;
    for (ValueId input : node.inputs) {
      if (input == kNoValue || graph.value(input).dims.size() != from_users.size()) continue;
      // Of several wishes, one that differs from the value's own order says more.
      std::vector<int>& known = wanted[static_cast<size_t>(input)];
      if (known.empty() || IsIdentity(known)) known = from_users;
    }
  }
}

}  // namespace skiff
