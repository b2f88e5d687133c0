// Convolutions, and products with constant and computed matrices.
#include <algorithm>

#include "delegates/vulkan/lower/axes.h"
#include "delegates/vulkan/lower/convolution.h"
#include "delegates/vulkan/lower/lowerings.h"
#include "eager/kernels/index.h"

namespace skiff::vulkan {
namespace {

int64_t Blocks(int64_t channels) { return (channels + 3) / 4; }

/// Elements of input 2, or zeros; up to a multiple of 4.
Result<Operand> PaddedBias(Emitter& emit, int64_t first, int64_t count) {
  const bool has = emit.Has(2);
  const ContentHash hash = has ? emit.input(2).hash : ContentHash{};
  return emit.Packed(hash, kPaddedBias, {first, count, has}, static_cast<uint64_t>(Blocks(count) * 4),
                     [&](float* to) {
                       for (int64_t i = 0; has && i < count; ++i) to[i] = Floats(emit.in(2))[first + i];
                     });
}

Result<Operand> PackedDepthwise(Emitter& emit) {
  const Shape& shape = emit.in(1).shape;
  const int64_t channels = shape[0];
  const int64_t taps = shape[1] * shape[2];
  return emit.Packed(emit.input(1).hash, kDepthwiseWeights, {channels, taps},
                     static_cast<uint64_t>(taps * channels), [&](float* to) {
                       const Floats from(emit.in(1));
                       for (int64_t t = 0; t < taps; ++t) {
                         for (int64_t c = 0; c < channels; ++c) to[t * channels + c] = from[c * taps + t];
                       }
                     });
}

/// Input 1 as a matrix of [depth, columns], or of [columns, depth] where `transposed`.
struct WeightsMatrix {
  int64_t depth;
  int64_t columns;
  bool transposed;
};

/// OHWI: a column is an output channel.
WeightsMatrix AsMatrix(const Shape& weights) { return {weights.ElementsBetween(1, 4), weights[0], true}; }

/// Some columns as [depth][column, padded to 4].
Result<Operand> PackedColumns(Emitter& emit, const WeightsMatrix& matrix, int64_t first, int64_t count) {
  const auto [depth, columns, transposed] = matrix;
  const int64_t padded = Blocks(count) * 4;
  const auto fill = [&, depth = depth, columns = columns, transposed = transposed](float* to) {
    const Floats from(emit.in(1));
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t n = first; n < first + count; ++n)
        to[k * padded + n - first] = from[transposed ? n * depth + k : k * columns + n];
    }
  };
  return emit.Packed(emit.input(1).hash, kMatrixWeights, {depth, columns, transposed, first, count},
                     static_cast<uint64_t>(depth * padded), fill);
}

/// The constants of the shader conv. The tile of 1 serves calls with a single output pixel.
Status EmitBlocked(Emitter& emit, const WeightsMatrix& matrix, ConvolutionPush push, bool transposed) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const bool point = !transposed && IsPoint(push);
  if (point && push.group_outputs == push.out_channels) {
    const Status stored = EmitStoredProduct(emit, push, !matrix.transposed);
    if (stored.code() != StatusCode::kUnsupported) return stored;
  }
  const bool in4 = push.depth % 4 == 0;
  const bool out4 = push.out_channels % 4 == 0;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(RoundsOf(push, RoundsOfTap(push, in4 ? 4 : 1))));
  const uint32_t by_rule = push.pixels == 1 ? 1 : kMostTile;
  const uint32_t tile = emit.TileOf(Shader::kConv, {by_rule, point, in4, out4, transposed});
  for (const uint32_t any : {1u, kMostTile})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kConv, {any, point, in4, out4, transposed}));
  // Weights that a shader cannot see at once are worked through in parts.
  const int64_t most = emit.MostElements(DType::kF32) / matrix.depth / 4 * 4;
  if (most == 0) return Refuse();
  push.out_step = U32(matrix.columns);
  for (int64_t first = 0; first < matrix.columns; first += most) {
    const int64_t count = std::min(most, matrix.columns - first);
    push.out_first = U32(first);
    push.out_channels = U32(count);
    SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedColumns(emit, matrix, first, count));
    SKIFF_ASSIGN_OR_RETURN(const Operand bias, PaddedBias(emit, first, count));
    const uint64_t invocations =
        uint64_t{(push.pixels + tile - 1) / tile} * static_cast<uint64_t>(Blocks(count));
    SKIFF_RETURN_IF_ERROR(emit.Dispatch(Shader::kConv, {by_rule, point, in4, out4, transposed},
                                        {x, weights, bias, y}, push, invocations));
  }
  return OkStatus();
}

Status EmitDepthwise(Emitter& emit, const ConvolutionPush& push) {
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(RoundsOf(push, 1)));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedDepthwise(emit));
  SKIFF_ASSIGN_OR_RETURN(const Operand bias, PaddedBias(emit, 0, push.out_channels));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return emit.Dispatch(Shader::kDepthwise, {}, {x, weights, bias, y}, push,
                       uint64_t{push.pixels} * (push.out_channels / 4));
}

Status EmitGrouped(Emitter& emit, const ConvolutionPush& push, bool transposed) {
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(RoundsOf(push, RoundsOfTap(push, 1))));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand bias, PaddedBias(emit, 0, push.out_channels));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return emit.Dispatch(Shader::kGroupedConv, {transposed}, {x, weights, bias, y}, push,
                       uint64_t{push.pixels} * push.out_channels);
}

template <class Attrs>
Status LowerConvolution(Emitter& emit, bool transposed) {
  SKIFF_ASSIGN_OR_RETURN(const ConvolutionPush push, DescribeConvolution<Attrs>(emit));
  const bool depthwise = push.depth == 1 && push.group_outputs == 1;
  if (depthwise && !transposed && push.out_channels % 4 == 0) return EmitDepthwise(emit, push);
  // Four neighbouring output channels must read the same input channels.
  const bool one_group = push.group_outputs == push.out_channels;
  const bool aligned_groups = push.group_outputs % 4 == 0 && push.depth % 4 == 0;
  if (!one_group && !aligned_groups) return EmitGrouped(emit, push, transposed);
  return EmitBlocked(emit, AsMatrix(emit.in(1).shape), push, transposed);
}

struct MatMulPush {
  uint32_t matrices = 1;
  uint32_t rows = 1;
  uint32_t columns = 1;
  uint32_t depth = 0;
  uint32_t has_bias = 0;
  float low = -kInfinity;
  float high = kInfinity;
  uint32_t rank = 0;
  uint32_t extents[6] = {};
  int32_t a_strides[6] = {};
  int32_t b_strides[6] = {};
};

Status EmitMatMul(Emitter& emit, const MatMulPush& push, bool transpose_b) {
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(push.depth));
  SKIFF_ASSIGN_OR_RETURN(const Operand a, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand b, emit.In(1));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  Operand bias = a;  // Something to bind; not read.
  if (push.has_bias != 0) {
    SKIFF_ASSIGN_OR_RETURN(bias, emit.In(2));
  }
  return emit.Dispatch(Shader::kMatMul, {transpose_b}, {a, b, bias, y}, push,
                       uint64_t{push.matrices} * ((push.rows + 3) / 4) * ((push.columns + 3) / 4));
}

}  // namespace

Status LowerConv2d(Emitter& emit) { return LowerConvolution<Conv2dAttrs>(emit, false); }
Status LowerConvTranspose2d(Emitter& emit) { return LowerConvolution<ConvTranspose2dAttrs>(emit, true); }

Status LowerFullyConnected(Emitter& emit) {
  const auto& attrs = emit.As<ClampAttrs>();
  const int64_t depth = emit.in(0).shape.last();
  const int64_t columns = emit.in(1).shape[0];
  if (depth == 0) return Refuse();
  const int64_t rows = emit.in(0).shape.elements() / depth;
  if (emit.input(1).constant && (!emit.Has(2) || emit.input(2).constant)) {
    return EmitBlocked(emit, {depth, columns, true},
                       DescribeProduct(rows, depth, columns, attrs.min, attrs.max), false);
  }
  MatMulPush push;
  push.rows = U32(rows);
  push.columns = U32(columns);
  push.depth = U32(depth);
  push.has_bias = emit.Has(2);
  push.low = attrs.min;
  push.high = attrs.max;
  return EmitMatMul(emit, push, true);
}

Status LowerMatMul(Emitter& emit) {
  const auto& attrs = emit.As<MatMulAttrs>();
  const Shape& a = emit.in(0).shape;
  const Shape& b = emit.in(1).shape;
  const int64_t depth = a.last();
  const int64_t columns = b.rank() < 2 ? 1 : b[b.rank() - (attrs.transpose_b ? 2 : 1)];
  if (emit.input(1).constant && b.rank() == 2) {
    return EmitBlocked(emit, {depth, columns, attrs.transpose_b},
                       DescribeProduct(a.elements() / depth, depth, columns, attrs.min, attrs.max), false);
  }
  MatMulPush push;
  push.rows = U32(a.rank() < 2 ? 1 : a[a.rank() - 2]);
  push.columns = U32(columns);
  push.depth = U32(depth);
  push.low = attrs.min;
  push.high = attrs.max;
  const auto batch_of = [](const Shape& shape) {
    return Shape(shape.begin(), std::max(shape.rank() - 2, 0));
  };
  const Shape a_batch = batch_of(a);
  const Shape b_batch = batch_of(b);
  const Shape batch(emit.out(0).shape.begin(), std::max(a_batch.rank(), b_batch.rank()));
  const eager::AxisStrides a_strides = eager::BroadcastStrides(a_batch, batch);
  const eager::AxisStrides b_strides = eager::BroadcastStrides(b_batch, batch);
  Axes<2, 6> axes;
  for (int axis = 0; axis < batch.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const std::array<int64_t, 2> step = {a_strides[i] * int64_t{push.rows} * depth,
                                         b_strides[i] * depth * columns};
    if (!axes.Append(batch[axis], step)) return Refuse();
  }
  push.matrices = U32(batch.elements());
  push.rank = axes.rank;
  std::memcpy(push.extents, axes.extents, sizeof(push.extents));
  std::memcpy(push.a_strides, axes.strides[0], sizeof(push.a_strides));
  std::memcpy(push.b_strides, axes.strides[1], sizeof(push.b_strides));
  return EmitMatMul(emit, push, attrs.transpose_b && b.rank() > 1);
}

}  // namespace skiff::vulkan
