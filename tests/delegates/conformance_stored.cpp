// Products of floats with constants that the file has as codes of 4 bits, or of 8.
#include "conformance_cases.h"
#include "conformance_codes.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

Argument StoredWeights(DType stored, const Shape& shape, const Quantization* quantization) {
  Argument weights;
  weights.shape = shape;
  weights.constant = true;
  weights.stored = stored;
  weights.stored_quantization = quantization;
  const bool is_signed = stored == DType::kI4 || stored == DType::kI8;
  const double codes = DTypeBits(stored) == 8 ? 256 : 16;
  weights.low = is_signed ? -codes / 2 - 0.9 : 0;
  weights.high = (is_signed ? codes / 2 : codes) - 0.1;
  return weights;
}

void AddFullyConnected(CaseList& list) {
  struct Layer {
    const char* name;
    DType stored;
    int64_t rows, depth, columns;
    int64_t block;  ///< 0: a scale for each column.
    bool zeros;
  };
  const Layer kLayers[] = {
      {"i4_blocks", DType::kI4, 5, 96, 31, 32, false},
      {"u4_part_of_a_block", DType::kU4, 1, 40, 12, 16, true},
      {"i4_channels_odd", DType::kI4, 3, 13, 10, 0, false},
      {"i4_blocks_of_6", DType::kI4, 9, 20, 8, 6, true},
      {"i4_one_block", DType::kI4, 2, 15, 4, 16, false},
      {"i4_odd_blocks", DType::kI4, 2, 15, 4, 5, false},
      {"u4_channels", DType::kU4, 8, 24, 16, 0, true},
      {"i4_block_beyond_the_depth", DType::kI4, 3, 24, 20, 32, false},
      {"i4_row", DType::kI4, 1, 64, 131, 32, false},
      {"u4_row", DType::kU4, 1, 96, 131, 32, true},
      {"i4_channels_row", DType::kI4, 1, 264, 64, 0, false},
      // Of many rows all share what becomes floats: of several depths, of an odd number of vectors.
      {"i4_many_rows", DType::kI4, 13, 544, 131, 32, false},
      {"u4_many_rows", DType::kU4, 30, 320, 72, 64, true},
      {"i4_channels_many_rows", DType::kI4, 14, 264, 37, 0, true},
      {"i4_blocks_of_rows", DType::kI4, 200, 64, 40, 32, false},
      {"u8_row", DType::kU8, 1, 300, 70, 0, true},
      {"i8_blocks_row", DType::kI8, 1, 96, 131, 32, false},
      {"i8_many_rows", DType::kI8, 20, 516, 37, 0, true},
      {"u8_blocks_many_rows", DType::kU8, 12, 300, 72, 16, true},
      {"u8_blocks_of_6", DType::kU8, 2, 24, 8, 6, true},
  };
  for (const Layer& s : kLayers) {
    const Shape weights{s.columns, s.depth};
    const Quantization* const quantization = s.block == 0
                                                 ? QuantizedInBlocks(weights, 0, 0, 0.02f, s.zeros)
                                                 : QuantizedInBlocks(weights, 1, s.block, 0.02f, s.zeros);
    Case& made = list.Add(
        OpCode::kFullyConnected, (std::string("stored_") + s.name).c_str(),
        {F32({s.rows, s.depth}), StoredWeights(s.stored, weights, quantization), Weights({s.columns})});
    if (s.zeros) made.As<ClampAttrs>() = {-0.5f, 1.0f};
  }
  for (int64_t rows = 2; rows <= 12; ++rows) {
    const bool zeros = rows % 2 == 0;
    const DType stored =
        rows % 3 == 0 ? (zeros ? DType::kU8 : DType::kI8) : (zeros ? DType::kU4 : DType::kI4);
    const Shape weights{45, 72};
    Case& made = list.Add(
        OpCode::kFullyConnected, ("stored_rows_" + std::to_string(rows)).c_str(),
        {F32({rows, 72}), StoredWeights(stored, weights, QuantizedInBlocks(weights, 1, 24, 0.03f, zeros))});
    made.inputs[0].row_gap = 5;
    made.output_row_gap = 3;
  }
  // No zero points are zero points of 0.
  list.Add(OpCode::kFullyConnected, "stored_u4_without_zeros",
           {F32({4, 32}),
            StoredWeights(DType::kU4, Shape{20, 32}, QuantizedInBlocks(Shape{20, 32}, 1, 16, 0.03f, false))});
  list.Add(OpCode::kFullyConnected, "stored_u4_infinities",
           {WithSpecials(F32({8, 32})),
            StoredWeights(DType::kU4, Shape{20, 32}, QuantizedInBlocks(Shape{20, 32}, 1, 16, 0.03f, true))});
  list.Add(OpCode::kFullyConnected, "stored_u4_one_scale",
           {F32({4, 32}), StoredWeights(DType::kU4, Shape{20, 32}, Quantized(0.05f, 7))});
}

void AddOthers(CaseList& list) {
  for (const bool transposed : {false, true}) {
    const Shape weights = transposed ? Shape{30, 24} : Shape{24, 30};
    const Argument codes = StoredWeights(
        DType::kI4, weights, QuantizedInBlocks(weights, transposed ? 1 : 0, 8, 0.03f, transposed));
    Case& made = list.Add(OpCode::kMatMul, transposed ? "stored_transposed" : "stored_blocks",
                          {F32({2, 5, 24}), codes});
    made.As<MatMulAttrs>().transpose_b = transposed;
  }
  // Blocks of outputs, with scales of their own at each depth.
  const Shape of_outputs{8, 12};
  list.Add(
      OpCode::kFullyConnected, "stored_blocks_of_outputs",
      {F32({3, 12}), StoredWeights(DType::kI4, of_outputs, QuantizedInBlocks(of_outputs, 0, 4, 0.03f, true)),
       Weights({8})});
  list.Add(OpCode::kMatMul, "stored_u4",
           {F32({3, 10}), StoredWeights(DType::kU4, Shape{10, 7}, Quantized(0.05f, 7))});
  for (const int64_t kernel : {1, 3}) {
    const Shape weights{12, kernel, kernel, 64};
    Case& made = list.Add(
        OpCode::kConv2d, kernel == 1 ? "stored_1x1" : "stored_3x3",
        {F32({1, 5, 6, 64}),
         StoredWeights(DType::kI4, weights, QuantizedInBlocks(weights, 3, 32, 0.03f, false)), Weights({12})});
    made.As<Conv2dAttrs>().max = 1;
  }
}

}  // namespace

void AddStoredCases(CaseList& list) {
  AddFullyConnected(list);
  AddOthers(list);
}

}  // namespace skiff::testing
