// Products of floats with constants that the file has as codes of 4 bits: they stay codes in device memory.
#include "core/wide_constant.h"
#include "delegates/vulkan/lower/quantized/products.h"

namespace skiff::vulkan {
namespace {

/// As shaders/stored_weights.comp says.
struct StoredPush {
  uint32_t rows, depth, columns, run;
  float low, high;
};

/// How many depths share a scale; 0: it is no matrix for the shader.
int64_t RunOf(const TensorView& stored, const CodeMatrix& matrix) {
  const bool is_code = stored.dtype == DType::kI4 || stored.dtype == DType::kU4;
  if (!is_code || stored.quantization == nullptr || matrix.depth == 0) return 0;
  const Quantization& quantization = *stored.quantization;
  const int depth_axis = stored.shape.rank() - (matrix.channels_last ? 2 : 1);
  if (quantization.per_tensor()) return matrix.depth;
  // Blocks along another axis have scales of their own at each depth.
  if (quantization.axis != depth_axis) return quantization.block == 0 ? matrix.depth : 0;
  if (quantization.block >= matrix.depth) return matrix.depth;
  return quantization.block % 2 == 0 ? quantization.block : 0;
}

uint32_t CodeAt(const TensorView& stored, int64_t i) {
  return static_cast<uint32_t>(stored.as<const uint8_t>()[i / 2] >> (i % 2 * 4)) & 15u;
}

bool HasZeroPoints(const Quantization& quantization) {
  for (int64_t i = 0; i < quantization.count; ++i) {
    if (quantization.ZeroPointAt(i) != 0) return true;
  }
  return false;
}

Result<Operand> PackedCodes(Emitter& emit, const TensorView& stored, const CodeMatrix& matrix) {
  const int64_t blocks = Fours(matrix.channels);
  const auto fill = [&](uint32_t* to) {
    for (int64_t k = 0; k < matrix.depth; k += 2) {
      for (int64_t block = 0; block < blocks; ++block) {
        uint32_t word = 0;
        for (int64_t lane = 0; lane < 8; ++lane) {
          const int64_t channel = block * 4 + lane % 4;
          const int64_t depth = k + lane / 4;
          if (channel < matrix.channels && depth < matrix.depth)
            word |= CodeAt(stored, matrix.Index(channel, 0, depth)) << (4 * lane);
        }
        *to++ = word;
      }
    }
  };
  return emit.PackedWords(emit.input(1).hash, kStoredWeights,
                          {matrix.channels, matrix.depth, matrix.channels_last},
                          static_cast<uint64_t>((matrix.depth + 1) / 2 * blocks), fill);
}

Result<Operand> Parameters(Emitter& emit, const TensorView& stored, const CodeMatrix& matrix, int64_t run) {
  const Quantization& quantization = *stored.quantization;
  const ScaleIndex scale_of(quantization, stored.shape);
  const int64_t columns = Fours(matrix.channels) * 4;
  const int64_t runs = (matrix.depth + run - 1) / run;
  const auto fill = [&](uint32_t* to) {
    for (int64_t column = 0; column < columns; ++column) {
      const bool has = emit.Has(2) && column < matrix.channels;
      const float bias = has ? Floats(emit.in(2))[column] : 0.0f;
      std::memcpy(to + column, &bias, sizeof(bias));
    }
    uint32_t* const zeros = to + (1 + runs) * columns;
    std::memset(zeros, 0, static_cast<size_t>(runs * columns));
    for (int64_t i = 0; i < runs * columns; ++i) {
      const int64_t column = i % columns;
      const int64_t at = column < matrix.channels ? scale_of(matrix.Index(column, 0, i / columns * run)) : 0;
      const float scale = quantization.ScaleAt(at);
      std::memcpy(to + columns + i, &scale, sizeof(scale));
      zeros[i / 4] |= (static_cast<uint32_t>(quantization.ZeroPointAt(at)) & 255u) << (8 * (i % 4));
    }
  };
  return emit.PackedWords(HashOfInputs(emit, {1, 2}), kStoredParameters,
                          {matrix.channels, matrix.depth, run, matrix.channels_last},
                          static_cast<uint64_t>((1 + runs) * columns + runs * columns / 4), fill);
}

}  // namespace

Status EmitStoredProduct(Emitter& emit, const ConvolutionPush& of, bool channels_last) {
  if (emit.input(1).wide == nullptr || !emit.IsUsable(Shader::kStoredWeights)) return Refuse();
  const TensorView& stored = emit.input(1).wide->stored();
  const CodeMatrix matrix{of.out_channels, 1, of.depth, channels_last};
  const int64_t run = RunOf(stored, matrix);
  if (run == 0) return Refuse();
  const bool fours = matrix.depth % 4 == 0 && run % 4 == 0;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(matrix.depth / (fours ? 4 : 2) + 2 * matrix.depth / run));
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedCodes(emit, stored, matrix));
  SKIFF_ASSIGN_OR_RETURN(const Operand parameters, Parameters(emit, stored, matrix, run));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const StoredPush push{of.pixels, of.depth, of.out_channels, U32(run), of.low, of.high};
  const bool is_signed = stored.dtype == DType::kI4;
  const bool zeros = HasZeroPoints(*stored.quantization);
  const uint32_t by_rule = push.rows == 1 ? 1 : kMostTile;
  for (const uint32_t any : {1u, kMostTile})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kStoredWeights, {any, is_signed, zeros, fours}));
  const uint32_t tile = emit.TileOf(Shader::kStoredWeights, {by_rule, is_signed, zeros, fours});
  return emit.Dispatch(
      Shader::kStoredWeights, {by_rule, is_signed, zeros, fours}, {x, weights, parameters, y}, push,
      uint64_t{(push.rows + tile - 1) / tile} * static_cast<uint64_t>(Fours(matrix.channels)));
}

}  // namespace skiff::vulkan
