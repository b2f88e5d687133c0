// Canonical forms of operators whose windows move over height and width.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "eager/kernels/window.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/canonicalize/rules.h"
#include "passes/folding_budget.h"
#include "passes/fuse/linear.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Kernel extents (height, width) of a window operator.
Ints KernelExtents(const Graph& graph, NodeId id) {
  if (graph.node(id).op != OpCode::kConv2d) return graph.node(id).As<Pool2dAttrs>().kernel;
  const Shape weights = graph.value(graph.node(id).inputs[1]).shape();
  return {weights[1], weights[2]};
}

/// Pads that auto_pad derives, written out.
template <class A>
bool SpellPads(Graph& graph, NodeId id) {
  A& attrs = graph.node(id).As<A>();
  if (attrs.auto_pad == AutoPad::kExplicit) return false;
  const std::vector<Dim>& input = graph.value(graph.node(id).inputs[0]).dims;
  const bool depends = attrs.auto_pad != AutoPad::kValid;
  if (depends && !(input[1].constant() && input[2].constant())) return false;  // Derived on the device.
  const Ints kernel = KernelExtents(graph, id);
  Ints spelled = attrs.pads;
  for (int axis = 0; axis < 2; ++axis) {
    const AxisPads pads =
        ResolvePads(attrs.auto_pad, input[static_cast<size_t>(axis) + 1].value, kernel[axis],
                    attrs.strides[axis], attrs.dilations[axis], attrs.pads[axis], attrs.pads[2 + axis]);
    if (std::max(pads.begin, pads.end) > kMaxWindowParameter) return false;
    spelled[axis] = pads.begin;
    spelled[2 + axis] = pads.end;
  }
  attrs.pads = spelled;
  attrs.auto_pad = AutoPad::kExplicit;
  return true;
}

/// Whether a tap meets an element of the input in any window.
bool Meets(const eager::Window& window, int64_t tap) {
  const int64_t before = -window.Position(0, tap);
  const int64_t first = before <= 0 ? 0 : (before + window.stride - 1) / window.stride;
  return first < window.output && window.Source(first, tap) >= 0;
}

/// The same windows without their outer taps that meet pads alone, as far as pads can say where the others
/// lie. `first`: which of the taps is the first one now.
eager::Window WithoutDeadTaps(eager::Window window, int64_t* first) {
  for (*first = 0; window.taps > 1 && window.pad_begin >= window.dilation && !Meets(window, 0); ++*first) {
    window.pad_begin -= window.dilation;
    --window.taps;
  }
  while (window.taps > 1 && !Meets(window, window.taps - 1)) {
    const int64_t end = window.Position(window.output - 1, window.taps - 2) + 1 - window.input;
    if (end < 0) break;
    --window.taps;
    window.pad_end = end;
  }
  if (window.taps == 1) window.dilation = 1;
  return window;
}

/// The taps from `firsts[i]` on of the axis i + 1, `counts[i]` of them. Elements are whole bytes.
TensorData SliceTaps(const TensorData& weights, const int64_t (&firsts)[2], const int64_t (&counts)[2]) {
  const Shape& from = weights.shape();
  Shape to = from;
  to[1] = counts[0];
  to[2] = counts[1];
  TensorData cut(weights.dtype(), to);
  const size_t tap_bytes = static_cast<size_t>(from[3] * DTypeSize(weights.dtype()));
  const size_t line_bytes = static_cast<size_t>(counts[1]) * tap_bytes;
  const auto* source = static_cast<const std::byte*>(weights.data());
  auto* line = static_cast<std::byte*>(cut.mutable_data());
  for (int64_t output = 0; output < from[0]; ++output) {
    for (int64_t y = firsts[0]; y < firsts[0] + counts[0]; ++y, line += line_bytes) {
      const int64_t tap = (output * from[1] + y) * from[2] + firsts[1];
      std::memcpy(line, source + static_cast<size_t>(tap) * tap_bytes, line_bytes);
    }
  }
  return weights.quantization() ? cut.Quantized(weights.quantization()) : cut;
}

/// Whether the scales of quantised weights are the same for each tap, and their codes whole bytes.
bool CanSliceTaps(const TensorData& weights) {
  const QuantizationPtr& quantization = weights.quantization();
  const bool scales_stay = !quantization || quantization->per_tensor() ||
                           (quantization->block == 0 && (quantization->axis == 0 || quantization->axis == 3));
  return scales_stay && DTypeBits(weights.dtype()) == 8 * DTypeSize(weights.dtype());
}

/// Dilated windows are wider than small pictures: what their outer weights are multiplied by are pads.
bool DropDeadTaps(Graph& graph, NodeId id) {
  const auto& attrs = graph.node(id).As<Conv2dAttrs>();
  if (attrs.auto_pad != AutoPad::kExplicit) return false;
  const ValueId weights = graph.node(id).inputs[1];
  const ValueId codes = DequantizedFrom(graph, weights);
  const ValueId constant = codes == kNoValue ? weights : codes;
  if (!graph.value(constant).constant || !CanSliceTaps(*graph.value(constant).constant)) return false;
  const std::vector<Dim>& input = graph.value(graph.node(id).inputs[0]).dims;
  const std::vector<Dim>& output = graph.value(graph.node(id).outputs[0]).dims;
  const Ints kernel = KernelExtents(graph, id);
  Conv2dAttrs left = attrs;
  int64_t firsts[2] = {};
  int64_t taps[2] = {};
  for (int axis = 0; axis < 2; ++axis) {
    const auto d = static_cast<size_t>(axis) + 1;
    if (!input[d].constant() || !output[d].constant() || input[d].value < 1 || output[d].value < 1)
      return false;
    const eager::Window window =
        WithoutDeadTaps({input[d].value, output[d].value, kernel[axis], attrs.strides[axis],
                         attrs.dilations[axis], attrs.pads[axis], attrs.pads[2 + axis]},
                        &firsts[axis]);
    taps[axis] = window.taps;
    left.dilations[axis] = window.dilation;
    left.pads[axis] = window.pad_begin;
    left.pads[2 + axis] = window.pad_end;
  }
  if (taps[0] == kernel[0] && taps[1] == kernel[1]) return false;
  const TensorData whole = *graph.value(constant).constant;
  // What is not finite is no number beside a pad, either.
  const std::optional<std::vector<double>> numbers = TakeNumbers(graph, whole);
  if (!numbers || !AreFiniteIn(graph.value(weights).dtype, *numbers) || !TakeFoldingCopy(graph, constant))
    return false;
  graph.Note(id, fmt::format("windows of {} x {} taps: the others meet pads alone", taps[0], taps[1]));
  graph.node(id).As<Conv2dAttrs>() = left;
  ValueId cut = graph.AddConstant(graph.value(constant).name + ".taps", SliceTaps(whole, firsts, taps));
  if (codes != kNoValue)
    cut = EmitTyped(graph, OpCode::kDequantize, {cut}, NoAttrs{}, graph.value(weights).name + ".taps", id);
  std::vector<ValueId> inputs = graph.node(id).inputs;
  inputs[1] = cut;
  SetInputs(graph, id, inputs);
  return true;
}

}  // namespace

const std::vector<CanonicalRule>& WindowRules() {
  static const std::vector<CanonicalRule> rules = {
      {OpCode::kConv2d, SpellPads<Conv2dAttrs>},
      {OpCode::kConv2d, DropDeadTaps},
      {OpCode::kMaxPool2d, SpellPads<Pool2dAttrs>},
      {OpCode::kAveragePool2d, SpellPads<Pool2dAttrs>},
  };
  return rules;
}

}  // namespace skiff
