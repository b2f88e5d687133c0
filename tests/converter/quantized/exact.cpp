#include "tests/converter/quantized/exact.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/error.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

/// A float that is a multiple of 2^-32 as that many of them.
Wide Multiples(double number) {
  const double scaled = std::ldexp(number, kOperandExponent);
  if (scaled != std::nearbyint(scaled)) Throw(StatusCode::kInternal, "{} is no multiple of 2^-32", number);
  return static_cast<Wide>(scaled);
}

/// A whole number of steps, and which part of the next one follows.
struct Steps {
  Wide whole;
  Wide rest;
  Wide step;
};

Steps StepsOf(const Exact& exact, size_t i, float scale) {
  const Wide step = (Multiples(static_cast<double>(scale)) * exact.divisor)
                    << (exact.exponent - kOperandExponent);
  Wide whole = exact.numbers[i] / step;
  Wide rest = exact.numbers[i] % step;
  if (rest < 0) {
    rest += step;
    --whole;
  }
  return {whole, rest, step};
}

void AddBias(Exact& y, const Exact* bias) {
  if (bias == nullptr) return;
  const size_t channels = bias->numbers.size();
  for (size_t i = 0; i < y.numbers.size(); ++i) y.numbers[i] += bias->numbers[i % channels];
}

/// Where a tap of a window lies in the input, or -1.
int64_t Source(int64_t out, int64_t tap, int64_t stride, int64_t dilation, int64_t pad, int64_t extent) {
  const int64_t at = out * stride - pad + tap * dilation;
  return at < 0 || at >= extent ? -1 : at;
}

int64_t Windows(int64_t extent, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  return (extent + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

size_t At(const Shape& shape, int64_t n, int64_t h, int64_t w, int64_t c) {
  return static_cast<size_t>(((n * shape[1] + h) * shape[2] + w) * shape[3] + c);
}

}  // namespace

double Exact::Real(size_t i) const {
  return static_cast<double>(std::ldexp(static_cast<long double>(numbers[i]), -exponent) /
                             static_cast<long double>(divisor));
}

/// Position by position, not as the runtime counts.
int64_t ScaleOf(const Quantization& quantization, const Shape& shape, int64_t element) {
  if (quantization.per_tensor()) return 0;
  int64_t position[kMaxRank] = {};
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = element % shape[axis];
    element /= shape[axis];
  }
  if (quantization.block == 0) return position[quantization.axis];
  int64_t at = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool blocked = axis == quantization.axis;
    const int64_t extent =
        blocked ? (shape[axis] + quantization.block - 1) / quantization.block : shape[axis];
    at = at * extent + (blocked ? position[axis] / quantization.block : position[axis]);
  }
  return at;
}

size_t BroadcastAt(const Shape& from, const Shape& shape, int64_t element) {
  int64_t at = 0;
  int64_t stride = 1;
  for (int axis = shape.rank() - 1, own = from.rank() - 1; own >= 0; --axis, --own) {
    const int64_t position = element % shape[axis];
    element /= shape[axis];
    at += (from[own] == 1 ? 0 : position) * stride;
    stride *= from[own];
  }
  return static_cast<size_t>(at);
}

Shape BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank());
    const int in_b = axis - (rank - b.rank());
    shape.Append(std::max(in_a < 0 ? 1 : a[in_a], in_b < 0 ? 1 : b[in_b]));
  }
  return shape;
}

Exact ExactOf(const TensorData& data) {
  Exact exact{data.shape(), {}, kOperandExponent};
  if (!data.quantization()) {
    for (const double number : data.ToDoubles()) exact.numbers.push_back(Multiples(number));
    return exact;
  }
  const Quantization& quantization = *data.quantization();
  const std::vector<int64_t> codes = data.ToInts();
  for (size_t i = 0; i < codes.size(); ++i) {
    const int64_t at = ScaleOf(quantization, data.shape(), static_cast<int64_t>(i));
    exact.numbers.push_back(static_cast<Wide>(codes[i] - quantization.ZeroPointAt(at)) *
                            Multiples(static_cast<double>(quantization.ScaleAt(at))));
  }
  return exact;
}

Exact ExactBias(const TensorData& bias, const TensorData& x, const TensorData& weights) {
  Exact exact = ExactOf(bias);
  exact.exponent = 2 * kOperandExponent;
  const bool by_channel = weights.quantization() && weights.quantization()->block == 0 &&
                          (weights.quantization()->per_tensor() || weights.quantization()->axis == 0);
  const bool products = x.quantization() && x.quantization()->per_tensor() && by_channel;
  for (size_t i = 0; i < exact.numbers.size(); ++i) {
    exact.numbers[i] <<= kOperandExponent;
    if (!products || !bias.quantization()) continue;
    const auto c = static_cast<int64_t>(i);
    const double x_scale = static_cast<double>(x.quantization()->scale);
    const double w_scale =
        static_cast<double>(weights.quantization()->ScaleAt(weights.quantization()->per_tensor() ? 0 : c));
    const float scale = bias.quantization()->ScaleAt(bias.quantization()->per_tensor() ? 0 : c);
    if (scale == static_cast<float>(x_scale * w_scale))
      exact.numbers[i] = bias.ToInts()[i] * Multiples(x_scale) * Multiples(w_scale);
  }
  return exact;
}

int64_t RoundedCode(const Exact& exact, size_t i, DType dtype, float scale, int32_t zero_point) {
  const Steps steps = StepsOf(exact, i, scale);
  const Wide twice = 2 * steps.rest;
  const bool up = twice > steps.step || (twice == steps.step && steps.whole % 2 != 0);
  const CodeRange range = RangeOf(dtype);
  return static_cast<int64_t>(
      std::clamp<Wide>(steps.whole + (up ? 1 : 0) + zero_point, range.low, range.high));
}

std::optional<int64_t> StepBelowTie(const Exact& exact, size_t i, float scale) {
  const Steps steps = StepsOf(exact, i, scale);
  if (2 * steps.rest != steps.step) return std::nullopt;
  return static_cast<int64_t>(steps.whole);
}

Exact Clamped(Exact exact, float min, float max) {
  const auto bound = [&](float number) {
    return (Multiples(static_cast<double>(number)) << (exact.exponent - kOperandExponent)) * exact.divisor;
  };
  for (Wide& number : exact.numbers) {
    if (std::isfinite(min)) number = std::max(number, bound(min));
    if (std::isfinite(max)) number = std::min(number, bound(max));
  }
  return exact;
}

Exact ExactUnary(OpCode op, const AttrStorage& attrs, const Exact& x) {
  Exact y = x;
  for (Wide& number : y.numbers) {
    if (op == OpCode::kNeg || (op == OpCode::kAbs && number < 0)) number = -number;
    if (op == OpCode::kLeakyRelu && number < 0) {
      const float alpha = attrs.as<AlphaAttrs>().alpha;
      number *= static_cast<Wide>(alpha * 256);
    } else if (op == OpCode::kLeakyRelu) {
      number *= 256;
    }
  }
  if (op == OpCode::kLeakyRelu) y.divisor = 256;
  return y;
}

Exact ExactBinary(OpCode op, const AttrStorage& attrs, const Exact& a, const Exact& b) {
  Exact y{BroadcastShape(a.shape, b.shape), {}, kOperandExponent};
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    const Wide left = a.numbers[BroadcastAt(a.shape, y.shape, i)];
    const Wide right = b.numbers[BroadcastAt(b.shape, y.shape, i)];
    y.numbers.push_back(op == OpCode::kAdd   ? left + right
                        : op == OpCode::kSub ? left - right
                        : op == OpCode::kMin ? std::min(left, right)
                                             : std::max(left, right));
  }
  if (op == OpCode::kMin || op == OpCode::kMax) return y;
  return Clamped(y, attrs.as<ClampAttrs>().min, attrs.as<ClampAttrs>().max);
}

Exact ExactPool(OpCode op, const AttrStorage& attrs, const Exact& x) {
  const auto& pool = attrs.as<Pool2dAttrs>();
  const int64_t taps = pool.kernel[0] * pool.kernel[1];
  Exact y{{}, {}, kOperandExponent};
  y.shape.Append(x.shape[0]);
  for (int axis = 0; axis < 2; ++axis) {
    y.shape.Append(Windows(x.shape[1 + axis], pool.kernel[axis], pool.strides[axis], pool.dilations[axis],
                           pool.pads[axis] + pool.pads[2 + axis]));
  }
  y.shape.Append(x.shape[3]);
  // All averages over a common divisor: taps! would be one, the least common multiple of 1..taps is enough.
  int64_t common = 1;
  for (int64_t i = 2; i <= taps; ++i) common = std::lcm(common, i);
  y.divisor = op == OpCode::kAveragePool2d ? common : 1;
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    const int64_t c = i % y.shape[3];
    const int64_t w = i / y.shape[3] % y.shape[2];
    const int64_t h = i / y.shape[3] / y.shape[2] % y.shape[1];
    const int64_t n = i / y.shape[3] / y.shape[2] / y.shape[1];
    std::vector<Wide> seen;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at_h =
          Source(h, tap / pool.kernel[1], pool.strides[0], pool.dilations[0], pool.pads[0], x.shape[1]);
      const int64_t at_w =
          Source(w, tap % pool.kernel[1], pool.strides[1], pool.dilations[1], pool.pads[1], x.shape[2]);
      if (at_h >= 0 && at_w >= 0) seen.push_back(x.numbers[At(x.shape, n, at_h, at_w, c)]);
    }
    Wide sum = 0;
    for (const Wide number : seen) sum += number;
    const int64_t count = pool.count_include_pad ? taps : static_cast<int64_t>(seen.size());
    y.numbers.push_back(op == OpCode::kAveragePool2d ? sum * (common / count)
                                                     : *std::max_element(seen.begin(), seen.end()));
  }
  return y;
}

Exact ExactReduce(OpCode op, const AttrStorage& attrs, const Exact& x) {
  const int axis = static_cast<int>(attrs.as<ReduceAttrs>().axes[0]);
  const int64_t extent = x.shape[axis];
  const int64_t inner = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  Exact y{{}, {}, kOperandExponent, op == OpCode::kReduceMean ? extent : 1};
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i != axis) y.shape.Append(x.shape[i]);
  }
  for (int64_t i = 0; i < x.shape.elements() / extent; ++i) {
    std::vector<Wide> row;
    for (int64_t j = 0; j < extent; ++j)
      row.push_back(x.numbers[static_cast<size_t>((i / inner * extent + j) * inner + i % inner)]);
    Wide sum = 0;
    for (const Wide number : row) sum += number;
    y.numbers.push_back(op == OpCode::kReduceMax   ? *std::max_element(row.begin(), row.end())
                        : op == OpCode::kReduceMin ? *std::min_element(row.begin(), row.end())
                                                   : sum);
  }
  return y;
}

Exact ExactConv(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias) {
  const auto& conv = attrs.as<Conv2dAttrs>();
  Exact y{{}, {}, 2 * kOperandExponent};
  y.shape.Append(x.shape[0]);
  for (int axis = 0; axis < 2; ++axis) {
    y.shape.Append(Windows(x.shape[1 + axis], weights.shape[1 + axis], conv.strides[axis],
                           conv.dilations[axis], conv.pads[axis] + conv.pads[2 + axis]));
  }
  y.shape.Append(weights.shape[0]);
  const int64_t in_group = weights.shape[3];
  const int64_t out_group = weights.shape[0] / conv.groups;
  y.numbers.assign(static_cast<size_t>(y.shape.elements()), 0);
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    const int64_t o = i % y.shape[3];
    const int64_t w = i / y.shape[3] % y.shape[2];
    const int64_t h = i / y.shape[3] / y.shape[2] % y.shape[1];
    const int64_t n = i / y.shape[3] / y.shape[2] / y.shape[1];
    for (int64_t kh = 0; kh < weights.shape[1]; ++kh) {
      for (int64_t kw = 0; kw < weights.shape[2]; ++kw) {
        const int64_t at_h = Source(h, kh, conv.strides[0], conv.dilations[0], conv.pads[0], x.shape[1]);
        const int64_t at_w = Source(w, kw, conv.strides[1], conv.dilations[1], conv.pads[1], x.shape[2]);
        if (at_h < 0 || at_w < 0) continue;
        for (int64_t c = 0; c < in_group; ++c) {
          y.numbers[static_cast<size_t>(i)] +=
              x.numbers[At(x.shape, n, at_h, at_w, o / out_group * in_group + c)] *
              weights.numbers[At(weights.shape, o, kh, kw, c)];
        }
      }
    }
  }
  AddBias(y, bias);
  return Clamped(y, conv.min, conv.max);
}

Exact ExactConvTranspose(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias) {
  const auto& conv = attrs.as<ConvTranspose2dAttrs>();
  Exact y{{}, {}, 2 * kOperandExponent};
  y.shape.Append(x.shape[0]);
  for (int axis = 0; axis < 2; ++axis) {
    y.shape.Append((x.shape[1 + axis] - 1) * conv.strides[axis] +
                   (weights.shape[1 + axis] - 1) * conv.dilations[axis] + 1 + conv.output_pads[axis] -
                   conv.pads[axis] - conv.pads[2 + axis]);
  }
  y.shape.Append(weights.shape[0]);
  y.numbers.assign(static_cast<size_t>(y.shape.elements()), 0);
  const int64_t in_group = weights.shape[3];
  const int64_t out_group = weights.shape[0] / conv.groups;
  // Each input element is spread over the output.
  for (int64_t i = 0; i < x.shape.elements(); ++i) {
    const int64_t c = i % x.shape[3];
    const int64_t w = i / x.shape[3] % x.shape[2];
    const int64_t h = i / x.shape[3] / x.shape[2] % x.shape[1];
    const int64_t n = i / x.shape[3] / x.shape[2] / x.shape[1];
    for (int64_t kh = 0; kh < weights.shape[1]; ++kh) {
      for (int64_t kw = 0; kw < weights.shape[2]; ++kw) {
        const int64_t to_h = Source(h, kh, conv.strides[0], conv.dilations[0], conv.pads[0], y.shape[1]);
        const int64_t to_w = Source(w, kw, conv.strides[1], conv.dilations[1], conv.pads[1], y.shape[2]);
        if (to_h < 0 || to_w < 0) continue;
        for (int64_t o = c / in_group * out_group; o < (c / in_group + 1) * out_group; ++o) {
          y.numbers[At(y.shape, n, to_h, to_w, o)] +=
              x.numbers[static_cast<size_t>(i)] * weights.numbers[At(weights.shape, o, kh, kw, c % in_group)];
        }
      }
    }
  }
  AddBias(y, bias);
  return Clamped(y, conv.min, conv.max);
}

Exact ExactFullyConnected(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias) {
  MatMulAttrs product;
  product.transpose_b = true;
  AttrStorage storage;
  InitAttrs(OpCode::kMatMul, storage);
  storage.as<MatMulAttrs>() = product;
  Exact y = ExactMatMul(storage, x, weights);
  AddBias(y, bias);
  return Clamped(y, attrs.as<ClampAttrs>().min, attrs.as<ClampAttrs>().max);
}

Exact ExactMatMul(const AttrStorage& attrs, const Exact& a, const Exact& b) {
  const auto& product = attrs.as<MatMulAttrs>();
  const int64_t depth = a.shape.last();
  const int64_t rows = a.shape.elements() / depth;
  const int64_t columns = product.transpose_b ? b.shape[0] : b.shape[1];
  Exact y{{}, {}, 2 * kOperandExponent};
  for (int axis = 0; axis + 1 < a.shape.rank(); ++axis) y.shape.Append(a.shape[axis]);
  y.shape.Append(columns);
  for (int64_t i = 0; i < rows * columns; ++i) {
    Wide sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = product.transpose_b ? i % columns * depth + k : k * columns + i % columns;
      sum += a.numbers[static_cast<size_t>(i / columns * depth + k)] * b.numbers[static_cast<size_t>(at)];
    }
    y.numbers.push_back(sum);
  }
  return Clamped(y, product.min, product.max);
}

CodeRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI4:
      return {-8, 7};
    case DType::kU4:
      return {0, 15};
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    case DType::kI32:
      return {INT32_MIN, INT32_MAX};
    default:
      Throw(StatusCode::kInternal, "{} cannot be quantised", DTypeName(dtype));
  }
}

TensorData OfCodes(DType dtype, const Shape& shape, const std::vector<int64_t>& codes) {
  TensorData data(dtype, shape);
  auto* bytes = static_cast<uint8_t*>(data.mutable_data());
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto bits = static_cast<uint64_t>(codes[i]);
    if (DTypeBits(dtype) == 4) {
      bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (bits & 15) << (i % 2 == 0 ? 0 : 4));
      continue;
    }
    const auto size = static_cast<size_t>(DTypeSize(dtype));
    for (size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<uint8_t>(bits >> (8 * b));
  }
  return data;
}

}  // namespace skiff::testing
