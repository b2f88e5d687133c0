// Recurrent layers. What the sequence adds to the gates is an input; the steps remain.
#include <algorithm>

#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::vulkan {
namespace {

/// Recurrent weights of which a work group reads all at every step. More are shared by the whole device,
/// which costs a dispatch per step.
constexpr int64_t kMostOfGroup = 1 << 17;
/// Units that a work group computes where it does not compute all.
constexpr uint32_t kUnitsOfStep = 8;
/// Multiplications of one dispatch, milliseconds on a slow device: drivers end what takes seconds.
constexpr int64_t kMostProducts = 1 << 24;
/// Dispatches of a layer: on a slow device they add up to a second, in software, where each takes
/// milliseconds, to several. The CPU is faster.
constexpr int64_t kMostDispatches = 1 << 14;
constexpr int64_t kMostInSoftware = 1 << 11;

struct Layer {
  uint32_t steps, batch, hidden, gates;
  bool has_peepholes, resets_before;
  bool variant;  ///< What recurrent.comp means by it.

  uint64_t state() const { return uint64_t{batch} * hidden; }
  uint32_t parts() const { return resets_before ? 2 : 1; }  ///< Of a step.
};

Layer LayerOf(const Emitter& emit) {
  const auto& attrs = emit.As<RecurrentAttrs>();
  const Shape& x = emit.in(0).shape;
  return {static_cast<uint32_t>(x[0]),
          static_cast<uint32_t>(x[1]),
          static_cast<uint32_t>(emit.in(1).shape[1]),
          static_cast<uint32_t>(GatesOf(emit.op())),
          emit.Has(6),
          emit.op() == OpCode::kGru && !attrs.reset_after,
          emit.op() == OpCode::kLstm  ? emit.Has(6)
          : emit.op() == OpCode::kGru ? attrs.reset_after
                                      : attrs.relu};
}

struct Push {
  uint32_t steps, batch, first, end, first_part, end_part, zero_state, zero_cell, has_lengths, reverse;
  float cell_clip;
};

/// As recurrent.comp has it: [depth][gate][unit][4], biases, peepholes. Zeros where there is no unit or no
/// bias.
Result<Operand> PackedWeights(Emitter& emit, const Layer& layer) {
  const int64_t hidden = layer.hidden;
  const int64_t rows = hidden * layer.gates;
  const int64_t peepholes = layer.has_peepholes ? 3 * hidden : 0;
  const int64_t matrix = (hidden + 3) / 4 * 4 * rows;
  return emit.Packed(HashOfInputs(emit, {1, 2, 6}), kRecurrentWeights, {hidden, rows, peepholes},
                     static_cast<uint64_t>(matrix + rows + peepholes), [&](float* to) {
                       const Floats weights(emit.in(1));
                       for (int64_t row = 0; row < rows; ++row) {
                         for (int64_t k = 0; k < hidden; ++k)
                           to[(k / 4 * rows + row) * 4 + k % 4] = weights[row * hidden + k];
                       }
                       to += matrix;
                       for (int64_t row = 0; emit.Has(2) && row < rows; ++row)
                         to[row] = Floats(emit.in(2))[row];
                       for (int64_t i = 0; i < peepholes; ++i) to[rows + i] = Floats(emit.in(6))[i];
                     });
}

/// Between a dense tensor and the scratch, of which the tensor's elements begin at `at`.
Block Part(int64_t count, int64_t from, int64_t to, int64_t step = 1) {
  Block block;
  block.extents = Shape{count};
  block.from = from;
  block.to = to;
  block.from_strides[0] = step;
  block.to_strides[0] = 1;
  return block;
}

/// First states and lengths to the scratch, where recurrent.comp looks for them.
Status EmitStart(Emitter& emit, const Layer& layer, const Operand& scratch) {
  const auto state = static_cast<int64_t>(layer.state());
  for (const size_t input : {3u, 5u}) {
    if (!emit.Has(input)) continue;
    SKIFF_ASSIGN_OR_RETURN(const Operand first, emit.In(input));
    SKIFF_RETURN_IF_ERROR(
        EmitCopy(emit, first, scratch, kToSingle, Part(state, 0, input == 3 ? 0 : 2 * state)));
  }
  if (!emit.Has(4)) return OkStatus();
  SKIFF_RETURN_IF_ERROR(emit.CheckIntegers(4, 0, int64_t{layer.steps} + 1));
  SKIFF_ASSIGN_OR_RETURN(const Operand lengths, emit.In(4));
  // Of 64 bits the lower ones.
  const int64_t words = DTypeSize(emit.in(4).dtype) / 4;
  return EmitCopy(emit, lengths, scratch, {1, 1}, Part(layer.batch, 0, 4 * state, words));
}

/// How the steps are shared out among dispatches, and a step among invocations.
struct Shares {
  bool together;  ///< What recurrent.comp means by it, and by the width.
  uint32_t width;
  uint32_t at_once;  ///< Steps of a dispatch.
};

/// Of the loops of an invocation, in a step. Those over the gates, behind the sum over a slice, are not
/// always unrolled.
int64_t RoundsOfStep(const Layer& layer, int64_t width, int64_t lanes) {
  const int64_t units = std::min(width, lanes);
  const int64_t depth = std::max<int64_t>((layer.hidden + 3) / 4, 1);
  const int64_t slices = std::min(lanes / units, depth);
  const int64_t of_units = 3 + (depth + slices - 1) / slices + 6 * (slices + 1);
  return 2 + layer.parts() * (2 + (layer.hidden + units - 1) / units * of_units);
}

Shares SharesOf(const Emitter& emit, const Layer& layer) {
  const int64_t of_sequence = int64_t{layer.gates} * layer.hidden * layer.hidden;
  Shares shares{of_sequence <= kMostOfGroup, kUnitsOfStep, 1};
  if (!shares.together) return shares;
  shares.width = 1;
  while (shares.width < layer.hidden) shares.width *= 2;
  const int64_t lanes = emit.GroupSizeOf(Shader::kRecurrent, {static_cast<uint32_t>(emit.op()), layer.variant,
                                                              layer.hidden, shares.width, shares.together});
  const int64_t by_products = kMostProducts / std::max<int64_t>(of_sequence * layer.batch, 1);
  const int64_t by_rounds = kMostRounds / RoundsOfStep(layer, shares.width, lanes);
  shares.at_once =
      static_cast<uint32_t>(std::clamp<int64_t>(by_rounds, 1, std::max<int64_t>(by_products, 1)));
  return shares;
}

int64_t DispatchesOf(const Layer& layer, const Shares& shares) {
  return (int64_t{layer.steps} + shares.at_once - 1) / shares.at_once * (shares.together ? 1 : layer.parts());
}

Status EmitSteps(Emitter& emit, const Layer& layer, const Shares& shares, const Operand& weights,
                 const Operand& scratch) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const auto [together, width, at_once] = shares;
  const uint32_t parts = layer.parts();
  const uint64_t groups =
      uint64_t{layer.batch} * (together ? 1 : (layer.hidden + kUnitsOfStep - 1) / kUnitsOfStep);
  Push push{layer.steps,
            layer.batch,
            0,
            0,
            0,
            parts,
            !emit.Has(3),
            !emit.Has(5),
            emit.Has(4),
            emit.As<RecurrentAttrs>().reverse,
            emit.As<RecurrentAttrs>().cell_clip};
  for (push.first = 0; push.first < layer.steps; push.first = push.end) {
    push.end = std::min(push.first + at_once, layer.steps);
    for (uint32_t part = 0; part < parts; part = push.end_part) {
      push.first_part = part;
      push.end_part = together ? parts : part + 1;
      SKIFF_RETURN_IF_ERROR(emit.DispatchGroups(
          Shader::kRecurrent,
          {static_cast<uint32_t>(emit.op()), layer.variant, layer.hidden, width, together},
          {x, weights, scratch, y}, push, groups, /*written=*/2));
    }
  }
  return OkStatus();
}

}  // namespace

Status LowerRecurrent(Emitter& emit) {
  const Layer layer = LayerOf(emit);
  const Shares shares = SharesOf(emit, layer);
  const int64_t most = emit.is_software() ? kMostInSoftware : kMostDispatches;
  if (DispatchesOf(layer, shares) > most) return Refuse();
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedWeights(emit, layer));
  SKIFF_ASSIGN_OR_RETURN(const Operand scratch, emit.Scratch(4 * layer.state() + layer.batch));
  SKIFF_RETURN_IF_ERROR(EmitStart(emit, layer, scratch));
  SKIFF_RETURN_IF_ERROR(EmitSteps(emit, layer, shares, weights, scratch));
  const auto state = static_cast<int64_t>(layer.state());
  for (size_t output = 1; output < emit.outputs(); ++output) {
    SKIFF_ASSIGN_OR_RETURN(const Operand last, emit.Out(output));
    const int64_t from = output == 1 ? layer.steps % 2 * state : 2 * state;
    SKIFF_RETURN_IF_ERROR(EmitCopy(emit, scratch, last, kFromSingle, Part(state, from, 0)));
  }
  return OkStatus();
}

}  // namespace skiff::vulkan
