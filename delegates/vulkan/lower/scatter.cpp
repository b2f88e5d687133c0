// Single elements from where indices say, and elements and slices to there.
#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/index.h"
#include "ops/shape_rules.h"

namespace skiff::vulkan {
namespace {

uint32_t IndexWords(const Emitter& emit) { return DTypeSize(emit.in(1).dtype) == 8 ? 2 : 1; }

/// Where an element of the indices lies in the tensor that they address, but for the index along `axis`.
using OwnPlaces = Axes<1, kMaxRank>;
OwnPlaces PlacesOf(const Shape& indices, const Shape& addressed, int axis) {
  const eager::AxisStrides strides = eager::DenseStrides(addressed);
  OwnPlaces places;
  for (int i = 0; i < indices.rank(); ++i)
    places.Append(indices[i], {i == axis ? 0 : strides[static_cast<size_t>(i)]});
  return places;
}

struct ClaimPush {
  uint32_t count = 0;
  uint32_t tuple = 0;
  uint32_t rank = 0;
  int32_t index_extents[kMaxRank] = {};
  uint32_t extents[kMaxRank] = {};
  uint32_t strides[kMaxRank] = {};
  uint32_t along = 1;
};

/// Updates of `inner` elements to so many places. Several that meet: each place takes the last one of its
/// own, whichever comes first to claim it.
Status EmitScatter(Emitter& emit, const ClaimPush& push, int64_t places, int64_t inner) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand indices, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand updates, emit.In(2));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand claims, emit.Scratch(static_cast<uint64_t>(places)));
  ClaimPush none;
  none.count = static_cast<uint32_t>(places);
  SKIFF_RETURN_IF_ERROR(emit.Dispatch(Shader::kClaim, {0}, {indices, claims}, none, none.count));
  SKIFF_RETURN_IF_ERROR(
      emit.Dispatch(Shader::kClaim, {IndexWords(emit)}, {indices, claims}, push, push.count));
  const MovedElement element = MovedAs(emit.out(0).dtype);
  const struct {
    uint32_t count, inner;
  } write{static_cast<uint32_t>(places * inner * element.per_element),
          static_cast<uint32_t>(inner * element.per_element)};
  return emit.Dispatch(Shader::kScatter, {element.words}, {x, updates, claims, y}, write,
                       InvocationsFor(element, write.count));
}

}  // namespace

Status LowerGatherElements(Emitter& emit) {
  const Shape& in = emit.in(0).shape;
  const int axis = NormalizeAxis(emit.As<AxisAttrs>().axis, in.rank());
  const OwnPlaces places = PlacesOf(emit.in(1).shape, in, axis);
  struct {
    uint32_t count;
    uint32_t rank;
    int32_t extent;
    uint32_t along;
    uint32_t extents[kMaxRank];
    int32_t strides[kMaxRank];
  } push{static_cast<uint32_t>(emit.out(0).shape.elements()),
         places.rank,
         static_cast<int32_t>(in[axis]),
         static_cast<uint32_t>(in.ElementsBetween(axis + 1, in.rank())),
         {},
         {}};
  std::memcpy(push.extents, places.extents, sizeof(push.extents));
  std::memcpy(push.strides, places.strides[0], sizeof(push.strides));
  SKIFF_RETURN_IF_ERROR(emit.CheckIntegers(1, -in[axis], in[axis]));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand indices, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const MovedElement element = MovedAs(emit.in(0).dtype);
  const uint32_t words = element.per_element == 2 ? 2 : element.words;
  return emit.Dispatch(Shader::kGatherElements, {words, IndexWords(emit)}, {x, indices, y}, push,
                       InvocationsFor(element, push.count));
}

Status LowerScatterElements(Emitter& emit) {
  const Shape& shape = emit.out(0).shape;
  const Shape& indices = emit.in(1).shape;
  const int axis = NormalizeAxis(emit.As<ScatterAttrs>().axis, shape.rank());
  const OwnPlaces own = PlacesOf(indices, shape, axis);
  ClaimPush push;
  push.count = static_cast<uint32_t>(indices.elements());
  push.tuple = 1;
  push.rank = own.rank;
  push.index_extents[0] = static_cast<int32_t>(shape[axis]);
  push.along = static_cast<uint32_t>(shape.ElementsBetween(axis + 1, shape.rank()));
  std::memcpy(push.extents, own.extents, sizeof(push.extents));
  std::memcpy(push.strides, own.strides[0], sizeof(push.strides));
  SKIFF_RETURN_IF_ERROR(emit.CheckIntegers(1, -shape[axis], shape[axis]));
  return EmitScatter(emit, push, shape.elements(), 1);
}

Status LowerScatterND(Emitter& emit) {
  const Shape& shape = emit.out(0).shape;
  const Shape& indices = emit.in(1).shape;
  const auto length = static_cast<int>(indices.last());
  ClaimPush push;
  push.count = static_cast<uint32_t>(indices.elements() / length);
  push.tuple = static_cast<uint32_t>(length);
  for (int i = 0; i < length; ++i) {
    push.index_extents[i] = static_cast<int32_t>(shape[i]);
    SKIFF_RETURN_IF_ERROR(emit.CheckIntegers(1, -shape[i], shape[i], i, length));
  }
  return EmitScatter(emit, push, shape.ElementsBetween(0, length),
                     shape.ElementsBetween(length, shape.rank()));
}

}  // namespace skiff::vulkan
