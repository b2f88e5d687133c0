// Products of floats with constant codes: the weights stay bytes in device memory.
#include "core/fixed_array.h"
#include "delegates/vulkan/lower/quantized/products.h"

namespace skiff::vulkan {
namespace {

/// As shaders/quantized_weights.comp says.
Result<Operand> PackedColumns(Emitter& emit, const CodeMatrix& matrix) {
  const auto* const codes = emit.in(1).as<const uint8_t>();
  const int64_t blocks = Fours(matrix.channels);
  const auto fill = [&](uint32_t* to) {
    for (int64_t k = 0; k < matrix.depth; ++k) {
      for (int64_t block = 0; block < blocks; ++block) {
        uint32_t word = 0;
        for (int64_t c = 0; c < 4 && block * 4 + c < matrix.channels; ++c)
          word |= uint32_t{codes[matrix.Index(block * 4 + c, 0, k)]} << (8 * c);
        *to++ = word;
      }
    }
  };
  return emit.PackedWords(emit.input(1).hash, kCodeColumns,
                          {matrix.channels, matrix.depth, matrix.channels_last},
                          static_cast<uint64_t>(matrix.depth * blocks), fill);
}

Result<Operand> Parameters(Emitter& emit, const CodeMatrix& matrix) {
  const Quantization& w = *emit.in(1).quantization;
  FixedArray<uint32_t> words;
  SKIFF_RETURN_IF_ERROR(words.Allocate(static_cast<size_t>(Fours(matrix.channels) * 16)));
  for (int64_t c = 0; c < matrix.channels; ++c) {
    const int64_t at = ScaleOf(w, c);
    const float reals[] = {w.ScaleAt(at), emit.Has(2) ? Floats(emit.in(2))[c] : 0.0f};
    std::memcpy(words.data() + c * 4, reals, sizeof(reals));
    words[static_cast<size_t>(c * 4 + 2)] = static_cast<uint32_t>(w.ZeroPointAt(at));
  }
  return emit.Words(kCodeParameters, words);
}

}  // namespace

Status EmitWeightsProduct(Emitter& emit, const CodeMatrix& matrix, float low, float high) {
  const bool fours = matrix.depth % 4 == 0;
  SKIFF_RETURN_IF_ERROR(emit.CheckRounds(matrix.depth / (fours ? 4 : 1)));
  const struct {
    uint32_t rows, depth, columns;
    float low, high;
  } push{U32(emit.in(0).shape.elements() / matrix.depth), U32(matrix.depth), U32(matrix.channels), low, high};
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand weights, PackedColumns(emit, matrix));
  SKIFF_ASSIGN_OR_RETURN(const Operand parameters, Parameters(emit, matrix));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const uint32_t kind = KindOf(emit.in(1));
  const uint32_t by_rule = push.rows == 1 ? 1 : kMostTile;
  for (const uint32_t any : {1u, kMostTile})
    SKIFF_RETURN_IF_ERROR(emit.Needs(Shader::kQuantizedWeights, {any, kind, fours}));
  const uint32_t tile = emit.TileOf(Shader::kQuantizedWeights, {by_rule, kind, fours});
  return emit.Dispatch(
      Shader::kQuantizedWeights, {by_rule, kind, fours}, {x, weights, parameters, y}, push,
      uint64_t{(push.rows + tile - 1) / tile} * static_cast<uint64_t>(Fours(matrix.channels)));
}

}  // namespace skiff::vulkan
