// Canonical forms of operators that rename, reorder or retype elements without computing.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

bool RemoveIdentity(Graph& graph, NodeId id) {
  return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

/// Squeeze, Unsqueeze, Flatten, and Reshape with 0, -1 or an i32 target: a Reshape to the output's own
/// extents.
bool SpellAsReshape(Graph& graph, NodeId id) {
  ReshapeAttrs attrs;
  const auto target = ReshapeTarget(graph.value(graph.node(id).inputs[0]).dims,
                                    graph.value(graph.node(id).outputs[0]).dims, &attrs);
  if (!target) return false;
  const bool is_reshape = graph.node(id).op == OpCode::kReshape;
  if (is_reshape && graph.node(id).As<ReshapeAttrs>().allow_zero == attrs.allow_zero &&
      graph.value(graph.node(id).inputs[1]).dtype == DType::kI64 &&
      IntConstant(graph, graph.node(id).inputs[1]) == target->ToInts()) {
    return false;
  }
  const ValueId extents = graph.AddConstant(graph.value(graph.node(id).outputs[0]).name + ".shape", *target);
  Become(graph, id, OpCode::kReshape, {graph.node(id).inputs[0], extents}, attrs);
  return true;
}

bool RemoveNoOpReshape(Graph& graph, NodeId id) {
  if (!SameType(graph, graph.node(id).inputs[0], graph.node(id).outputs[0])) return false;
  return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

bool MergeReshapes(Graph& graph, NodeId id) {
  const NodeId inner = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kReshape);
  const auto target = IntConstant(graph, graph.node(id).inputs[1]);
  if (inner == kNoNode || !target) return false;
  // Else the inner one refuses some sizes, which the outer one might take.
  if (!(ElementCount(graph.value(graph.node(inner).inputs[0]).dims) ==
        ElementCount(graph.value(graph.node(inner).outputs[0]).dims)))
    return false;
  // A 0 copies an extent of what it reads, which would be another one.
  const bool copies =
      !graph.node(id).As<ReshapeAttrs>().allow_zero && std::count(target->begin(), target->end(), 0) > 0;
  ReshapeAttrs attrs = graph.node(id).As<ReshapeAttrs>();
  ValueId extents = graph.node(id).inputs[1];
  if (copies) {
    const auto spelled = ReshapeTarget(graph.value(graph.node(inner).inputs[0]).dims,
                                       graph.value(graph.node(id).outputs[0]).dims, &attrs);
    if (!spelled) return false;
    extents = graph.AddConstant(graph.value(graph.node(id).outputs[0]).name + ".shape", *spelled);
  }
  graph.node(id).As<ReshapeAttrs>() = attrs;
  SetInputs(graph, id, {graph.node(inner).inputs[0], extents});
  return true;
}

/// The permutation written out.
Ints FullPerm(const Graph& graph, NodeId id) {
  Ints perm = graph.node(id).As<TransposeAttrs>().perm;
  if (perm.size > 0) return perm;
  perm.size = static_cast<int64_t>(graph.value(graph.node(id).inputs[0]).dims.size());
  for (int64_t i = 0; i < perm.size; ++i) perm[i] = perm.size - 1 - i;
  return perm;
}

bool SpellPermOut(Graph& graph, NodeId id) {
  const Ints perm = FullPerm(graph, id);
  if (graph.node(id).As<TransposeAttrs>().perm.size == perm.size) return false;
  graph.node(id).As<TransposeAttrs>().perm = perm;
  return true;
}

/// What a Transpose reads holds the same source tensor in another layout. The name must survive the
/// Transpose, which may cancel with another.
bool HandSourceBack(Graph& graph, NodeId id) {
  const Value& result = graph.value(graph.node(id).outputs[0]);
  Value& x = graph.value(graph.node(id).inputs[0]);
  if (x.producer == kNoNode || !x.source.empty() || result.source.empty()) return false;
  const Ints perm = FullPerm(graph, id);
  x.source = result.source;
  x.source_perm = perm;
  for (int64_t i = 0; i < perm.size; ++i) {
    x.source_perm[perm[i]] = result.source_perm.size == 0 ? i : result.source_perm[i];
  }
  return true;
}

bool RemoveNoOpTranspose(Graph& graph, NodeId id) {
  const Ints perm = FullPerm(graph, id);
  if (!std::is_sorted(perm.begin(), perm.end())) return false;
  return Bypass(graph, id, graph.node(id).inputs[0], kDoesNothing);
}

bool MergeTransposes(Graph& graph, NodeId id) {
  const NodeId inner = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kTranspose);
  if (inner == kNoNode) return false;
  const Ints outer_perm = FullPerm(graph, id);
  const Ints inner_perm = FullPerm(graph, inner);
  Ints perm = outer_perm;
  for (int64_t i = 0; i < perm.size; ++i) perm[i] = inner_perm[outer_perm[i]];
  graph.node(id).As<TransposeAttrs>().perm = perm;
  SetInputs(graph, id, {graph.node(inner).inputs[0]});
  return true;
}

bool RemoveNoOpCast(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (graph.value(node.inputs[0]).dtype != graph.value(node.outputs[0]).dtype) return false;
  return Bypass(graph, id, node.inputs[0], kDoesNothing);
}

/// How many bits of integers a dtype holds exactly, and whether it takes negative ones and fractions.
struct Precision {
  int bits = 0;
  bool negative = false;
  bool fractions = false;
};

Precision PrecisionOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {1, false, false};
    case DType::kU8:
      return {8, false, false};
    case DType::kI8:
      return {7, true, false};
    case DType::kU16:
      return {16, false, false};
    case DType::kI16:
      return {15, true, false};
    case DType::kU32:
      return {32, false, false};
    case DType::kI32:
      return {31, true, false};
    case DType::kU64:
      return {64, false, false};
    case DType::kI64:
      return {63, true, false};
    case DType::kF16:
      return {11, true, true};
    case DType::kF32:
      return {24, true, true};
    case DType::kF64:
      return {53, true, true};
    case DType::kI4:
    case DType::kU4:
    case DType::kInvalid:
      break;
  }
  return {};
}

/// Every value of `from` can be told from its image in `to`.
bool IsLossless(DType from, DType to) {
  const Precision a = PrecisionOf(from);
  const Precision b = PrecisionOf(to);
  return to != DType::kBool && a.bits <= b.bits && (!a.negative || b.negative) &&
         (!a.fractions || b.fractions);
}

bool MergeCasts(Graph& graph, NodeId id) {
  const NodeId inner = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kCast);
  if (inner == kNoNode) return false;
  const ValueId origin = graph.node(inner).inputs[0];
  const DType from = graph.value(origin).dtype;
  const DType between = graph.value(graph.node(inner).outputs[0]).dtype;
  const DType to = graph.value(graph.node(id).outputs[0]).dtype;
  if (!IsLossless(from, between)) return false;
  // Integers wrap around on their way to integers, reals end at the bounds.
  const auto is_integer = [](DType dtype) { return dtype != DType::kBool && !PrecisionOf(dtype).fractions; };
  if (is_integer(from) && !is_integer(between) && is_integer(to) && !IsLossless(from, to)) return false;
  SetInputs(graph, id, {origin});
  return true;
}

}  // namespace

const std::vector<CanonicalRule>& ReshapeRules() {
  static const std::vector<CanonicalRule> rules = {
      {OpCode::kIdentity, RemoveIdentity},
      {OpCode::kSqueeze, SpellAsReshape},
      {OpCode::kUnsqueeze, SpellAsReshape},
      {OpCode::kFlatten, SpellAsReshape},
      {OpCode::kReshape, RemoveNoOpReshape},
      {OpCode::kReshape, SpellAsReshape},
      {OpCode::kReshape, MergeReshapes},
      {OpCode::kTranspose, HandSourceBack},
      {OpCode::kTranspose, RemoveNoOpTranspose},
      {OpCode::kTranspose, SpellPermOut},
      {OpCode::kTranspose, MergeTransposes},
      {OpCode::kCast, RemoveNoOpCast},
      {OpCode::kCast, MergeCasts},
  };
  return rules;
}

}  // namespace skiff
