// Sums, products and pools of codes.
#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/quantized/lowerings.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"

namespace skiff::vulkan {
namespace {

int32_t Pair(int32_t low, int32_t high) {
  return static_cast<int32_t>((static_cast<uint32_t>(low) & 0xFFFFu) | static_cast<uint32_t>(high) << 16);
}

bool HasClamp(OpCode op) { return op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul; }

Status LowerPool(Emitter& emit, bool average) {
  const TensorView& x = emit.in(0);
  const TensorView& y = emit.out(0);
  const double factor =
      static_cast<double>(x.quantization->scale) / static_cast<double>(y.quantization->scale);
  SKIFF_ASSIGN_OR_RETURN(const PoolWindows windows_of, PoolWindowsOf(emit, 4));
  const struct {
    PoolWindows windows;
    PairOfFloats factor;
    int32_t x_zero, y_zero;
    CodeLimits limits;
  } push{windows_of, PairOfFloats(factor), x.quantization->zero_point, y.quantization->zero_point,
         LimitsOf(y, -kInfinity, kInfinity)};
  SKIFF_ASSIGN_OR_RETURN(const Operand from, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand to, emit.Out(0));
  return emit.Dispatch(Shader::kQuantizedPool, {average, emit.As<Pool2dAttrs>().count_include_pad, KindOf(x)},
                       {from, to}, push, (uint64_t{push.windows.count} + 3) / 4);
}

}  // namespace

Status LowerQuantizedBinary(Emitter& emit) {
  const bool codes = emit.in(0).quantization != nullptr && emit.in(1).quantization != nullptr &&
                     emit.out(0).quantization != nullptr;
  if (!codes) return LowerQuantizedReals(emit);
  const TensorView& a = emit.in(0);
  const TensorView& b = emit.in(1);
  const TensorView& y = emit.out(0);
  const auto y_scale = static_cast<double>(y.quantization->scale);
  const auto a_scale = static_cast<double>(a.quantization->scale);
  const auto b_scale = static_cast<double>(b.quantization->scale);
  const bool product = emit.op() == OpCode::kMul;
  Axes<2, 8> axes;
  const eager::AxisStrides a_strides = eager::BroadcastStrides(a.shape, y.shape);
  const eager::AxisStrides b_strides = eager::BroadcastStrides(b.shape, y.shape);
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    axes.Append(y.shape[axis], {a_strides[i], b_strides[i]});
  }
  const ClampAttrs clamp = HasClamp(emit.op()) ? emit.As<ClampAttrs>() : ClampAttrs();
  const CodeLimits limits = LimitsOf(y, clamp.min, clamp.max);
  const auto ten_bits = [](int32_t value) { return static_cast<uint32_t>(value) & 0x3FFu; };
  struct {
    uint32_t count, rank;
    PairOfFloats a_factor, b_factor;
    uint32_t zeros;
    int32_t limits;
    uint32_t extents[8];
    int32_t strides[2][8];
  } push{static_cast<uint32_t>(y.shape.elements()),
         axes.rank,
         PairOfFloats(product ? a_scale * b_scale / y_scale : a_scale / y_scale),
         PairOfFloats(b_scale / y_scale),
         ten_bits(a.quantization->zero_point) | ten_bits(b.quantization->zero_point) << 10 |
             ten_bits(y.quantization->zero_point) << 20,
         Pair(limits.low, limits.high),
         {},
         {}};
  std::memcpy(push.extents, axes.extents, sizeof(push.extents));
  std::memcpy(push.strides, axes.strides, sizeof(push.strides));
  SKIFF_ASSIGN_OR_RETURN(const Operand a_place, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand b_place, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand y_place, emit.Out(0));
  const auto op = static_cast<uint32_t>(emit.op());
  const bool same = a.shape.elements() == y.shape.elements() && b.shape.elements() == y.shape.elements();
  for (const uint32_t any : {0u, 1u})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kQuantizedBinary, {op, any, KindOf(a), KindOf(b)}));
  return emit.Dispatch(Shader::kQuantizedBinary, {op, same, KindOf(a), KindOf(b)},
                       {a_place, b_place, y_place}, push, (uint64_t{push.count} + 3) / 4);
}

Status LowerQuantizedMaxPool2d(Emitter& emit) { return LowerPool(emit, false); }
Status LowerQuantizedAveragePool2d(Emitter& emit) { return LowerPool(emit, true); }

}  // namespace skiff::vulkan
