/// Kernels of our own for what XNNPACK has no operator for, or an inexact one. They compute in f32 (masks and
/// indices aside), work on contiguous runs, and exist once for each instruction set that is worth it; the set
/// is chosen once, by what the CPU has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::xnnpack {

/// The parameters of all elementwise kernels; each reads those it has.
struct KernelParams {
  float min = 0;
  float max = 0;
  float alpha = 0;
  float beta = 0;
};

// Numbers of the kernels in the tables below.
enum class UnaryKernel {
#define UNARY(Kernel, Operator, f32, f16) k##Kernel,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// All clamp their result to [min, max]; NaN passes through.
enum class BinaryKernel {
#define BINARY(Operator) k##Operator,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

enum class Relation {
#define COMPARE(Relation) k##Relation,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};
enum class CompareType {
#define COMPARED(Name, Type) k##Name,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// Of bytes that are 0 or 1.
enum class LogicKernel {
#define LOGIC(Operator) k##Operator,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// From f32 it truncates toward zero, saturates, and takes NaN to 0. kNot: of bool.
enum class ConvertKernel {
#define CONVERT(Kernel, ...) k##Kernel,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// What arithmetic beside that of f32 computes with (numbers.cpp).
enum class NumberType {
#define NUMBER(Name, Type) k##Name,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};
/// Whole numbers wrap around; x / 0 and x % 0 are 0 there.
enum class Arithmetic {
#define ARITHMETIC(Kernel, Operator, f32) k##Kernel,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};
enum class NumberFunction {
#define FUNCTION(Operator, integers) k##Operator,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// A NaN among the elements is the result.
enum class ReduceKernel {
#define REDUCE(Kernel, Function, Operator) k##Kernel,
#include "delegates/xnnpack/kernels/kernels.def"
  kCount
};

/// y may be x.
using UnaryFn = void (*)(size_t n, const float* x, float* y, const KernelParams& params);
/// y may be a or b.
using BinaryFn = void (*)(size_t n, const float* a, const float* b, float* y, const KernelParams& params);
/// y is 0 or 1.
using CompareFn = void (*)(size_t n, const void* a, const void* b, uint8_t* y);
using LogicFn = void (*)(size_t n, const uint8_t* a, const uint8_t* b, uint8_t* y);
/// y = condition ? a : b, of elements of one size.
using ChooseFn = void (*)(size_t n, const uint8_t* condition, const void* a, const void* b, void* y);
using ConvertFn = void (*)(size_t n, const void* x, void* y);
/// y may be a or b.
using ArithmeticFn = void (*)(size_t n, const void* a, const void* b, void* y);
/// Of Clamp.
struct NumberLimits {
  int64_t low = 0;
  int64_t high = 0;
  double real_low = 0;
  double real_high = 0;
};
/// y may be x.
using NumberFn = void (*)(size_t n, const void* x, void* y, const NumberLimits& limits);
/// y[i] = where x[i], x[stride + i], ... has its extremum, of `extent` rows of n; the first or the last place
/// of several, and that of a NaN where there is one. `best` has room for n.
using ArgColumnsFn = void (*)(size_t extent, size_t stride, size_t n, const float* x, float* best,
                              int64_t* y);
/// The reduction of n elements, at least one.
using ReduceRowFn = float (*)(size_t n, const float* x);
/// y[i] = the reduction of x[i], x[stride + i], ... over `count` rows, at least one.
using ReduceRowsFn = void (*)(size_t count, size_t stride, size_t n, const float* x, float* y);
/// One row: x - log(sum of e^x). y may be x.
using LogSoftmaxFn = void (*)(size_t n, const float* x, float* y);
/// One row: y = (x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias may be null. y may be x.
/// All are f32, or all are f16.
using LayerNormFn = void (*)(size_t n, const void* x, const void* scale, const void* bias, float epsilon,
                             void* y);

/// One picture, NHWC, and the outputs of a convolution over it.
struct PictureArgs {
  const float* x = nullptr;
  float* y = nullptr;
  size_t channels = 0;
  size_t height = 0;
  size_t width = 0;
  size_t output_height = 0;
  size_t output_width = 0;
  size_t x_stride = 0;  ///< Elements from pixel to pixel.
  size_t y_stride = 0;
  long top = 0;  ///< Pads.
  long left = 0;
  float min = 0;
  float max = 0;
};

/// A depthwise convolution, or one of small groups: what does not change from row to row of the output.
struct DepthwiseArgs : PictureArgs {
  /// For each vector of channels, of which there are Kernels::depthwise_channels: biases, then the taps
  /// column by column. The last vector overlaps the one before where channels are left over.
  /// Of groups, as many times the taps: at turn t, channel c of a group has those for input c ^ t.
  const float* weights = nullptr;
  size_t group = 1;  ///< Channels of a group: a power of two, less than Kernels::depthwise_channels.
};
/// The rows [first_row, end_row) of the output.
using DepthwiseFn = void (*)(const DepthwiseArgs& args, size_t first_row, size_t end_row);

/// Rows of inputs times weights: where the rows lie, and the outputs.
struct DenseShape {
  /// A row of x is `run` inputs side by side, and more such runs where it is the window of a convolution:
  /// runs[0] times runs[1] of them, run_strides apart.
  size_t run = 0;
  size_t runs[2] = {1, 1};
  size_t run_strides[2] = {};
  size_t outputs = 0;
  size_t x_stride =
      0;  ///< Elements from row to row, of line_rows rows; the next ones begin line_stride further on.
  size_t line_rows = static_cast<size_t>(-1);
  size_t line_stride = 0;
  size_t y_stride = 0;

  size_t inputs() const { return runs[0] * runs[1] * run; }
};

/// Plus a bias: what does not change from panel to panel.
struct DenseArgs : DenseShape {
  const float* x = nullptr;
  float* y = nullptr;
  /// Panels of Kernels::dense_outputs outputs; half a panel that would be left over is part of the last one.
  /// In a panel, a row of biases, then a row for each input. Rows are as wide as whole halves; outputs that
  /// do not exist are 0.
  const float* weights = nullptr;
  float min = 0;
  float max = 0;
};
/// The panels [first_panel, end_panel) of the rows [first_row, end_row). Some rows meet all these panels
/// before the next ones do.
using DenseFn = void (*)(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                         size_t end_panel);

/// A convolution of 3 x 3 with stride 1 by Winograd's minimal filtering: what does not change from tile to
/// tile. Tiles of outputs are counted along lines, and reach over the picture's ends.
struct WinogradArgs : PictureArgs {
  const float* bias = nullptr;  ///< May be null.
  size_t outputs = 0;
  size_t line_tiles = 0;
  size_t point_inputs = 0;   ///< Elements from point to point of the transformed windows...
  size_t point_outputs = 0;  ///< ...and of the products.
};
/// One size of tiles: what is around the dense products of its points.
struct WinogradKernels {
  size_t tile = 0;    ///< Outputs along an edge.
  size_t points = 0;  ///< Products.
  /// To [point][tile][channel] and from [point][tile][output], tiles [first_tile, end_tile).
  void (*input)(const WinogradArgs& args, size_t first_tile, size_t end_tile, float* to) = nullptr;
  void (*output)(const WinogradArgs& args, size_t first_tile, size_t end_tile, const float* from) = nullptr;
  /// Weights [outputs, 3, 3, channels] to those of a dense product for each point, with biases of zero.
  void (*weights)(const float* weights, size_t outputs, size_t channels, float* to) = nullptr;
};
constexpr size_t kWinogradSizes = 2;

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

/// Integers times integers, which become codes. As many inputs as a word of 32 bits holds are multiplied at
/// once.
struct CodeDenseArgs : DenseShape {
  /// A run that does not fill its last word is followed by what does, of any value.
  const void* x = nullptr;
  void* y = nullptr;
  /// Panels as those of DenseArgs, of words. In a panel, a row of biases, a row of f32 that make steps of
  /// sums, then for each word of a run a row of words: the weights less their zero point, and 0 beside a
  /// run's last one.
  const int32_t* weights = nullptr;
  float low = 0;  ///< In steps from the zero point.
  float high = 0;
  // Of u8 as i8: 128 less, and the bit in which the two differ then.
  int32_t zero_point = 0;
  uint8_t sign = 0;

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
struct CodeDepthwiseArgs : DepthwiseArgs {
  // In place of y, min and max. In `weights`, between biases and taps are f32 that make steps of sums.
  void* codes = nullptr;
  float low = 0;  ///< In steps from the zero point.
  float high = 0;
  // Of u8 as i8: 128 less, and the bit in which the two differ then.
  int32_t zero_point = 0;
  uint8_t sign = 0;
};
using CodeDepthwiseFn = void (*)(const CodeDepthwiseArgs& args, size_t first_row, size_t end_row);

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
  CodeDenseFn dense = nullptr;  ///< Of i16, less their zero point.
  /// Of u8, whose zero point is part of the bias, times i8. Null where no instruction adds four such
  /// products.
  CodeDenseFn dense_of_bytes = nullptr;
  WidenCodesFn<float> to_reals[kCodeTypes] = {};
  CodeDepthwiseFn depthwise[3][2] = {};
};

/// Where one input is a single value: a run of it is not in memory.
enum class Form { kBothVary, kFirstIsOne, kSecondIsOne, kCount };
constexpr size_t kForms = static_cast<size_t>(Form::kCount);

/// Null: a kernel of operators that this build leaves out.
struct Kernels {
  const char* name = "";
  const Kernels* narrower = nullptr;  ///< Those of shorter vectors that have `dense`, where this CPU has any.
  UnaryFn unary[static_cast<size_t>(UnaryKernel::kCount)] = {};
  BinaryFn binary[static_cast<size_t>(BinaryKernel::kCount)][kForms] = {};
  ReduceRowFn reduce_row[static_cast<size_t>(ReduceKernel::kCount)] = {};
  ReduceRowsFn reduce_rows[static_cast<size_t>(ReduceKernel::kCount)] = {};
  LogSoftmaxFn log_softmax = nullptr;
  LayerNormFn layer_norm = nullptr;
  LayerNormFn layer_norm_half = nullptr;
  ConvertFn widen = nullptr;            ///< f16 to f32.
  ConvertFn narrow = nullptr;           ///< f32 to f16, to the nearest, ties to even.
  RoundRowFn round_to_codes = nullptr;  ///< To i8.
  RoundRowFn round_to_reals = nullptr;  ///< To the f32 that these stand for.
  CodeKernels codes;
  /// 3 x 3, 5 x 5 and 7 x 7, by stride - 1. Null where XNNPACK's kernels are the better ones.
  DepthwiseFn depthwise[3][2] = {};
  DepthwiseFn grouped[2] = {};    ///< 3 x 3, small groups of more than one channel, by stride - 1.
  size_t depthwise_channels = 0;  ///< Of a vector: the fewest that they take.
  DenseFn dense = nullptr;        ///< Null where XNNPACK's kernels are the better ones.
  size_t dense_outputs = 0;       ///< Of a panel.
  /// From small to large tiles. Of at least depthwise_channels channels and outputs; null without Conv2d.
  WinogradKernels winograd[kWinogradSizes] = {};
};

// Of integers and masks, which need no particular instruction set. A table each: a build links those that it
// uses.
using CompareForms = CompareFn[kForms];
/// A row by type of the elements for each relation.
extern const CompareForms* const kCompareKernels[static_cast<size_t>(Relation::kCount)];
extern const LogicFn kLogicKernels[static_cast<size_t>(LogicKernel::kCount)][kForms];
/// By log2 of the element's bytes, then: neither, a, b, both are single values.
extern const ChooseFn kChooseKernels[4][4];
extern const ConvertFn kConvertKernels[static_cast<size_t>(ConvertKernel::kCount)];
using ArithmeticForms = ArithmeticFn[kForms];
/// A row by type of the numbers for each kernel. Null: of operators or types that have none.
extern const ArithmeticForms* const kArithmeticKernels[static_cast<size_t>(Arithmetic::kCount)];
extern const NumberFn kNumberKernels[static_cast<size_t>(NumberFunction::kCount)]
                                    [static_cast<size_t>(NumberType::kCount)];
/// Smallest and largest; the first and the last place.
extern const ArgColumnsFn kArgColumnsKernels[2][2];

/// Copies rows of `bytes`; strides are in bytes too, and may be 0 or negative. The two sides do not overlap.
void CopyRows(size_t rows, size_t bytes, const void* x, int64_t x_stride, void* y, int64_t y_stride);

/// The best set for this CPU. Call after xnn_initialize().
const Kernels& SelectKernels();

// One per translation unit; those of other architectures do not exist.
extern const Kernels kBaselineKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512VnniKernels;

}  // namespace skiff::xnnpack
