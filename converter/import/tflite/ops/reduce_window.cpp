// TensorFlow Lite rows: STABLEHLO_REDUCE_WINDOW, over windows of any axes.
#include <algorithm>
#include <array>
#include <cmath>

#include "import/tflite/ops.h"
#include "import/volume.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;
using Windows = std::vector<WindowAxis>;

/// Larger ones are made of smaller ones, each from two of half the size.
constexpr int64_t kLargestPool = 16;
/// Taps of the depthwise convolutions that sums become: kernels for another number multiply what lies beside
/// the window by 0, an infinity too.
constexpr std::array<int64_t, 4> kTapsOfKernels{3, 4, 9, 25};
/// Their weights, beyond which pairs take less memory.
constexpr int64_t kMostOnes = 1 << 15;

Windows WindowsOf(const TfliteBuilder& b, const tflite::StablehloReduceWindowOptionsT& options, int rank) {
  const auto number = [&](const std::vector<int64_t>& list, size_t count, size_t i, int64_t absent) {
    const size_t expected = count * static_cast<size_t>(rank);
    if (!list.empty() && list.size() != expected)
      b.Invalid("one of its lists has {} numbers; {} were expected", list.size(), expected);
    return list.empty() ? absent : list[i];
  };
  if (options.windows.empty() && rank > 0) b.Invalid("it has no windows");
  Windows windows(static_cast<size_t>(rank));
  for (size_t i = 0; i < windows.size(); ++i) {
    WindowAxis& axis = windows[i];
    axis.kernel = number(options.windows, 1, i, 1);
    axis.stride = number(options.strides, 1, i, 1);
    axis.dilation = number(options.window_dilations, 1, i, 1);
    axis.pad_begin = number(options.pads, 2, 2 * i, 0);
    axis.pad_end = number(options.pads, 2, 2 * i + 1, 0);
    if (number(options.base_dilations, 1, i, 1) != 1)
      b.Unsupported("has base_dilations; write STABLEHLO_PAD with pads between elements in front of it");
    b.CheckRange("window", axis.kernel, 1);
    b.CheckRange("stride", axis.stride, 1);
    b.CheckRange("dilation", axis.dilation, 1);
    for (const int64_t pad : {axis.pad_begin, axis.pad_end})
      b.CheckRange("pad", pad, -TfliteBuilder::kMaxWindowNumber);
    const std::optional<int64_t> extent = b.ExtentOf(b.Input(0), static_cast<int64_t>(i));
    if (axis.Span() > 1 && extent && *extent + axis.pad_begin + axis.pad_end < axis.Span())
      b.Unsupported("has a window of {} elements along axis {}, which has {} with its pads", axis.Span(), i,
                    *extent + axis.pad_begin + axis.pad_end);
  }
  return windows;
}

/// Whether a number changes nothing that it is combined with.
bool IsNeutral(const TfliteBuilder& b, OpCode op, ValueId number) {
  const std::optional<TensorData> known = b.KnownValueOf(number);
  if (!known) return false;
  const double value = known->ToDoubles()[0];
  if (op == OpCode::kAdd || op == OpCode::kOr) return value == 0;
  if (op == OpCode::kMul || op == OpCode::kAnd) return value == 1;
  return std::isinf(value) && (value < 0) == (op == OpCode::kMax);
}

ValueId Combined(TfliteBuilder& b, const char* suffix, OpCode op, ValueId x, ValueId y) {
  if (op == OpCode::kAdd || op == OpCode::kMul) return b.Emit(suffix, op, {x, y}, ClampAttrs{});
  return b.Emit(suffix, op, {x, y});
}

/// Windows that begin in front of an axis and end at each of its elements, or the other way around, are
/// running sums.
ValueId RunningSums(TfliteBuilder& b, ValueId x, Windows& windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    WindowAxis& axis = windows[i];
    const auto extent = b.ExtentOf(x, static_cast<int64_t>(i));
    const bool whole = extent == axis.kernel && axis.pad_begin + axis.pad_end == axis.kernel - 1;
    const bool one_side = axis.pad_begin == 0 || axis.pad_end == 0;
    if (!whole || !one_side || axis.kernel == 1 || axis.stride != 1 || axis.dilation != 1) continue;
    CumSumAttrs attrs;
    attrs.reverse = axis.pad_begin == 0;
    x = b.Emit("sums", OpCode::kCumSum, {x, b.Scalar("axis", DType::kI64, static_cast<double>(i))}, attrs);
    axis = {};
  }
  return x;
}

OpCode ReductionOf(OpCode op) {
  switch (op) {
    case OpCode::kAdd:
      return OpCode::kReduceSum;
    case OpCode::kMul:
      return OpCode::kReduceProd;
    case OpCode::kMin:
    case OpCode::kAnd:
      return OpCode::kReduceMin;
    default:
      return OpCode::kReduceMax;
  }
}

/// Windows that are a whole axis.
ValueId ReducedAxes(TfliteBuilder& b, OpCode op, ValueId x, Windows& windows) {
  ReduceAttrs attrs;
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (windows[i].kernel == 1 || windows[i].dilation != 1 || b.ExtentOf(x, axis) != windows[i].kernel)
      continue;
    attrs.axes[attrs.axes.size++] = axis;
    windows[i] = {};
  }
  return attrs.axes.size == 0 ? x : b.Emit("reduced", ReductionOf(op), {x}, attrs);
}

/// Windows of one element that are not beside each other.
ValueId Strided(TfliteBuilder& b, ValueId x, Windows& windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].kernel != 1 || windows[i].stride == 1) continue;
    x = SliceAxis(b, "strided", x, static_cast<int64_t>(i), 0, 0, windows[i].stride);
    windows[i] = {};
  }
  return x;
}

ValueId Padded(TfliteBuilder& b, ValueId x, const Windows& windows, ValueId value) {
  std::vector<int64_t> pads;
  for (const WindowAxis& axis : windows) pads.push_back(axis.pad_begin);
  for (const WindowAxis& axis : windows) pads.push_back(axis.pad_end);
  if (std::count(pads.begin(), pads.end(), 0) == static_cast<int64_t>(pads.size())) return x;
  return b.Emit("padded", OpCode::kPad, {x, b.ConstantInts("pads", pads), value}, PadAttrs{});
}

/// Windows of 2^n elements, each from two of half the size, as many as `axis` takes, joined.
ValueId ByPairs(TfliteBuilder& b, OpCode op, ValueId x, int64_t at, const WindowAxis& axis) {
  ValueId joined = kNoValue;
  int64_t covered = 0;
  for (int64_t size = 1;; size *= 2) {
    if ((axis.kernel & size) != 0) {
      const int64_t behind = (axis.kernel - size - covered) * axis.dilation;
      const ValueId part = SliceAxis(b, "part", x, at, covered * axis.dilation, behind, axis.stride);
      joined = joined == kNoValue ? part : Combined(b, "joined", op, joined, part);
      covered += size;
    }
    if (covered == axis.kernel) return joined;
    const int64_t apart = size * axis.dilation;
    x = Combined(b, "pairs", op, SliceAxis(b, "first", x, at, 0, apart),
                 SliceAxis(b, "second", x, at, apart, 0));
  }
}

/// Windows of neighbouring axes, which kernels for pictures take.
struct Neighbours {
  int64_t first = 0;
  std::span<const WindowAxis> axes;
  int64_t end() const { return first + static_cast<int64_t>(axes.size()); }
};

/// Channels of the picture that `Pooled` makes of x; none: they are open.
std::optional<int64_t> ChannelsOf(const TfliteBuilder& b, ValueId x, const Neighbours& at) {
  const int64_t rank = b.RankOf(x);
  const bool in_front = at.end() == rank;
  int64_t channels = 1;
  for (int64_t axis = in_front ? 0 : at.end(); axis < (in_front ? at.first : rank); ++axis) {
    const std::optional<int64_t> extent = b.ExtentOf(x, axis);
    if (!extent || __builtin_mul_overflow(channels, *extent, &channels)) return {};
  }
  return channels;
}

/// Sums are depthwise convolutions by ones: a mean times the size of its window would be rounded twice.
ValueId SumsOf(TfliteBuilder& b, ValueId image, int64_t channels, const Pool2dAttrs& pool) {
  Conv2dAttrs attrs;
  attrs.groups = channels;
  attrs.strides = pool.strides;
  attrs.dilations = pool.dilations;
  const Shape shape{channels, pool.kernel[0], pool.kernel[1], 1};
  const std::vector<double> ones(static_cast<size_t>(shape.elements()), 1.0);
  return b.Emit("sums", OpCode::kConv2d,
                {image, b.Constant("ones", MakeConstant(b.DTypeOf(image), shape, ones))}, attrs);
}

/// Minima are maxima of the opposites.
ValueId MaximaOf(TfliteBuilder& b, OpCode op, ValueId image, const Pool2dAttrs& attrs) {
  if (op == OpCode::kMax) return b.Emit("pool", OpCode::kMaxPool2d, {image}, attrs);
  const ValueId opposite = b.Emit("opposite", OpCode::kNeg, {image});
  return b.Emit("lowest", OpCode::kNeg, {b.Emit("pool", OpCode::kMaxPool2d, {opposite}, attrs)});
}

/// Over one axis, or over it and the next one, of x as [in front, axis, next, behind]. Where nothing lies
/// behind, what lies in front becomes the channels.
ValueId Pooled(TfliteBuilder& b, OpCode op, ValueId x, const Neighbours& at) {
  const int rank = b.RankOf(x);
  Pool2dAttrs attrs;
  for (size_t i = 0; i < at.axes.size(); ++i) {
    attrs.kernel[static_cast<int64_t>(i)] = at.axes[i].kernel;
    attrs.strides[static_cast<int64_t>(i)] = at.axes[i].stride;
    attrs.dilations[static_cast<int64_t>(i)] = at.axes[i].dilation;
  }
  std::vector<ValueId> view{ProductOf(b, x, 0, at.first), ExtentsOf(b, x, at.first, at.end())};
  if (at.axes.size() == 1) view.push_back(b.ConstantInts("one", {1}));
  view.push_back(ProductOf(b, x, at.end(), rank));
  const Ints turned = at.end() == rank ? Ints{3, 1, 2, 0} : Ints{0, 1, 2, 3};
  const ValueId image = EmitTranspose(b, "image", ReshapeToExtents(b, "view", x, view), turned);
  const ValueId made = op == OpCode::kAdd ? SumsOf(b, image, ChannelsOf(b, x, at).value(), attrs)
                                          : MaximaOf(b, op, image, attrs);
  const ValueId y = EmitTranspose(b, "turned", made, turned);
  return ReshapeToExtents(
      b, "pooled", y,
      {ExtentsOf(b, x, 0, at.first), ExtentsOf(b, y, 1, 1 + static_cast<int64_t>(at.axes.size())),
       ExtentsOf(b, x, at.end(), rank)});
}

bool TakesPools(const TfliteBuilder& b, OpCode op, ValueId x, const Neighbours& at) {
  int64_t taps = 1;
  for (const WindowAxis& axis : at.axes) {
    if (axis.kernel > kLargestPool) return false;
    taps *= axis.kernel;
  }
  const DType dtype = b.DTypeOf(x);
  if (op == OpCode::kMax || op == OpCode::kMin) return IsFloat(dtype);
  if (op != OpCode::kAdd || (dtype != DType::kF32 && dtype != DType::kF16)) return false;
  const int64_t channels = ChannelsOf(b, x, at).value_or(0);
  return std::count(kTapsOfKernels.begin(), kTapsOfKernels.end(), taps) > 0 && channels > 0 &&
         channels <= kMostOnes / taps;
}

ValueId Reduced(TfliteBuilder& b, OpCode op, ValueId x, Windows windows) {
  x = Strided(b, ReducedAxes(b, op, x, windows), windows);
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].kernel == 1) continue;
    const size_t count = i + 1 < windows.size() && windows[i + 1].kernel != 1 ? 2 : 1;
    const Neighbours at{static_cast<int64_t>(i), {&windows[i], count}};
    if (TakesPools(b, op, x, at)) {
      x = Pooled(b, op, x, at);
      i += count - 1;
    } else {
      x = ByPairs(b, op, x, at.first, windows[i]);
    }
  }
  return x;
}

void BuildReduceWindow(TfliteBuilder& b) {
  const auto options = b.StablehloOptions<tflite::StablehloReduceWindowOptions>();
  if (b.input_count() != 2) b.Unsupported("reduces {} tensors at once", b.input_count() / 2);
  const std::optional<OpCode> combiner = b.source().combiner(options.body_subgraph);
  if (!combiner || combiner == OpCode::kIdentity)
    b.Unsupported("reduces by another subgraph than a sum, product, minimum, maximum, AND or OR");
  const OpCode op = *combiner;
  ValueId x = b.Real("real", b.Input(0));
  const ValueId first = b.Real("real_first", EmitScalarInput(b, "first", 1));
  Windows windows = WindowsOf(b, options, b.RankOf(x));
  const bool neutral = IsNeutral(b, op, first);
  if (op == OpCode::kAdd && neutral) x = RunningSums(b, x, windows);
  x = Reduced(b, op, Padded(b, x, windows, first), windows);
  b.OutputValue(neutral ? x : Combined(b, "with_first", op, x, first));
}

constexpr TfliteOp kRows[] = {
    {Op::STABLEHLO_REDUCE_WINDOW, BuildReduceWindow},
};

}  // namespace

std::span<const TfliteOp> TfliteReduceWindowOps() { return kRows; }

}  // namespace skiff
