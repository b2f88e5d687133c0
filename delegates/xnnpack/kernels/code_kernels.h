/// Kernels of quantised tensors.
#pragma once

#include "delegates/xnnpack/kernels/kernel_ids.h"
#include "delegates/xnnpack/kernels/product_kernels.h"

namespace skiff::xnnpack {

/// How results become codes of 8 bits: the nearest whole number of steps, within the limits.
struct CodeParams {
  double scale = 1;  ///< Of a code, or from sums to steps.
  double low = 0;    ///< In steps from the zero point.
  double high = 0;
  int zero_point = 0;
};
/// The scales are in steps of the output, for operators that need it so (lower/quantized/binary.cpp).
struct CodeBinaryParams {
  float a_scale = 1;
  float b_scale = 1;
  float low = 0;
  float high = 0;
  int a_zero_point = 0;
  int b_zero_point = 0;
  int zero_point = 0;
};
/// NaN becomes the zero point.
using QuantizeFn = void (*)(size_t n, const float* x, void* y, const CodeParams& params);
using DequantizeFn = void (*)(size_t n, const void* x, float* y, double scale, double zero_point);
using NarrowSumsFn = void (*)(size_t n, const int32_t* sums, void* y, const CodeParams& params);
/// CodeParams::scale makes steps of x.
using NarrowRealsFn = void (*)(size_t n, const double* x, void* y, const CodeParams& params);
struct ExtremeCodes {
  int smallest = 0;
  int largest = 0;
};
/// Of at least one.
using ExtremeCodesFn = ExtremeCodes (*)(size_t n, const void* x);
using AddToSumsFn = void (*)(size_t n, const void* x, int32_t* sums);
using SumOfCodesFn = int32_t (*)(size_t n, const void* x);
/// y may be a or b.
using CodeBinaryFn = void (*)(size_t n, const void* a, const void* b, void* y,
                              const CodeBinaryParams& params);

/// The nearest of a row's codes (core/row_codes.h).
struct RowCodeParams {
  float scale = 1;
  float zero_point = 0;
  float low = 0;
  float high = 0;
};
using RoundRowFn = void (*)(size_t n, const float* x, void* y, const RowCodeParams& params);
/// What makes real numbers of sums of such codes times constant ones.
struct RowOfSums {
  int32_t zero_point = 0;  ///< Of the row's codes.
  int32_t codes_sum = 0;   ///< Less that zero point.
  float scale = 1;         ///< NaN: so are all results.
};
struct RowsOfSumsArgs {
  const RowOfSums* rows = nullptr;
  const int32_t* sums = nullptr;  ///< Up to the end of the last vector.
  size_t sums_stride = 0;         ///< Elements from row to row.
  float* y = nullptr;
  size_t y_stride = 0;
  size_t columns = 0;
  // For each column. A sum is less zero_point * weight_sums and codes_sum * zero_points, modulo 2^32; null:
  // those are 0.
  const int32_t* weight_sums = nullptr;
  const int32_t* zero_points = nullptr;
  const float* scales = nullptr;
  const float* bias = nullptr;
  float min = 0;
  float max = 0;
};
using RowsOfSumsFn = void (*)(const RowsOfSumsArgs& args, size_t rows);

/// How kernels that make i8, or u8 of them, end: the nearest step, within limits.
struct CodeOutputArgs {
  float low = 0;  ///< In steps from the zero point.
  float high = 0;
  // Of u8 as i8: 128 less, and the bit in which the two differ then.
  int32_t zero_point = 0;
  uint8_t sign = 0;
};

/// Integers times integers, which become codes. As many inputs as a word of 32 bits holds are multiplied at
/// once.
struct CodeDenseArgs : DenseShape, CodeOutputArgs {
  /// A run that does not fill its last word is followed by what does, of any value.
  const void* x = nullptr;
  void* y = nullptr;
  /// Panels as those of DenseArgs, of words. In a panel, a row of biases, a row of f32 that make steps of
  /// sums, then for each word of a run a row of words: the weights less their zero point, and 0 beside a
  /// run's last one.
  const int32_t* weights = nullptr;
  /// Not 0: each vector of outputs is a group (CodeKernels::group_outputs), whose inputs lie so many elements
  /// behind those of the one before.
  size_t vector_inputs = 0;

  /// Of the weights of an output.
  size_t words(size_t inputs_of_word) const {
    return runs[0] * runs[1] * ((run + inputs_of_word - 1) / inputs_of_word);
  }
};
using CodeDenseFn = void (*)(const CodeDenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                             size_t end_panel);
/// Codes of 8 bits less a zero point.
template <class To>
using WidenCodesFn = void (*)(size_t n, const void* x, int zero_point, To* y);

/// A depthwise convolution of codes: of a picture of them less their zero point.
struct CodeDepthwiseArgs : DepthwiseArgs, CodeOutputArgs {
  /// In place of y. In `weights`, between biases and taps are f32 that make steps of sums.
  void* codes = nullptr;
};
using CodeDepthwiseFn = void (*)(const CodeDepthwiseArgs& args, size_t first_row, size_t end_row);

/// Four lines of a picture, one below the other, as words: to[i] = the bytes i of the lines, from the low one
/// up, with the bits of `sign` turned. A line that is null has `pad` everywhere, with no bit turned.
using StackLinesFn = void (*)(size_t n, const uint8_t* const* lines, uint8_t sign, uint8_t pad, int32_t* to);
constexpr size_t kStackedLines = 4;
/// Words that the lines of a window fill.
constexpr size_t StackedWords(size_t size) { return (size + kStackedLines - 1) / kStackedLines; }
/// Outputs of a tile: StackedLines() high.
constexpr size_t kStackedOutputs = 8;
/// Lines of the output that a depthwise convolution of such words computes at once: two where their windows
/// reach over no more words than one does.
constexpr size_t StackedLines(size_t size, size_t stride) {
  return size + stride <= StackedWords(size) * kStackedLines ? 2 : 1;
}
/// A depthwise convolution of u8, whose zero point is part of the bias, times i8: lines of the output.
struct ByteDepthwiseArgs : CodeOutputArgs {
  /// Windows stacked in words, pixel by pixel, so many of them that the outputs of the last tile exist.
  const int32_t* x = nullptr;
  size_t x_line = 0;  ///< Elements to the words of the next four lines.
  void* y = nullptr;
  size_t y_stride = 0;  ///< Elements from pixel to pixel.
  size_t y_line = 0;    ///< Elements from line to line.
  size_t lines = 0;     ///< At most StackedLines().
  size_t output_width = 0;
  size_t channels = 0;
  /// For each vector of channels, of which there are Kernels::depthwise_channels: biases, f32 that make steps
  /// of sums, then for each column of the window, each of StackedLines() and each word, the four weights.
  /// The last vector overlaps the one before where channels are left over.
  const int32_t* weights = nullptr;
};
using ByteDepthwiseFn = void (*)(const ByteDepthwiseArgs& args);

/// A convolution of codes by Winograd's minimal filtering.
struct CodeWinogradArgs : WinogradArgs, CodeOutputArgs {
  // In place of x and y.
  const uint8_t* codes = nullptr;
  uint8_t* made = nullptr;
  // Of u8. Of i8, 128 more, and the bit in which the two differ then.
  int16_t x_zero_point = 0;
  uint8_t x_sign = 0;
  const int32_t* biases = nullptr;
  const float* factors = nullptr;  ///< Make steps of sums.
};
/// One size of tiles: what is around the sums of its points, which are those of the definition times
/// `times`, or a part of that, modulo 2^32.
struct CodeWinogradKernels {
  size_t tile = 0;  ///< Outputs along an edge.
  int32_t times = 0;
  /// For each point along a dimension what three weights are multiplied by, whole numbers.
  const int8_t (*weights)[3] = nullptr;
  /// As WinogradKernels' are; to i16, from i32.
  void (*input)(const CodeWinogradArgs& args, size_t first_tile, size_t end_tile, int16_t* to) = nullptr;
  void (*output)(const CodeWinogradArgs& args, size_t first_tile, size_t end_tile,
                 const int32_t* from) = nullptr;
};

/// Rows of f32 times constants of four or eight bits.
template <size_t kBits>
constexpr size_t kFewBitsOfWord = 32 / kBits;
/// What the codes of a block of inputs stand for, around 0, and their sum.
struct BlockOfCodes {
  int32_t sum = 0;
  float scale = 1;  ///< NaN: so are all results.
};
/// A block is a multiple of the one, so that vectors fill it, and not larger than the other, so that f32
/// holds sums of products with integers from 0 on.
constexpr size_t kLeastBlockOfCodes = 16;
constexpr size_t kMostBlockOfCodes = 512;
static_assert(kMostBlockOfCodes * 255 * 127 < 1 << 24);
/// Of `blocks` blocks of `block` inputs side by side.
using CodesOfBlocksFn = void (*)(size_t blocks, size_t block, const float* x, int8_t* codes,
                                 BlockOfCodes* made);

struct FewBitsArgs {
  const float* x = nullptr;
  size_t x_stride = 0;  ///< Elements from row to row.
  /// In place of x: its codes in dense rows, and of each block what they mean.
  const int8_t* codes = nullptr;
  const BlockOfCodes* blocks_of_codes = nullptr;
  float* y = nullptr;
  size_t y_stride = 0;
  size_t inputs = 0;  ///< As `block`, a multiple of those in a word; the last block may be shorter.
  size_t outputs = 0;
  size_t block = 0;  ///< Inputs that share a scale.
  /// Panels of one vector of outputs. In a panel, for each block a row of f32 scales, where it has_zeros one
  /// of zero points in f32, and for as many inputs as a word has a row of words: of each output integers of
  /// both signs, the first one in the low bits. For codes of x: integers from 0 on, which are more by half of
  /// their range; of four bits those of the first four inputs in the low halves of bytes.
  const int32_t* weights = nullptr;
  size_t panel_words = 0;
  const float* bias = nullptr;  ///< Whole vectors of them.
  bool has_zeros = false;       ///< Else the weights are around 0.
  float min = 0;
  float max = 0;

  size_t blocks() const { return (inputs + block - 1) / block; }
};
constexpr size_t kMostFewBitsPanels = 4;  ///< That kernels take at once.
constexpr size_t kMostFewBitsRows = 96;
/// Floats for two panels, at most of 16 lanes, of inputs and of sums.
constexpr size_t kFewBitsScratch = 2 * 2048 + kMostFewBitsRows * 2 * 16;
/// Products with codes of x: sums of integers in between. On Arm for CPUs with dot products.
struct FewBitsOfCodesKernels {
  void (*product)(const FewBitsArgs& args, size_t rows, size_t first_panel, size_t end_panel) = nullptr;
  CodesOfBlocksFn codes_of_blocks = nullptr;
  size_t at_once = 0;  ///< A block is not larger, or a multiple.
};
struct FewBitsKernels {
  size_t lanes = 0;
  /// In a row of words, the first byte of each is before all second ones; not for codes of x.
  bool bytes_apart = false;
  /// Sums of products with the integers are scaled: x is to leave room for that.
  void (*product)(const FewBitsArgs& args, size_t rows, size_t first_panel, size_t end_panel) = nullptr;
  size_t many_rows = 0;  ///< From so many on floats are made:
  /// The same of at most kMostFewBitsRows rows of any x, which share what becomes floats.
  void (*product_of_many)(const FewBitsArgs& args, size_t rows, size_t first_panel, size_t end_panel,
                          float* scratch) = nullptr;
  const FewBitsOfCodesKernels* of_codes = nullptr;  ///< Null where these take more time.
};

/// Two products of such weights with u8 are within 16 bits: an instruction adds them there, on CPUs that have
/// none for four products in 32.
constexpr int kMostNarrowWeight = 64;
static_assert(2 * 255 * kMostNarrowWeight < 1 << 15);

/// Of i8, then of u8. Null in builds without quantised tensors, or without their operators.
constexpr size_t kCodeTypes = 2;
constexpr size_t kIntegerTypes = 5;  ///< i8, u8, i16, u16, i32.
struct CodeKernels {
  QuantizeFn quantize[kIntegerTypes] = {};  ///< But i32.
  DequantizeFn dequantize[kIntegerTypes] = {};
  NarrowSumsFn narrow_sums[kCodeTypes] = {};
  NarrowRealsFn narrow_reals[kCodeTypes] = {};
  ExtremeCodesFn extremes[kCodeTypes] = {};
  AddToSumsFn add_to_sums[kCodeTypes] = {};
  SumOfCodesFn sum[kCodeTypes] = {};
  CodeBinaryFn binary[static_cast<size_t>(BinaryKernel::kCount)][kCodeTypes] = {};
  WidenCodesFn<int16_t> widen[kCodeTypes] = {};
  WidenCodesFn<uint8_t> to_bytes[kCodeTypes] = {};
  const FewBitsKernels* few_bits = nullptr;  ///< Of four bits, and of eight. Null where there are none.
  /// `dense` without what makes codes: to i32, all columns of its panels. Null where other ways take less
  /// time. halves_apart: a row of words of weights lies in memory as all their low halves, then all high
  /// ones; and rows of x are of one run.
  CodeDenseFn sums = nullptr;
  bool halves_apart = false;
  /// From small to large tiles. Used where `sums` are.
  CodeWinogradKernels winograd[kWinogradSizes] = {};
  size_t winograd_channels = 0;  ///< The fewest that they take; 0 where there are none.
  CodeDenseFn dense = nullptr;   ///< Of i16, less their zero point.
  /// The same of dense_of_bytes, where that makes such sums.
  CodeDenseFn sums_of_bytes = nullptr;
  RowsOfSumsFn rows_of_sums = nullptr;
  size_t group_outputs = 0;  ///< Of groups that `dense` takes several at a time.
  /// Of u8, whose zero point is part of the bias, times i8. Null where no instruction adds four such
  /// products.
  CodeDenseFn dense_of_bytes = nullptr;
  /// The same, of weights within kMostNarrowWeight. Null where dense_of_bytes is not.
  CodeDenseFn dense_of_narrow_bytes = nullptr;
  WidenCodesFn<float> to_reals[kCodeTypes] = {};
  CodeDepthwiseFn depthwise[3][2] = {};
  CodeDepthwiseFn depthwise_of_any = nullptr;
  // Null as dense_of_bytes.
  StackLinesFn stack_lines = nullptr;
  ByteDepthwiseFn depthwise_of_bytes[3][2] = {};
};

}  // namespace skiff::xnnpack
