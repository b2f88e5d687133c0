// Canonical forms of operators that compute.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "ops/build_ops.h"
#include "ops/shape_rules.h"
#include "passes/canonicalize/rules.h"
#include "passes/folding_budget.h"
#include "passes/fuse/clamp_range.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

bool IsFloatValue(const Graph& graph, ValueId id) { return IsFloat(graph.value(id).dtype); }

ValueId Output(const Graph& graph, NodeId id) { return graph.node(id).outputs[0]; }

/// Input 1 of a binary operator, when it is one constant number and input 0 alone decides the result's shape.
std::optional<double> RightScalar(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (graph.value(node.inputs[0]).dims != graph.value(node.outputs[0]).dims) return {};
  return ScalarConstant(graph, node.inputs[1]);
}

bool HasClamp(const Graph& graph, NodeId id) {
  const auto& attrs = graph.node(id).As<ClampAttrs>();
  return !IsUnbounded(attrs.min, attrs.max);
}

/// A new constant: `change` of every element of the constant input 1.
ValueId MapConstant(Graph& graph, NodeId id, const char* suffix,
                    const std::function<double(double)>& change) {
  const ValueId old = graph.node(id).inputs[1];
  const TensorData& data = *graph.value(old).constant;
  std::vector<double> numbers = data.ToDoubles();
  std::transform(numbers.begin(), numbers.end(), numbers.begin(), change);
  return graph.AddConstant(graph.value(old).name + suffix, RoundedTo(data.dtype(), data.shape(), numbers));
}

bool ConstantToTheRight(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId left = node.inputs[0];
  const ValueId right = node.inputs[1];
  if (!FindOp(node.op)->Is(kCommutative) || !graph.value(left).constant || graph.value(right).constant)
    return false;
  SetInputs(graph, id, {right, left});
  return true;
}

/// x + 0, x - 0, x * 1, x / 1.
bool RemoveNeutral(Graph& graph, NodeId id) {
  const OpCode op = graph.node(id).op;
  const double neutral = op == OpCode::kMul || op == OpCode::kDiv ? 1.0 : 0.0;
  const TensorData* right = graph.ConstantInput(id, 1);
  if (right == nullptr || HasClamp(graph, id) ||
      !SameType(graph, graph.node(id).inputs[0], Output(graph, id)))
    return false;
  const std::optional<std::vector<double>> numbers = TakeNumbers(graph, *right);
  const bool all = numbers && std::all_of(numbers->begin(), numbers->end(),
                                          [&](double number) { return number == neutral; });
  return all && Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

bool SubToAdd(Graph& graph, NodeId id) {
  if (graph.ConstantInput(id, 1) == nullptr) return false;
  if (!IsFloatValue(graph, graph.node(id).inputs[1])) return false;
  if (!TakeFoldingCopy(graph, graph.node(id).inputs[1])) return false;
  const ClampAttrs attrs = graph.node(id).As<ClampAttrs>();
  const ValueId negated = MapConstant(graph, id, ".negated", [](double number) { return -number; });
  Become(graph, id, OpCode::kAdd, {graph.node(id).inputs[0], negated}, attrs);
  return true;
}

/// Whether 1 / number is exact, and no subnormal in any float type.
bool IsModeratePowerOfTwo(double number) {
  int exponent = 0;
  return std::abs(std::frexp(number, &exponent)) == 0.5 && std::abs(exponent) < 14;
}

bool DivToMul(Graph& graph, NodeId id) {
  const TensorData* divisor = graph.ConstantInput(id, 1);
  if (divisor == nullptr || !IsFloat(divisor->dtype())) return false;
  const std::optional<std::vector<double>> numbers = TakeNumbers(graph, *divisor);
  if (!numbers || !std::all_of(numbers->begin(), numbers->end(), IsModeratePowerOfTwo)) return false;
  if (!TakeFoldingCopy(graph, graph.node(id).inputs[1])) return false;
  const ClampAttrs attrs = graph.node(id).As<ClampAttrs>();
  const ValueId inverse = MapConstant(graph, id, ".inverse", [](double number) { return 1.0 / number; });
  Become(graph, id, OpCode::kMul, {graph.node(id).inputs[0], inverse}, attrs);
  return true;
}

bool SpellPow(Graph& graph, NodeId id) {
  const ValueId x = graph.node(id).inputs[0];
  const std::optional<double> exponent = RightScalar(graph, id);
  if (!exponent || !IsFloatValue(graph, x)) return false;
  if (*exponent == 2.0) {
    Become(graph, id, OpCode::kMul, {x, x}, ClampAttrs());
  } else if (*exponent == 0.5) {
    Become(graph, id, OpCode::kSqrt, {x});
  } else if (*exponent == -1.0) {
    Become(graph, id, OpCode::kReciprocal, {x});
  } else {
    return *exponent == 1.0 && Bypass(graph, id, x, kDoesNothing);
  }
  return true;
}

/// Min and Max with a number.
bool SpellAsClamp(Graph& graph, NodeId id) {
  const std::optional<double> bound = RightScalar(graph, id);
  if (!bound || std::isnan(*bound) || !IsFloatValue(graph, graph.node(id).inputs[0]) ||
      graph.value(graph.node(id).inputs[0]).dtype == DType::kF64) {
    return false;
  }
  ClampAttrs attrs;
  (graph.node(id).op == OpCode::kMin ? attrs.max : attrs.min) = static_cast<float>(*bound);
  Become(graph, id, OpCode::kClamp, {graph.node(id).inputs[0]}, attrs);
  return true;
}

bool RemoveUnboundedClamp(Graph& graph, NodeId id) {
  return !HasClamp(graph, id) && Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

bool MergeClamps(Graph& graph, NodeId id) {
  const NodeId inner = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kClamp);
  // The bounds of integers may lie beyond their type.
  if (inner == kNoNode || !IsFloatValue(graph, graph.node(id).inputs[0])) return false;
  auto& outer = graph.node(id).As<ClampAttrs>();
  const auto& first = graph.node(inner).As<ClampAttrs>();
  if (!(first.min <= first.max) || !(outer.min <= outer.max)) return false;
  outer = ClampThen(first, outer);
  SetInputs(graph, id, {graph.node(inner).inputs[0]});
  return true;
}

bool ResolveWhere(Graph& graph, NodeId id) {
  const TensorData* condition = graph.ConstantInput(id, 0);
  if (condition == nullptr || condition->elements() == 0) return false;
  const auto* const choices = condition->as<uint8_t>();
  // Each byte against the next one: many nodes may share a large constant, and each looks at it.
  if (std::memcmp(choices, choices + 1, condition->size_bytes() - 1) != 0) return false;
  const ValueId chosen = graph.node(id).inputs[choices[0] != 0 ? 1 : 2];
  return SameType(graph, chosen, Output(graph, id)) &&
         Bypass(graph, id, chosen, "its condition is constant: removed");
}

/// MatMul(a, b with its last two axes swapped) reads b as it lies. Where other axes move, too, and b's
/// innermost one is not the last any more, it stays the last: rows move, not elements.
bool AbsorbTranspose(Graph& graph, NodeId id) {
  const NodeId transpose = ProducerWith(graph, graph.node(id).inputs[1], OpCode::kTranspose);
  if (transpose == kNoNode) return false;
  Ints perm = graph.node(transpose).As<TransposeAttrs>().perm;
  if (perm.size < 2 || perm[perm.size - 2] != perm.size - 1) return false;
  std::swap(perm[perm.size - 2], perm[perm.size - 1]);
  ValueId b = graph.node(transpose).inputs[0];
  if (std::is_sorted(perm.begin(), perm.end())) {
    graph.Note(transpose, "read in place by '" + graph.node(id).name + "'");
  } else {
    if (graph.OnlyUser(graph.node(transpose).outputs[0]) != id) return false;
    b = EmitTyped(graph, OpCode::kTranspose, {b}, TransposeAttrs{perm}, graph.node(transpose).name,
                  transpose);
  }
  bool& transpose_b = graph.node(id).As<MatMulAttrs>().transpose_b;
  transpose_b = !transpose_b;
  SetInputs(graph, id, {graph.node(id).inputs[0], b});
  return true;
}

/// Reduced axes written out, ascending, none negative.
bool SpellReducedAxes(Graph& graph, NodeId id) {
  auto& attrs = graph.node(id).As<ReduceAttrs>();
  const ValueId x = graph.node(id).inputs[0];
  const auto rank = static_cast<int>(graph.value(x).dims.size());
  uint32_t mask = 0;
  if (!ReducedAxes(attrs, rank, &mask)) return false;
  if (mask == 0 && rank > 0) return Bypass(graph, id, x, kDoesNothing);
  Ints axes;
  for (int axis = 0; axis < rank; ++axis) {
    if ((mask >> axis) & 1u) axes[axes.size++] = axis;
  }
  if (axes.size == attrs.axes.size && std::equal(axes.begin(), axes.end(), attrs.axes.begin())) return false;
  attrs.axes = axes;
  return true;
}

/// An `axis` attribute counted from the front.
bool SpellAxis(Graph& graph, NodeId id) {
  const auto rank = static_cast<int64_t>(graph.value(graph.node(id).inputs[0]).dims.size());
  bool changed = false;
  VisitAttrs(graph.node(id).op, graph.node(id).attrs, [&](int, const char* name, auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, int64_t>) {
      if (std::string_view(name) != "axis" || member >= 0) return;
      member += rank;
      changed = true;
    }
  });
  return changed;
}

}  // namespace

const std::vector<CanonicalRule>& ArithmeticRules() {
  static const std::vector<CanonicalRule> rules = [] {
    std::vector<CanonicalRule> list = {
        {OpCode::kSub, SubToAdd},
        {OpCode::kDiv, DivToMul},
        {OpCode::kPow, SpellPow},
        {OpCode::kMin, ConstantToTheRight},
        {OpCode::kMin, SpellAsClamp},
        {OpCode::kMax, ConstantToTheRight},
        {OpCode::kMax, SpellAsClamp},
        {OpCode::kClamp, MergeClamps},
        {OpCode::kClamp, RemoveUnboundedClamp},
        {OpCode::kWhere, ResolveWhere},
        {OpCode::kMatMul, AbsorbTranspose},
    };
    for (OpCode op : {OpCode::kAdd, OpCode::kMul, OpCode::kEqual, OpCode::kAnd, OpCode::kOr, OpCode::kXor}) {
      list.push_back({op, ConstantToTheRight});
    }
    for (OpCode op : {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv})
      list.push_back({op, RemoveNeutral});
    for (OpCode op : {OpCode::kReduceSum, OpCode::kReduceMean, OpCode::kReduceMax, OpCode::kReduceMin,
                      OpCode::kReduceProd}) {
      list.push_back({op, SpellReducedAxes});
    }
    for (OpCode op : {OpCode::kSoftmax, OpCode::kLogSoftmax, OpCode::kConcat, OpCode::kSplit, OpCode::kGather,
                      OpCode::kLayerNorm, OpCode::kBatchNorm}) {
      list.push_back({op, SpellAxis});
    }
    return list;
  }();
  return rules;
}

}  // namespace skiff
