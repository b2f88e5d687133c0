// Convolutions and products with constant codes: sums in 32 bits, scaled and rounded once.
#include <cmath>

#include "core/fixed_array.h"
#include "delegates/vulkan/lower/quantized/dot.h"
#include "delegates/vulkan/lower/quantized/products.h"

namespace skiff::vulkan {
namespace {

/// A bias of more units is added as a real number: sums have 32 bits.
constexpr double kMostBias = 0x1p29;

/// Of (w - zero point) over the depth of a tap.
uint32_t SumOfWeights(const TensorView& weights, const CodeMatrix& matrix, int64_t channel, int64_t tap) {
  const Quantization& quantization = *weights.quantization;
  int64_t sum = -matrix.depth * quantization.ZeroPointAt(ScaleOf(quantization, channel));
  for (int64_t k = 0; k < matrix.depth; ++k) {
    const int64_t at = matrix.Index(channel, tap, k);
    sum += weights.dtype == DType::kI8 ? weights.as<const int8_t>()[at] : weights.as<const uint8_t>()[at];
  }
  return static_cast<uint32_t>(sum);
}

/// As shaders/quantized_product.glsl says.
Result<Operand> PackedWeights(Emitter& emit, const CodeMatrix& matrix, bool with_sums) {
  const TensorView& weights = emit.in(1);
  const Quantization& quantization = *weights.quantization;
  // What pads the depth is a zero point: the same codes may come with others.
  uint32_t zeros = weights.dtype == DType::kI8 ? 1 : 0;  // Sums read signs.
  for (int64_t i = 0; i < quantization.count; ++i)
    zeros = zeros * 0x01000193u + static_cast<uint32_t>(quantization.ZeroPointAt(i) + 1);
  const int64_t padded = Fours(matrix.channels) * 4;
  const int64_t depth_words = Fours(matrix.depth);
  const auto fill = [&](uint32_t* to) {
    for (int64_t tap = 0; tap < matrix.taps; ++tap) {
      for (int64_t d = 0; d < depth_words; ++d) {
        for (int64_t channel = 0; channel < padded; ++channel) {
          uint32_t word = 0;
          for (int64_t k = 0; k < 4 && channel < matrix.channels; ++k) {
            const int64_t at = d * 4 + k;
            const auto code =
                at < matrix.depth
                    ? weights.as<const uint8_t>()[matrix.Index(channel, tap, at)]
                    : static_cast<uint8_t>(quantization.ZeroPointAt(ScaleOf(quantization, channel)));
            word |= uint32_t{code} << (8 * k);
          }
          *to++ = word;
        }
      }
    }
    for (int64_t tap = 0; tap < matrix.taps && with_sums; ++tap) {
      for (int64_t channel = 0; channel < padded; ++channel)
        *to++ = channel < matrix.channels ? SumOfWeights(weights, matrix, channel, tap) : 0;
    }
  };
  return emit.PackedWords(emit.input(1).hash, with_sums ? kCodeWeightsAndSums : kCodeWeights,
                          {matrix.channels, matrix.taps, matrix.depth, matrix.channels_last, zeros},
                          static_cast<uint64_t>(matrix.taps * (depth_words + with_sums) * padded), fill);
}

/// Input 2 in units of the products: an i32 bias whose scale is theirs, rounded to a float, is meant to be
/// theirs.
double BiasOf(const Emitter& emit, int64_t channel, double unit) {
  if (!emit.Has(2)) return 0;
  const TensorView& bias = emit.in(2);
  if (bias.quantization == nullptr) return static_cast<double>(Floats(bias)[channel]) / unit;
  const int64_t at = ScaleOf(*bias.quantization, channel);
  const auto steps =
      static_cast<double>(bias.as<const int32_t>()[channel]) - bias.quantization->ZeroPointAt(at);
  const float scale = bias.quantization->ScaleAt(at);
  return scale == static_cast<float>(unit) ? steps : steps * (static_cast<double>(scale) / unit);
}

/// As shaders/quantized_product.glsl says.
Result<Operand> Parameters(Emitter& emit, const CodeMatrix& matrix) {
  const Quantization& x = *emit.in(0).quantization;
  const Quantization& w = *emit.in(1).quantization;
  const Quantization* const y = emit.out(0).quantization;
  FixedArray<uint32_t> words;
  SKIFF_RETURN_IF_ERROR(words.Allocate(static_cast<size_t>(Fours(matrix.channels) * 20)));
  for (int64_t c = 0; c < matrix.channels; ++c) {
    const int64_t at = ScaleOf(w, c);
    const double unit = static_cast<double>(x.scale) * static_cast<double>(w.ScaleAt(at));
    const double factor = y == nullptr ? unit : unit / static_cast<double>(y->scale);
    const double bias = BiasOf(emit, c, unit);
    const double whole = std::abs(bias) <= kMostBias ? std::nearbyint(bias) : 0;
    const PairOfFloats pair(factor);
    const float reals[] = {pair.high, pair.low, static_cast<float>((bias - whole) * factor)};
    uint32_t* const to = words.data() + c * 4;
    to[0] = static_cast<uint32_t>(static_cast<int32_t>(whole));
    std::memcpy(to + 1, reals, sizeof(reals));
    words[static_cast<size_t>(Fours(matrix.channels) * 16 + c)] = static_cast<uint32_t>(w.ZeroPointAt(at));
  }
  return emit.Words(kCodeParameters, words);
}

/// The push constants of shaders/quantized_product.glsl.
struct QuantizedPush {
  uint32_t pixels, in_height, in_width, in_channels, out_height, out_width, out_channels, depth,
      group_outputs, kernel_height, kernel_width;
  int32_t stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
  uint32_t x_last;
  int32_t x_zero, y_zero;
  CodeLimits limits;
  float low, high;
};

QuantizedPush PushOf(const Emitter& emit, const ConvolutionPush& of) {
  const TensorView& y = emit.out(0);
  const bool codes = y.quantization != nullptr;
  return {of.pixels,
          of.in_height,
          of.in_width,
          of.in_channels,
          of.out_height,
          of.out_width,
          of.out_channels,
          of.depth,
          of.group_outputs,
          of.kernel_height,
          of.kernel_width,
          of.stride_y,
          of.stride_x,
          of.dilation_y,
          of.dilation_x,
          of.pad_top,
          of.pad_left,
          U32(Fours(emit.in(0).shape.elements()) - 1),
          emit.in(0).quantization->zero_point,
          codes ? y.quantization->zero_point : 0,
          codes ? LimitsOf(y, of.low, of.high) : CodeLimits{0, 0},
          of.low,
          of.high};
}

Status EmitProduct(Emitter& emit, const ConvolutionPush& of, const CodeMatrix& matrix, bool transposed) {
  const bool depthwise = of.depth == 1 && of.group_outputs == 1 && of.out_channels % 4 == 0 && !transposed;
  const bool one_group = of.group_outputs == of.out_channels;
  const bool in_fours = of.out_channels % 4 == 0 && (one_group || of.group_outputs % 4 == 0);
  // Where neither holds, an invocation computes four elements, one after the other.
  const int64_t elements = depthwise || in_fours ? 1 : 4;
  const int64_t rounds = RoundsOf(of, depthwise ? 1 : RoundsOfTap(of, 4));
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(elements * rounds));
  DotChoice dot;
  if (!depthwise && emit.IsUsable(in_fours ? Shader::kQuantizedConvDot : Shader::kQuantizedGroupedConvDot))
    dot = ChooseDot(emit.dots(), emit.in(0), emit.in(1));
  const QuantizedPush push = PushOf(emit, of);
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedWeights(emit, matrix, dot.is_used));
  SKIFF_ASSIGN_OR_RETURN(const Operand parameters, Parameters(emit, matrix));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const uint32_t kx = KindOf(emit.in(0));
  const uint32_t kw = KindOf(emit.in(1));
  const uint32_t ky = KindOf(emit.out(0));
  const bool aligned = of.in_channels % 4 == 0 && of.depth % 4 == 0;
  const uint32_t hints = dot.hints | (!transposed && IsPoint(of) ? kPointHint : 0u);
  const uint64_t blocks = of.out_channels / 4;
  if (depthwise) {
    return emit.Dispatch(Shader::kQuantizedDepthwise, {0, kx, kw, ky, 0, 1, hints},
                         {x, weights, parameters, y}, push, of.pixels * blocks);
  }
  if (!in_fours) {
    return emit.Dispatch(dot.is_used ? Shader::kQuantizedGroupedConvDot : Shader::kQuantizedGroupedConv,
                         {0, kx, kw, ky, transposed, aligned, hints}, {x, weights, parameters, y}, push,
                         (uint64_t{of.pixels} * of.out_channels + 3) / 4);
  }
  const Shader shader = dot.is_used ? Shader::kQuantizedConvDot : Shader::kQuantizedConv;
  const uint32_t by_rule = of.pixels == 1 ? 1 : kMostTile;
  for (const uint32_t any : {1u, kMostTile})
    SKIFF_RETURN_IF_ERROR(emit.Needs(shader, {any, kx, kw, ky, transposed, aligned, hints}));
  const uint32_t tile = emit.TileOf(shader, {by_rule, kx, kw, ky, transposed, aligned, hints});
  return emit.Dispatch(shader, {by_rule, kx, kw, ky, transposed, aligned, hints}, {x, weights, parameters, y},
                       push, (of.pixels + tile - 1) / tile * blocks);
}

CodeMatrix WindowsOf(const Emitter& emit) {
  const Shape& weights = emit.in(1).shape;
  return {weights[0], weights[1] * weights[2], weights[3], false};
}

/// Rows times constant codes.
Status EmitMatrix(Emitter& emit, const CodeMatrix& matrix, float low, float high) {
  if (emit.in(0).quantization == nullptr) return EmitWeightsProduct(emit, matrix, low, high);
  const int64_t rows = emit.in(0).shape.elements() / matrix.depth;
  return EmitProduct(emit, DescribeProduct(rows, matrix.depth, matrix.channels, low, high), matrix, false);
}

}  // namespace

Status LowerQuantizedConv2d(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const ConvolutionPush of, DescribeConvolution<Conv2dAttrs>(emit));
  return EmitProduct(emit, of, WindowsOf(emit), false);
}

Status LowerQuantizedConvTranspose2d(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const ConvolutionPush of, DescribeConvolution<ConvTranspose2dAttrs>(emit));
  return EmitProduct(emit, of, WindowsOf(emit), true);
}

Status LowerQuantizedFullyConnected(Emitter& emit) {
  const auto& attrs = emit.As<ClampAttrs>();
  const Shape& w = emit.in(1).shape;
  return EmitMatrix(emit, {w[0], 1, w[1], false}, attrs.min, attrs.max);
}

Status LowerQuantizedMatMul(Emitter& emit) {
  const auto& attrs = emit.As<MatMulAttrs>();
  const Shape& w = emit.in(1).shape;
  const bool transposed = w.rank() == 2 && attrs.transpose_b;
  const int64_t depth = emit.in(0).shape.last();
  return EmitMatrix(emit, {w.elements() / depth, 1, depth, !transposed}, attrs.min, attrs.max);
}

}  // namespace skiff::vulkan
