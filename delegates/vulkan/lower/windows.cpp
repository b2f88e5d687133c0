// Pooling and resizing.
#include <algorithm>

#include "core/fixed_array.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/resize_axis.h"
#include "eager/kernels/window.h"

namespace skiff::vulkan {
namespace {

/// Of a window, inside of the picture. An invocation walks over them: of more, which no net has, a driver
/// would take the device for dead.
constexpr int64_t kMostTaps = 1 << 18;

/// Rows and columns of a picture, for each of which there is a table: of more a small file could ask.
constexpr int64_t kMostPositions = 1 << 20;

Status LowerPool(Emitter& emit, bool average) {
  SKIFF_ASSIGN_OR_RETURN(const PoolWindows push, PoolWindowsOf(emit, 1));
  SKIFF_ASSIGN_OR_RETURN(const Operand from, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand to, emit.Out(0));
  return emit.Dispatch(Shader::kPool, {average, emit.As<Pool2dAttrs>().count_include_pad}, {from, to}, push,
                       push.count);
}

/// Taps that a window of an axis has inside of the picture, at most.
int64_t MostInside(const eager::Window& window) {
  return std::min(window.taps, (window.input + window.dilation - 1) / window.dilation);
}

/// Taps of an axis for the shader: pairs (index, weight). False where a position has none.
bool AppendTaps(const eager::ResizeAxis& axis, const ResizeAttrs& attrs, int count, uint32_t* table) {
  for (int64_t i = 0; i < axis.output; ++i) {
    const eager::Taps taps = eager::TapsOf(axis, attrs, i);
    if (taps.count != count) return false;
    for (int tap = 0; tap < count; ++tap) {
      const auto weight = static_cast<float>(taps.weight[tap]);
      table[2 * (i * count + tap)] = static_cast<uint32_t>(taps.index[tap]);
      std::memcpy(&table[2 * (i * count + tap) + 1], &weight, sizeof(weight));
    }
  }
  return true;
}

}  // namespace

Result<PoolWindows> PoolWindowsOf(const Emitter& emit, int64_t elements) {
  const auto& attrs = emit.As<Pool2dAttrs>();
  const TensorView& x = emit.in(0);
  const TensorView& y = emit.out(0);
  const eager::Window rows = eager::MakeWindow(attrs, 0, x, y, attrs.kernel[0]);
  const eager::Window columns = eager::MakeWindow(attrs, 1, x, y, attrs.kernel[1]);
  for (const eager::Window& window : {rows, columns}) {
    if (!ReachFits(window.taps, window.dilation, window.pad_begin, window.pad_end)) return Refuse();
  }
  const int64_t inside[] = {MostInside(rows), MostInside(columns)};
  if (inside[0] > kMostTaps / std::max<int64_t>(inside[1], 1)) return Refuse();
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(elements * inside[0] * (2 + inside[1])));
  const auto i32 = [](int64_t value) { return static_cast<int32_t>(value); };
  return PoolWindows{static_cast<uint32_t>(y.shape.elements()),
                     static_cast<uint32_t>(y.shape[3]),
                     i32(rows.input),
                     i32(columns.input),
                     static_cast<uint32_t>(rows.output),
                     static_cast<uint32_t>(columns.output),
                     {i32(rows.taps), i32(columns.taps)},
                     {i32(rows.stride), i32(columns.stride)},
                     {i32(rows.dilation), i32(columns.dilation)},
                     {i32(rows.pad_begin), i32(columns.pad_begin), i32(rows.pad_end), i32(columns.pad_end)}};
}

Status LowerMaxPool2d(Emitter& emit) { return LowerPool(emit, false); }
Status LowerAveragePool2d(Emitter& emit) { return LowerPool(emit, true); }

Status LowerResize2d(Emitter& emit) {
  const auto& attrs = emit.As<ResizeAttrs>();
  const Shape& in = emit.in(0).shape;
  const Shape& out = emit.out(0).shape;
  const MovedElement element = MovedAs(emit.in(0).dtype);
  if (out[1] > kMostPositions || out[2] > kMostPositions) return Refuse();
  const int taps = attrs.mode == ResizeMode::kNearest ? 1 : (attrs.mode == ResizeMode::kLinear ? 2 : 4);
  FixedArray<uint32_t> table;
  SKIFF_RETURN_IF_ERROR(table.Allocate(static_cast<size_t>(2 * taps * (out[1] + out[2]))));
  uint32_t* to = table.data();
  for (int axis = 0; axis < 2; ++axis) {
    eager::ResizeAxis positions{in[1 + axis], out[1 + axis]};
    if (emit.Has(2)) positions.scale = static_cast<double>(emit.in(2).as<const float>()[axis]);
    if (!AppendTaps(positions, attrs, taps, to)) return Refuse();
    to += 2 * taps * out[1 + axis];
  }
  const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  const struct {
    uint32_t count, channels, in_height, in_width, out_height, out_width;
  } push{u32(out.elements() * element.per_element),
         u32(out[3] * element.per_element),
         u32(in[1]),
         u32(in[2]),
         u32(out[1]),
         u32(out[2])};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand positions, emit.Table(table));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return emit.Dispatch(Shader::kResize, {static_cast<uint32_t>(taps), element.words}, {x, positions, y}, push,
                       InvocationsFor(element, push.count));
}

}  // namespace skiff::vulkan
