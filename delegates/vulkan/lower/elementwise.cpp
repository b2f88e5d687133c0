// One element from one element of each input.
#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"

namespace skiff::vulkan {
namespace {

struct UnaryPush {
  uint32_t vectors;
  float low = -kInfinity;
  float high = kInfinity;
  float alpha = 0;
  float beta = 0;
};

void TakeAttributes(const Emitter& emit, UnaryPush& push) {
  switch (emit.op()) {
    case OpCode::kClamp:
      push.low = emit.As<ClampAttrs>().min;
      push.high = emit.As<ClampAttrs>().max;
      return;
    case OpCode::kLeakyRelu:
    case OpCode::kElu:
      push.alpha = emit.As<AlphaAttrs>().alpha;
      return;
    case OpCode::kHardSigmoid:
      push.alpha = emit.As<HardSigmoidAttrs>().alpha;
      push.beta = emit.As<HardSigmoidAttrs>().beta;
      return;
    case OpCode::kGelu:
      push.alpha = emit.As<GeluAttrs>().approximate == GeluKind::kTanh ? 1.0f : 0.0f;
      return;
    default:
      return;
  }
}

uint64_t VectorsOf(const Shape& shape) { return (static_cast<uint64_t>(shape.elements()) + 3) / 4; }

/// What the shaders with two broadcast operands take.
struct BinaryPush {
  uint32_t count;
  uint32_t rank;
  float low;
  float high;
  uint32_t extents[8];
  int32_t strides[2][8];
};

BinaryPush BroadcastPush(const Shape& out, const Shape& a, const Shape& b) {
  Axes<2, 8> axes;
  const eager::AxisStrides a_strides = eager::BroadcastStrides(a, out);
  const eager::AxisStrides b_strides = eager::BroadcastStrides(b, out);
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    axes.Append(out[axis], {a_strides[i], b_strides[i]});
  }
  BinaryPush push{static_cast<uint32_t>(out.elements()), axes.rank, -kInfinity, kInfinity, {}, {}};
  std::memcpy(push.extents, axes.extents, sizeof(push.extents));
  std::memcpy(push.strides, axes.strides, sizeof(push.strides));
  return push;
}

bool HasClamp(OpCode op) {
  return op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul || op == OpCode::kDiv;
}

/// How the shader `cast` knows a type.
uint32_t CastKind(DType dtype) {
  if (IsFloat(dtype)) return 0;
  if (dtype == DType::kBool) return 3;
  if (dtype == DType::kU8) return 4;
  return DTypeSize(dtype) == 8 ? 2 : 1;
}

}  // namespace

Status LowerUnary(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const uint64_t vectors = VectorsOf(emit.out(0).shape);
  UnaryPush push{static_cast<uint32_t>(vectors)};
  TakeAttributes(emit, push);
  return emit.Dispatch(Shader::kUnary, {static_cast<uint32_t>(emit.op())}, {x, y}, push, vectors);
}

Status LowerBinary(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand a, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand b, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const Shape& out = emit.out(0).shape;
  BinaryPush push = BroadcastPush(out, emit.in(0).shape, emit.in(1).shape);
  if (HasClamp(emit.op())) {
    push.low = emit.As<ClampAttrs>().min;
    push.high = emit.As<ClampAttrs>().max;
  }
  if (emit.op() == OpCode::kMod) push.low = emit.As<ModAttrs>().truncate ? 1.0f : 0.0f;
  const auto op = static_cast<uint32_t>(emit.op());
  if (const DType dtype = emit.out(0).dtype; !IsFloat(dtype)) {
    const uint32_t words = DTypeSize(dtype) == 8 ? 2 : 1;
    return emit.Dispatch(Shader::kIntegerBinary, {op, words}, {a, b, y}, push, push.count);
  }
  SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kBinary, {op, 0}));
  SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kBinary, {op, 1}));
  const bool same =
      emit.in(0).shape.elements() == out.elements() && emit.in(1).shape.elements() == out.elements();
  const uint64_t count = same ? VectorsOf(out) : static_cast<uint64_t>(out.elements());
  push.count = static_cast<uint32_t>(count);
  return emit.Dispatch(Shader::kBinary, {op, same ? 1u : 0u}, {a, b, y}, push, count);
}

/// Comparisons, And, Or, Xor and Not, whose second operand is not looked at.
Status LowerCompare(Emitter& emit) {
  const size_t second = emit.op() == OpCode::kNot ? 0 : 1;
  SKIFF_ASSIGN_OR_RETURN(const Operand a, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand b, emit.In(second));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const DType dtype = emit.in(0).dtype;
  const uint32_t words = IsFloat(dtype) ? 0 : (DTypeSize(dtype) == 8 ? 2 : 1);
  const BinaryPush push = BroadcastPush(emit.out(0).shape, emit.in(0).shape, emit.in(second).shape);
  return emit.Dispatch(Shader::kCompare, {static_cast<uint32_t>(emit.op()), words}, {a, b, y}, push,
                       push.count);
}

Status LowerWhere(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand condition, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand a, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand b, emit.In(2));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const Shape& out = emit.out(0).shape;
  const MovedElement element = MovedAs(emit.out(0).dtype);
  eager::AxisStrides strides[3];
  for (size_t i = 0; i < 3; ++i) strides[i] = eager::BroadcastStrides(emit.in(i).shape, out);
  Axes<3, 7> axes;
  bool fits = true;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    fits = fits && axes.Append(out[axis], {strides[0][i], strides[1][i] * element.per_element,
                                           strides[2][i] * element.per_element});
  }
  if (!fits || !axes.Append(element.per_element, {0, 1, 1})) return Refuse();
  struct {
    uint32_t count;
    uint32_t rank;
    uint32_t extents[7];
    int32_t strides[3][7];
  } push{static_cast<uint32_t>(out.elements() * element.per_element), axes.rank, {}, {}};
  std::memcpy(push.extents, axes.extents, sizeof(push.extents));
  std::memcpy(push.strides, axes.strides, sizeof(push.strides));
  return emit.Dispatch(Shader::kWhere, {element.words}, {condition, a, b, y}, push,
                       InvocationsFor(element, push.count));
}

Status LowerCast(Emitter& emit) {
  const DType from = emit.in(0).dtype;
  const DType to = emit.out(0).dtype;
  // Floats of any width have one type on the device.
  if (from == to || (IsFloat(from) && IsFloat(to))) return LowerAlias(emit);
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const struct { uint32_t count; } push{static_cast<uint32_t>(emit.out(0).shape.elements())};
  return emit.Dispatch(Shader::kCast, {CastKind(from), CastKind(to)}, {x, y}, push,
                       InvocationsFor(MovedAs(to), push.count));
}

}  // namespace skiff::vulkan
