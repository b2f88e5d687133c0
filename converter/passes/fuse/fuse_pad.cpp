// Padding of height and width becomes the pads of the window operator behind it.
#include <limits>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/fuse/clamp_range.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Pads (top, left, bottom, right) of a constant Pad that touches height and width of NHWC only and adds
/// elements.
std::optional<Ints> SpatialPads(const Graph& graph, NodeId pad) {
  const auto pads = IntConstant(graph, graph.node(pad).inputs[1]);
  if (!pads || pads->size() != 8 || graph.node(pad).As<PadAttrs>().mode != PadMode::kConstant ||
      InputOf(graph, pad, 3) != kNoValue) {
    return {};
  }
  const std::vector<int64_t>& all = *pads;
  if (all[0] != 0 || all[3] != 0 || all[4] != 0 || all[7] != 0) return {};
  const Ints spatial{all[1], all[2], all[5], all[6]};
  for (int64_t amount : spatial) {
    if (amount < 0) return {};
  }
  return spatial;
}

bool PadsWith(const Graph& graph, NodeId pad, double wanted) {
  const ValueId value = InputOf(graph, pad, 2);
  return value == kNoValue ? wanted == 0 : ScalarConstant(graph, value) == wanted;
}

/// No element of the value is below 0.
bool IsNonNegative(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode) return false;
  const Node& node = graph.node(producer);
  if (node.op == OpCode::kClamp) return node.As<ClampAttrs>().min >= 0;
  return node.op == OpCode::kSigmoid || FusedClamp(node).min >= 0;
}

/// Every window that reaches into the padding also sees an element.
bool WindowsSeeInput(const Pool2dAttrs& pool, const Ints& pads) {
  for (int axis = 0; axis < 2; ++axis) {
    if (pads[axis] >= pool.kernel[axis] || pads[2 + axis] >= pool.kernel[axis] || pool.dilations[axis] != 1)
      return false;
  }
  return true;
}

/// Nothing where it is more than windows may have.
std::optional<Ints> Sum(const Ints& a, const Ints& b) {
  Ints sum = a;
  for (int i = 0; i < 4; ++i) {
    if (__builtin_add_overflow(a[i], b[i], &sum[i]) || sum[i] > kMaxWindowParameter) return {};
  }
  return sum;
}

bool HasNoPads(const Pool2dAttrs& pool) {
  return pool.pads[0] + pool.pads[1] + pool.pads[2] + pool.pads[3] == 0;
}

/// Writes the sum of the pads into the attributes where the result stays the same.
bool AddPads(Graph& graph, NodeId window, NodeId pad, const Ints& pads) {
  Node& node = graph.node(window);
  if (node.op == OpCode::kConv2d) {
    auto& attrs = node.As<Conv2dAttrs>();
    const std::optional<Ints> sum = Sum(attrs.pads, pads);
    if (attrs.auto_pad != AutoPad::kExplicit || !PadsWith(graph, pad, 0) || !sum) return false;
    attrs.pads = *sum;
    return true;
  }
  auto& attrs = node.As<Pool2dAttrs>();
  const std::optional<Ints> sum = Sum(attrs.pads, pads);
  if (attrs.auto_pad != AutoPad::kExplicit || attrs.ceil_mode || !sum) return false;
  if (node.op == OpCode::kAveragePool2d) {
    if (!PadsWith(graph, pad, 0) || !(attrs.count_include_pad || HasNoPads(attrs))) return false;
    attrs.count_include_pad = true;
  } else {
    // A pool's own pads count as minus infinity.
    const bool zero_is_lowest = HasNoPads(attrs) && PadsWith(graph, pad, 0) && WindowsSeeInput(attrs, pads) &&
                                IsNonNegative(graph, graph.node(pad).inputs[0]);
    if (!PadsWith(graph, pad, -std::numeric_limits<double>::infinity()) && !zero_is_lowest) return false;
  }
  attrs.pads = *sum;
  return true;
}

}  // namespace

void FusePad(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    const OpCode op = graph.node(id).op;
    if (op != OpCode::kConv2d && op != OpCode::kAveragePool2d && op != OpCode::kMaxPool2d) return;
    const NodeId pad = ProducerWith(graph, graph.node(id).inputs[0], OpCode::kPad);
    if (pad == kNoNode) return;
    const std::optional<Ints> pads = SpatialPads(graph, pad);
    if (!pads || !AddPads(graph, id, pad, *pads)) {
      graph.Note(pad, "not fused: '" + graph.node(id).name + "' cannot pad in the same way");
      return;
    }
    graph.Note(pad, "fused into '" + graph.node(id).name + "' as its padding");
    std::vector<ValueId> inputs = graph.node(id).inputs;
    inputs[0] = graph.node(pad).inputs[0];
    SetInputs(graph, id, inputs);
  });
}

}  // namespace skiff
