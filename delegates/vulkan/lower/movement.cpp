// Operators that move elements. Each is one strided copy, or one per part.
#include <algorithm>

#include "core/half.h"
#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/shape_rules.h"

namespace skiff::vulkan {
namespace {

using eager::AxisStrides;
using eager::DenseStrides;

Status EmitAll(Emitter& emit, const Block& block) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return EmitCopy(emit, x, y, MovedAs(emit.out(0).dtype), block);
}

/// The block of `part` that begins at `begin` of the axis, in a dense tensor of shape `whole`, and the dense
/// part: a Concat copies to the first, a Split from it.
struct PartOfWhole {
  int64_t first;
  AxisStrides whole;
  AxisStrides part;
};

PartOfWhole PartAlong(const Shape& whole, const Shape& part, int axis, int64_t begin) {
  PartOfWhole place{0, DenseStrides(whole), DenseStrides(part)};
  place.first = begin * place.whole[static_cast<size_t>(axis)];
  return place;
}

void Set(int64_t (&to)[kMaxRank], const AxisStrides& from) {
  for (size_t i = 0; i < kMaxRank; ++i) to[i] = from[i];
}

}  // namespace

namespace {

/// Bytes to a place that is not dense: each invocation writes one, into a word that others write as well.
constexpr uint32_t kSingleBytes = 5;

using CopyAxes = Axes<2, 8>;

/// Runs of bytes that begin and end at words are copied as words.
bool AreWords(const CopyAxes& axes, const Block& block) {
  if (block.from % 4 != 0 || block.to % 4 != 0 || axes.rank == 0) return false;
  const uint32_t last = axes.rank - 1;
  if (axes.extents[last] % 4 != 0 || axes.strides[0][last] != 1 || axes.strides[1][last] != 1) return false;
  for (uint32_t axis = 0; axis < last; ++axis) {
    if (axes.strides[0][axis] % 4 != 0 || axes.strides[1][axis] % 4 != 0) return false;
  }
  return true;
}

bool IsDense(const CopyAxes& axes, const Block& block) {
  int64_t stride = 1;
  for (uint32_t axis = axes.rank; axis-- > 0;) {
    if (axes.strides[1][axis] != stride) return false;
    stride *= axes.extents[axis];
  }
  return block.to == 0;
}

}  // namespace

MovedElement MovedAs(DType dtype) {
  if (IsFloat(dtype)) return {0, 1};
  if (dtype == DType::kI8 || dtype == DType::kU8) return {kByteElements, 1};
  return {1, DTypeSize(dtype) == 8 ? 2 : 1};
}

Status EmitCopy(Emitter& emit, const Operand& from, const Operand& to, const MovedElement& element,
                const Block& block) {
  CopyAxes axes;
  for (int axis = 0; axis < block.extents.rank(); ++axis) {
    const std::array<int64_t, 2> step = {block.from_strides[axis] * element.per_element,
                                         block.to_strides[axis] * element.per_element};
    if (!axes.Append(block.extents[axis], step)) return Refuse();
  }
  if (!axes.Append(element.per_element, {1, 1})) return Refuse();
  struct {
    uint32_t count;
    uint32_t rank;
    int32_t first[2];
    uint32_t extents[8];
    int32_t strides[2][8];
  } push{static_cast<uint32_t>(block.extents.elements() * element.per_element),
         axes.rank,
         {static_cast<int32_t>(block.from * element.per_element),
          static_cast<int32_t>(block.to * element.per_element)},
         {},
         {}};
  std::memcpy(push.extents, axes.extents, sizeof(push.extents));
  std::memcpy(push.strides, axes.strides, sizeof(push.strides));
  if (element.words != kByteElements)
    return emit.Dispatch(Shader::kCopy, {element.words}, {from, to}, push, push.count);
  // Which way is right depends on the extents.
  for (const uint32_t way : {1u, kByteElements, kSingleBytes})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kCopy, {way}));
  if (AreWords(axes, block)) {
    push.count /= 4;
    push.extents[axes.rank - 1] /= 4;
    for (int side = 0; side < 2; ++side) {
      push.first[side] /= 4;
      for (uint32_t axis = 0; axis + 1 < axes.rank; ++axis) push.strides[side][axis] /= 4;
    }
    return emit.Dispatch(Shader::kCopy, {1}, {from, to}, push, push.count);
  }
  if (!IsDense(axes, block))
    return emit.Dispatch(Shader::kCopy, {kSingleBytes}, {from, to}, push, push.count);
  return emit.Dispatch(Shader::kCopy, {kByteElements}, {from, to}, push, InvocationsFor(element, push.count));
}

/// The same elements in the same order.
Status LowerAlias(Emitter& emit) {
  if (!emit.input(0).constant) return emit.Alias(0);
  Block block;
  block.extents = emit.out(0).shape;
  Set(block.from_strides, DenseStrides(block.extents));
  Set(block.to_strides, DenseStrides(block.extents));
  return EmitAll(emit, block);
}

Status LowerTranspose(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  const Ints& perm = emit.As<TransposeAttrs>().perm;
  const AxisStrides strides = DenseStrides(in);
  Block block;
  block.extents = emit.out(0).shape;
  Set(block.to_strides, DenseStrides(block.extents));
  for (int axis = 0; axis < in.rank(); ++axis) {
    const int64_t source = perm.size == 0 ? in.rank() - 1 - axis : perm[axis];
    block.from_strides[axis] = strides[static_cast<size_t>(source)];
  }
  return EmitAll(emit, block);
}

/// Channels seen as [groups, channels of a group] change places: a transpose of two inner axes.
Status LowerChannelShuffle(Emitter& emit) {
  const Shape& shape = emit.in(0).shape;
  const int64_t groups = emit.As<GroupsAttrs>().groups;
  const int64_t channels = shape.last();
  const int64_t of_group = channels / groups;
  Block block;
  block.extents = Shape{channels == 0 ? 0 : shape.elements() / channels, of_group, groups};
  Set(block.from_strides, {channels, 1, of_group});
  Set(block.to_strides, {channels, groups, 1});
  return EmitAll(emit, block);
}

Status LowerConcat(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const Shape& whole = emit.out(0).shape;
  const int axis = NormalizeAxis(emit.As<AxisAttrs>().axis, whole.rank());
  int64_t begin = 0;
  for (size_t i = 0; i < emit.inputs(); ++i) {
    Block block;
    block.extents = emit.in(i).shape;
    const PartOfWhole place = PartAlong(whole, block.extents, axis, begin);
    begin += block.extents[axis];
    if (block.extents.elements() == 0) continue;
    block.to = place.first;
    Set(block.from_strides, place.part);
    Set(block.to_strides, place.whole);
    SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(i));
    SKIFF_RETURN_IF_ERROR(EmitCopy(emit, x, y, MovedAs(emit.out(0).dtype), block));
  }
  return OkStatus();
}

Status LowerSplit(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  const Shape& whole = emit.in(0).shape;
  const int axis = NormalizeAxis(emit.As<SplitAttrs>().axis, whole.rank());
  int64_t begin = 0;
  for (size_t i = 0; i < emit.outputs(); ++i) {
    Block block;
    block.extents = emit.out(i).shape;
    const PartOfWhole place = PartAlong(whole, block.extents, axis, begin);
    begin += block.extents[axis];
    if (block.extents.elements() == 0) continue;
    block.from = place.first;
    Set(block.from_strides, place.whole);
    Set(block.to_strides, place.part);
    SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(i));
    SKIFF_RETURN_IF_ERROR(EmitCopy(emit, x, y, MovedAs(emit.out(i).dtype), block));
  }
  return OkStatus();
}

Status LowerSlice(Emitter& emit) {
  using eager::IntegerAt;
  const Shape& in = emit.in(0).shape;
  const AxisStrides from = DenseStrides(in);
  Block block;
  block.extents = emit.out(0).shape;
  Set(block.from_strides, from);
  Set(block.to_strides, DenseStrides(block.extents));
  for (int64_t i = 0; i < emit.in(1).shape.elements(); ++i) {
    const int axis = emit.Has(3) ? NormalizeAxis(IntegerAt(emit.in(3), i), in.rank()) : static_cast<int>(i);
    if (axis < 0 || axis >= in.rank()) return Refuse();
    const SliceRange range = ResolveSlice(in[axis], IntegerAt(emit.in(1), i), IntegerAt(emit.in(2), i),
                                          emit.Has(4) ? IntegerAt(emit.in(4), i) : 1);
    block.from += range.start * from[static_cast<size_t>(axis)];
    // The step of a single element is not used and may be too large to multiply.
    if (range.count > 1) block.from_strides[axis] = from[static_cast<size_t>(axis)] * range.step;
  }
  return EmitAll(emit, block);
}

Status LowerExpand(Emitter& emit) {
  Block block;
  block.extents = emit.out(0).shape;
  Set(block.from_strides, eager::BroadcastStrides(emit.in(0).shape, block.extents));
  Set(block.to_strides, DenseStrides(block.extents));
  return EmitAll(emit, block);
}

/// Each axis becomes two: the repetition, and the input's own.
Status LowerTile(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  const Shape& out = emit.out(0).shape;
  const AxisStrides from = DenseStrides(in);
  const AxisStrides to = DenseStrides(out);
  Block block;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t repeats = in[axis] == 0 ? 0 : out[axis] / in[axis];
    for (const bool own : {false, true}) {
      const int64_t extent = own ? in[axis] : repeats;
      if (extent == 1) continue;
      if (block.extents.rank() == kMaxRank) return Refuse();
      block.from_strides[block.extents.rank()] = own ? from[i] : 0;
      block.to_strides[block.extents.rank()] = own ? to[i] : to[i] * in[axis];
      block.extents.Append(extent);
    }
  }
  return EmitAll(emit, block);
}

Status LowerPad(Emitter& emit) {
  using eager::IntegerAt;
  const Shape& in = emit.in(0).shape;
  const Shape& out = emit.out(0).shape;
  const DType dtype = emit.in(0).dtype;
  const MovedElement element = MovedAs(dtype);
  constexpr int kMostAxes = 7;
  if (in.rank() > kMostAxes || element.per_element != 1) return Refuse();
  struct {
    uint32_t count;
    uint32_t rank;
    uint32_t first;
    uint32_t value;
    uint32_t extents[kMostAxes];
    int32_t begins[kMostAxes];
    int32_t kept[kMostAxes];
    uint32_t strides[kMostAxes];
  } push{static_cast<uint32_t>(out.elements()), static_cast<uint32_t>(in.rank()), 0, 0, {}, {}, {}, {}};
  const AxisStrides strides = DenseStrides(in);
  for (int axis = 0; axis < in.rank(); ++axis) {
    push.extents[axis] = static_cast<uint32_t>(out[axis]);
    push.kept[axis] = static_cast<int32_t>(in[axis]);
    push.strides[axis] = static_cast<uint32_t>(strides[static_cast<size_t>(axis)]);
  }
  const int64_t count = emit.in(1).shape.elements() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int axis = emit.Has(3) ? NormalizeAxis(IntegerAt(emit.in(3), i), in.rank()) : static_cast<int>(i);
    if (axis < 0 || axis >= in.rank()) return Refuse();
    const int64_t begin = IntegerAt(emit.in(1), i);
    const int64_t end = IntegerAt(emit.in(1), count + i);
    const int64_t cropped = begin < 0 ? -begin : 0;
    const int64_t kept = in[axis] - cropped + (end < 0 ? end : 0);
    push.begins[axis] = static_cast<int32_t>(begin > 0 ? begin : 0);
    push.kept[axis] = static_cast<int32_t>(kept < 0 ? 0 : kept);
    if (kept <= 0) return Refuse();
    push.first += static_cast<uint32_t>(cropped * strides[static_cast<size_t>(axis)]);
  }
  if (emit.Has(2) && emit.in(2).shape.elements() > 0) {
    // Its bits as they are for words; as f32 for floats.
    if (!emit.input(2).constant) return Refuse();
    const TensorView& value = emit.in(2);
    if (value.dtype == DType::kF16) {
      const float wide = HalfToFloat(*value.as<const uint16_t>());
      std::memcpy(&push.value, &wide, sizeof(wide));
    } else if (DTypeSize(dtype) == 4) {
      std::memcpy(&push.value, value.data, 4);
    } else {
      push.value = *value.as<const uint8_t>();
    }
  }
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const auto mode = static_cast<uint32_t>(emit.As<PadAttrs>().mode);
  return emit.Dispatch(Shader::kPad, {element.words, mode}, {x, y}, push,
                       InvocationsFor(element, push.count));
}

namespace {

/// Input 1 is tuples of `length` integers, one for each axis from `axis` on.
Status EmitGather(Emitter& emit, int axis, int length) {
  const Shape& in = emit.in(0).shape;
  const MovedElement element = MovedAs(emit.in(0).dtype);
  const int64_t slices = in.ElementsBetween(axis, axis + length);
  const int64_t inner = in.ElementsBetween(axis + length, in.rank());
  struct {
    uint32_t count;
    uint32_t inner;
    uint32_t chosen;
    int32_t first;
    uint32_t held;
    uint32_t axes;
    int32_t extents[kMaxRank];
  } push{static_cast<uint32_t>(emit.out(0).shape.elements() * element.per_element),
         static_cast<uint32_t>(inner * element.per_element),
         static_cast<uint32_t>(emit.in(1).shape.elements() / length),
         0,
         static_cast<uint32_t>(slices),
         static_cast<uint32_t>(length),
         {}};
  for (int i = 0; i < length; ++i) {
    push.extents[i] = static_cast<int32_t>(in[axis + i]);
    SKIFF_RETURN_IF_ERROR(emit.CheckIntegers(1, -in[axis + i], in[axis + i], i, length));
  }
  SKIFF_ASSIGN_OR_RETURN(const Operand indices, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const uint32_t index_words = DTypeSize(emit.in(1).dtype) == 8 ? 2 : 1;
  // A table that a shader cannot see at once is looked through in parts.
  const bool is_table = emit.input(0).constant && in.ElementsBetween(0, axis) == 1;
  const int64_t most = is_table ? emit.MostElements(emit.in(0).dtype) / std::max<int64_t>(inner, 1) : slices;
  if (most == 0) return Refuse();
  for (int64_t first = 0; first < slices; first += most) {
    const int64_t held = std::min(most, slices - first);
    push.first = static_cast<int32_t>(first);
    push.held = static_cast<uint32_t>(held);
    SKIFF_ASSIGN_OR_RETURN(const Operand x,
                           is_table ? emit.InPart(0, first * inner, held * inner) : emit.In(0));
    SKIFF_RETURN_IF_ERROR(emit.Dispatch(Shader::kGather, {element.words, index_words}, {x, indices, y}, push,
                                        InvocationsFor(element, push.count)));
  }
  return OkStatus();
}

}  // namespace

Status LowerGather(Emitter& emit) {
  return EmitGather(emit, NormalizeAxis(emit.As<AxisAttrs>().axis, emit.in(0).shape.rank()), 1);
}

Status LowerGatherND(Emitter& emit) { return EmitGather(emit, 0, static_cast<int>(emit.in(1).shape.last())); }

}  // namespace skiff::vulkan
