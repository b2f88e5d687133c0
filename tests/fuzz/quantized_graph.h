/// What the tests of damaged files damage: quantised per tensor, per channel, in blocks, and packed.
#pragma once

#include "convert.h"

namespace skiff::testing {

/// Keeps the tensors as the graph names them; the passes would give operators the weights they want.
inline ConvertOptions AsWritten() {
  ConvertOptions options;
  options.pipeline.disabled = {"simplify-qdq", "shape-quantized-weights", "fold-qdq", "signed-codes"};
  return options;
}

inline constexpr const char* kQuantizedGraph = R"(graph quantized {
  input image: u8[1, 6, 6, 3] {scale=0.0078125, zero_point=128}
  const stem_weights: i8[4, 3, 3, 3] {scale=[0.01, 0.02, 0.005, 0.013], axis=0} = seed 31
  const stem_bias: i32[4] {scale=[0.000078125, 0.00015625, 0.0000390625, 0.0001015625], axis=0} = [10, -20, 3000, 4]
  const class_weights: i4[5, 4] {scale=[0.1, 0.2, 0.05, 0.07, 0.3], zero_point=[0, 1, 0, -1, 0], axis=0} = seed 32
  const mix_weights: u8[4, 5] {scale=[0.5, 0.25, 0.5, 1, 2, 0.125, 0.5, 0.25, 1, 1], zero_point=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], axis=0, block=2} = seed 33
  const flat: i64[2] = [1, 4]
  stem: u8[1, 6, 6, 4] {scale=0.011, zero_point=120} = Conv2d(image, stem_weights, stem_bias) {pads=[1, 1, 1, 1]}
  joined = Concat(stem, stem) {axis=3}
  left, right = Split(joined, _) {axis=3, parts=2}
  sum: u8[1, 6, 6, 4] {scale=0.02, zero_point=100} = Add(left, right)
  mean: u8[1, 1, 1, 4] {scale=0.011, zero_point=120} = AveragePool2d(sum) {kernel=[6, 6]}
  row = Reshape(mean, flat)
  scores: i8[1, 5] {scale=0.05, zero_point=-3} = FullyConnected(row, class_weights, _)
  narrow: i8[1, 5] {scale=0.1} = Requantize(scores)
  likely: u8[1, 5] {scale=0.00390625} = Softmax(narrow)
  mixed = MatMul(row, mix_weights)
  output likely
  output mixed
})";

/// With constants that the file stores narrower than they are: halves, integers with one scale, with one for
/// each row, and of four bits in blocks.
inline constexpr const char* kNarrowGraph = R"(graph narrow {
  input x: f32[2, 8]
  const half_weights: f16[128, 8] = seed 41
  const row_codes: i8[4, 320] {scale=[0.01, 0.02, 0.005, 0.013], axis=0} = seed 42
  const block_codes: i4[128, 10] {scale=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.05], axis=0, block=64} = seed 43
  const tensor_codes: u8[4, 320] {scale=0.02, zero_point=100} = seed 44
  halves = Cast(half_weights) {to=f32}
  rows = Dequantize(row_codes)
  blocks = Dequantize(block_codes)
  ones = Dequantize(tensor_codes)
  wide = FullyConnected(x, halves, _)
  mixed = MatMul(wide, blocks)
  sum = Add(rows, ones)
  turned = Neg(rows)
  all = Add(sum, turned)
  output mixed
  output all
})";

}  // namespace skiff::testing
