// Reductions and normalisations.
#include <algorithm>
#include <cmath>

#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::vulkan {
namespace {

/// A row that is at least this long is shared by a work group; shorter ones leave most of it idle.
constexpr int64_t kLongRow = 64;
/// With so many rows there is work for every invocation without sharing.
constexpr int64_t kManyRows = 4096;

bool IsShared(int64_t rows, int64_t length) { return length >= kLongRow && rows < kManyRows; }

/// The rows along one axis of a dense tensor.
struct RowsAlong {
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t count = 1;
};

RowsAlong AlongAxis(const Shape& shape, int axis) {
  RowsAlong rows{shape[axis], shape.ElementsBetween(axis + 1, shape.rank()), 1};
  rows.count = shape.ElementsBetween(0, axis) * rows.inner;
  return rows;
}

/// Of an invocation that takes every `lanes`-th element.
int64_t RoundsOver(int64_t elements, int64_t lanes) { return (elements + lanes - 1) / lanes; }

}  // namespace

Status LowerReduce(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  uint32_t mask = 0;
  if (!ReducedAxes(emit.As<ReduceAttrs>(), in.rank(), &mask)) return Refuse();
  const eager::AxisStrides strides = eager::DenseStrides(in);
  constexpr uint32_t kMostAxes = 5;
  Axes<1, kMostAxes> kept;
  Axes<1, kMostAxes> reduced;
  int64_t length = 1;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool is_reduced = ((mask >> axis) & 1u) != 0;
    if (is_reduced) length *= in[axis];
    Axes<1, kMostAxes>& axes = is_reduced ? reduced : kept;
    if (!axes.Append(in[axis], {strides[static_cast<size_t>(axis)]})) return Refuse();
  }
  struct {
    uint32_t count, reduced, kept_rank, reduced_rank;
    uint32_t kept_extents[kMostAxes];
    int32_t kept_strides[kMostAxes];
    uint32_t reduced_extents[kMostAxes];
    int32_t reduced_strides[kMostAxes];
  } push{static_cast<uint32_t>(emit.out(0).shape.elements()),
         static_cast<uint32_t>(length),
         kept.rank,
         reduced.rank,
         {},
         {},
         {},
         {}};
  std::memcpy(push.kept_extents, kept.extents, sizeof(kept.extents));
  std::memcpy(push.kept_strides, kept.strides[0], sizeof(push.kept_strides));
  std::memcpy(push.reduced_extents, reduced.extents, sizeof(reduced.extents));
  std::memcpy(push.reduced_strides, reduced.strides[0], sizeof(push.reduced_strides));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const auto op = static_cast<uint32_t>(emit.op());
  for (const uint32_t any : {0u, 1u}) SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kReduce, {op, any}));
  const bool shared = IsShared(push.count, length);
  const int64_t lanes = shared ? emit.GroupSizeOf(Shader::kReduce, {op, 1}) : 1;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(RoundsOver(length, lanes) * (2 + int64_t{reduced.rank})));
  if (shared) return emit.DispatchGroups(Shader::kReduce, {op, 1}, {x, y}, push, push.count);
  return emit.Dispatch(Shader::kReduce, {op, 0}, {x, y}, push, push.count);
}

Status LowerArg(Emitter& emit) {
  const auto& attrs = emit.As<ArgAttrs>();
  const Shape& in = emit.in(0).shape;
  const RowsAlong rows = AlongAxis(in, NormalizeAxis(attrs.axis, in.rank()));
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(rows.extent));
  const struct {
    uint32_t count, extent, inner;
  } push{static_cast<uint32_t>(rows.count), static_cast<uint32_t>(rows.extent),
         static_cast<uint32_t>(rows.inner)};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return emit.Dispatch(Shader::kArg, {static_cast<uint32_t>(emit.op()), attrs.select_last}, {x, y}, push,
                       push.count);
}

/// A TopK goes through its line once for each element that it finds. The CPU, which sorts, is faster than a
/// work group that takes more rounds for a line, and than a device that takes more for all.
constexpr int64_t kMostRoundsOfLine = int64_t{1} << 18;
constexpr int64_t kMostRoundsOfLines = int64_t{1} << 21;
/// Those in which a work group of at most 1,024 agrees, and the one around them.
constexpr int64_t kReductionRounds = 11;

Status LowerTopK(Emitter& emit) {
  const auto& attrs = emit.As<TopKAttrs>();
  const Shape& in = emit.in(0).shape;
  const int axis = NormalizeAxis(attrs.axis, in.rank());
  const RowsAlong rows = AlongAxis(in, axis);
  const int64_t found = emit.out(0).shape[axis];
  const int64_t lanes = emit.GroupSizeOf(Shader::kTopK, {attrs.largest});
  const int64_t rounds = RoundsOver(rows.extent, lanes) + kReductionRounds;
  const int64_t of_line = rounds * found;
  if (of_line > kMostRoundsOfLine || of_line * rows.count > kMostRoundsOfLines) return Refuse();
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(rounds));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand values, emit.Out(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand places, emit.Out(1));
  const int64_t at_once = std::max<int64_t>(kMostRounds / rounds, 1);
  for (int64_t begin = 0; begin < found; begin += at_once) {
    const struct {
      uint32_t lines, extent, inner, found, begin, end;
    } push{static_cast<uint32_t>(rows.count), static_cast<uint32_t>(rows.extent),
           static_cast<uint32_t>(rows.inner), static_cast<uint32_t>(found),
           static_cast<uint32_t>(begin),      static_cast<uint32_t>(std::min(begin + at_once, found))};
    SKIFF_RETURN_IF_ERROR(emit.DispatchGroups(Shader::kTopK, {attrs.largest}, {x, values, places}, push,
                                              push.lines, /*written=*/2));
  }
  return OkStatus();
}

/// Running sums of longer lines are refused: the CPU is faster.
constexpr int64_t kLongestLine = int64_t{1} << 28;

Status LowerCumSum(Emitter& emit) {
  const auto& attrs = emit.As<CumSumAttrs>();
  const Shape& in = emit.in(0).shape;
  if (!emit.input(1).constant) return Refuse();
  const int axis = NormalizeAxis(eager::IntegerAt(emit.in(1), 0), in.rank());
  if (axis < 0) return Refuse();
  const RowsAlong rows = AlongAxis(in, axis);
  if (rows.extent > kLongestLine) return Refuse();
  const struct {
    uint32_t lines, extent, inner;
  } push{static_cast<uint32_t>(rows.count), static_cast<uint32_t>(rows.extent),
         static_cast<uint32_t>(rows.inner)};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const DType dtype = emit.in(0).dtype;
  const uint32_t words = IsFloat(dtype) ? 0 : (DTypeSize(dtype) == 8 ? 2 : 1);
  for (const uint32_t any : {0u, 1u})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kCumSum, {words, attrs.exclusive, attrs.reverse, any}));
  const bool shared = IsShared(rows.count, rows.extent);
  const int64_t lanes =
      shared ? emit.GroupSizeOf(Shader::kCumSum, {words, attrs.exclusive, attrs.reverse, 1}) : 1;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(2 * RoundsOver(rows.extent, lanes) + lanes));
  if (shared) {
    return emit.DispatchGroups(Shader::kCumSum, {words, attrs.exclusive, attrs.reverse, 1}, {x, y}, push,
                               push.lines);
  }
  return emit.Dispatch(Shader::kCumSum, {words, attrs.exclusive, attrs.reverse, 0}, {x, y}, push, push.lines);
}

Status LowerSoftmax(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  const RowsAlong rows = AlongAxis(in, NormalizeAxis(emit.As<AxisAttrs>().axis, in.rank()));
  const struct {
    uint32_t rows, extent, inner;
  } push{static_cast<uint32_t>(rows.count), static_cast<uint32_t>(rows.extent),
         static_cast<uint32_t>(rows.inner)};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const bool is_log = emit.op() == OpCode::kLogSoftmax;
  for (const uint32_t any : {0u, 1u}) SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kSoftmax, {is_log, any}));
  const bool shared = IsShared(rows.count, rows.extent);
  const int64_t lanes = shared ? emit.GroupSizeOf(Shader::kSoftmax, {is_log, 1}) : 1;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(3 * RoundsOver(rows.extent, lanes)));
  if (shared) return emit.DispatchGroups(Shader::kSoftmax, {is_log, 1}, {x, y}, push, push.rows);
  return emit.Dispatch(Shader::kSoftmax, {is_log, 0}, {x, y}, push, push.rows);
}

Status LowerLayerNorm(Emitter& emit) {
  const auto& attrs = emit.As<NormAttrs>();
  const Shape& in = emit.in(0).shape;
  const int axis = NormalizeAxis(attrs.axis, in.rank());
  const int64_t lanes = emit.GroupSizeOf(Shader::kLayerNorm, {emit.Has(2)});
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(3 * RoundsOver(in.ElementsBetween(axis, in.rank()), lanes)));
  const struct {
    uint32_t rows, extent;
    float epsilon;
  } push{static_cast<uint32_t>(in.ElementsBetween(0, axis)),
         static_cast<uint32_t>(in.ElementsBetween(axis, in.rank())), attrs.epsilon};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand scale, emit.In(1));
  Operand bias = scale;  // Something to bind; not read.
  if (emit.Has(2)) {
    SKIFF_ASSIGN_OR_RETURN(bias, emit.In(2));
  }
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return emit.DispatchGroups(Shader::kLayerNorm, {emit.Has(2)}, {x, scale, bias, y}, push, push.rows);
}

/// How the shader fake_quantize shares out rows.
enum class RowStep : uint32_t { kAlone, kShared, kFindEnds, kRoundPart };

/// A work group looks over so many elements of a long row,
constexpr int64_t kRowPart = 2048;
/// unless there are more groups than keep a device busy: each reads what all of its row have found.
constexpr int64_t kManyParts = 1024;

Status LowerFakeQuantize(Emitter& emit) {
  const auto& attrs = emit.As<FakeQuantizeAttrs>();
  const Shape& in = emit.in(0).shape;
  const int64_t length = RowOfCodes(attrs, in);
  const int64_t rows = length == 0 ? 0 : in.elements() / length;
  const int64_t most_parts = std::max<int64_t>(kManyParts / std::max<int64_t>(rows, 1), 1);
  const int64_t parts = std::clamp<int64_t>((length + kRowPart - 1) / kRowPart, 1, most_parts);
  const struct {
    uint32_t rows, length, parts, part_length;
  } push{static_cast<uint32_t>(rows), static_cast<uint32_t>(length), static_cast<uint32_t>(parts),
         static_cast<uint32_t>((length + parts - 1) / parts)};
  const auto symmetric = static_cast<uint32_t>(attrs.symmetric);
  const auto number = [](RowStep step) { return static_cast<uint32_t>(step); };
  for (const RowStep step : {RowStep::kAlone, RowStep::kShared, RowStep::kFindEnds, RowStep::kRoundPart})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kFakeQuantize, {symmetric, number(step)}));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  // Where a row has one part the ends are not read: x is something to bind.
  if (parts == 1 && IsShared(rows, length))
    return emit.DispatchGroups(Shader::kFakeQuantize, {symmetric, number(RowStep::kShared)}, {x, x, y}, push,
                               push.rows);
  if (parts == 1) {
    SKIFF_RETURN_IF_ERROR(emit.CheckRounds(2 * length));
    return emit.Dispatch(Shader::kFakeQuantize, {symmetric, number(RowStep::kAlone)}, {x, x, y}, push,
                         push.rows);
  }
  const auto groups = static_cast<uint64_t>(rows * parts);
  SKIFF_ASSIGN_OR_RETURN(const Operand ends, emit.Scratch(2 * groups));
  SKIFF_RETURN_IF_ERROR(emit.DispatchGroups(Shader::kFakeQuantize, {symmetric, number(RowStep::kFindEnds)},
                                            {x, x, ends}, push, groups));
  return emit.DispatchGroups(Shader::kFakeQuantize, {symmetric, number(RowStep::kRoundPart)}, {x, ends, y},
                             push, groups);
}

/// A depthwise 1x1 convolution where the channels are innermost: y = x * scale + shift.
Status LowerBatchNorm(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  const auto channels = in.last();
  const auto factor = [&](int64_t c) {
    return static_cast<double>(Floats(emit.in(1))[c]) /
           std::sqrt(static_cast<double>(Floats(emit.in(4))[c]) +
                     static_cast<double>(emit.As<NormAttrs>().epsilon));
  };
  const ContentHash hash = HashOfInputs(emit, {1, 2, 3, 4});
  uint32_t epsilon = 0;
  std::memcpy(&epsilon, &emit.As<NormAttrs>().epsilon, sizeof(epsilon));
  const auto count = static_cast<uint64_t>((channels + 3) / 4 * 4);
  SKIFF_ASSIGN_OR_RETURN(const Operand scale,
                         emit.Packed(hash, kBatchNormScale, {epsilon, channels}, count, [&](float* to) {
                           for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<float>(factor(c));
                         }));
  SKIFF_ASSIGN_OR_RETURN(
      const Operand shift, emit.Packed(hash, kBatchNormShift, {epsilon, channels}, count, [&](float* to) {
        for (int64_t c = 0; c < channels; ++c) {
          to[c] = static_cast<float>(static_cast<double>(Floats(emit.in(2))[c]) -
                                     static_cast<double>(Floats(emit.in(3))[c]) * factor(c));
        }
      }));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const auto rows = static_cast<uint32_t>(in.elements() / channels);
  const auto c = static_cast<uint32_t>(channels);
  // As the shader grouped_conv takes a convolution: one pixel per row, one channel per group.
  const struct {
    uint32_t pixels, in_height, in_width, in_channels, out_height, out_width, out_channels, depth,
        group_outputs, kernel_height, kernel_width;
    int32_t stride[2], dilation[2], pads[2];
    float low, high;
  } push{rows, 1, 1, c, 1, 1, c, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0}, -kInfinity, kInfinity};
  return emit.Dispatch(Shader::kGroupedConv, {0}, {x, scale, shift, y}, push, uint64_t{rows} * c);
}

}  // namespace skiff::vulkan
