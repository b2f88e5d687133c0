/// Kernels of our own for what XNNPACK has no operator for, or an inexact one. They compute in f32 (masks and
/// indices aside), work on contiguous runs, and exist once for each instruction set that is worth it; the set
/// is chosen once, by what the CPU has.
#pragma once

#include "delegates/xnnpack/kernels/code_kernels.h"

namespace skiff::xnnpack {

/// The parameters of all elementwise kernels; each reads those it has.
struct KernelParams {
  float min = 0;
  float max = 0;
  float alpha = 0;
  float beta = 0;
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
/// y = the sum of `count` runs of n, each times its weight; at most kMostMixed.
using MixFn = void (*)(size_t n, size_t count, const float* const* x, const float* weights, float* y);
constexpr size_t kMostMixed = 4;
/// One row: its softmax, or the logarithm of that, x - log(sum of e^x). y may be x.
using SoftmaxFn = void (*)(size_t n, const float* x, float* y);
/// The same of each of n columns of `extent` rows, `stride` apart; n is at most kSoftmaxColumns.
using SoftmaxColumnsFn = void (*)(size_t extent, size_t stride, size_t n, const float* x, float* y);
constexpr size_t kSoftmaxColumns = 128;
/// One row: y = (x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias may be null. y may be x.
/// All are f32, or all are f16.
using LayerNormFn = void (*)(size_t n, const void* x, const void* scale, const void* bias, float epsilon,
                             void* y);
/// `rows` of n: y = x * scale + bias, an element of each for every column, clamped; NaN passes through.
/// Strides are from row to row. y may be x.
using ScaleRowsFn = void (*)(size_t rows, size_t n, const float* x, size_t x_stride, const float* scale,
                             const float* bias, const KernelParams& limits, float* y, size_t y_stride);

/// Where one input is a single value: a run of it is not in memory.
enum class Form { kBothVary, kFirstIsOne, kSecondIsOne, kCount };
constexpr size_t kForms = static_cast<size_t>(Form::kCount);

/// Bounds of functions, from memory: where the compiler knows them, it compares and chooses by a mask, which
/// takes three instructions in place of one.
struct Bounds {
  float zero, half, one, six;
  float gelu_high;
  float exp_low, exp_high;          ///< Beyond them e^x is 0 and infinity.
  float sigmoid_low, sigmoid_high;  ///< Beyond them 1 + e^-x is infinity and 1.
};
extern const Bounds kBounds;

/// Null: a kernel of operators that this build leaves out.
struct Kernels {
  const char* name = "";
  const Kernels* narrower = nullptr;  ///< Those of shorter vectors that have `dense`, where this CPU has any.
  UnaryFn unary[static_cast<size_t>(UnaryKernel::kCount)] = {};
  BinaryFn binary[static_cast<size_t>(BinaryKernel::kCount)][kForms] = {};
  ReduceRowFn reduce_row[static_cast<size_t>(ReduceKernel::kCount)] = {};
  ReduceRowsFn reduce_rows[static_cast<size_t>(ReduceKernel::kCount)] = {};
  MixFn mix = nullptr;
  SoftmaxFn softmax = nullptr;  ///< Null where XNNPACK's kernel is as fast.
  SoftmaxFn log_softmax = nullptr;
  SoftmaxColumnsFn softmax_columns = nullptr;
  SoftmaxColumnsFn log_softmax_columns = nullptr;
  LayerNormFn layer_norm = nullptr;
  LayerNormFn layer_norm_half = nullptr;
  ScaleRowsFn scale_rows = nullptr;     ///< Null where XNNPACK's kernel is as exact.
  ConvertFn widen = nullptr;            ///< f16 to f32.
  ConvertFn narrow = nullptr;           ///< f32 to f16, to the nearest, ties to even.
  RoundRowFn round_to_codes = nullptr;  ///< To i8.
  RoundRowFn round_to_reals = nullptr;  ///< To the f32 that these stand for.
  PoolKernels pools;
  CodeKernels codes;
  /// 3 x 3, 5 x 5 and 7 x 7, by stride - 1. Null where XNNPACK's kernels are the better ones.
  DepthwiseFn depthwise[3][2] = {};
  DepthwiseFn depthwise_of_any[kDepthwiseShares] = {};  ///< Of any windows; null where `depthwise` is.
  /// From small to large tiles. Of at least depthwise_channels channels and outputs; null where `depthwise`
  /// is.
  WinogradKernels winograd[kWinogradSizes] = {};
  size_t depthwise_channels = 0;  ///< Of a vector: the fewest that they take.
  size_t dense_outputs = 0;       ///< Of a panel.
  double load_cost = 0;           ///< Multiply-adds of `dense` that take the time of a float from memory.
  /// Null where XNNPACK's kernels are the better ones everywhere; on Arm, for parts of other products alone.
  DenseFn dense = nullptr;
  DepthwiseFn grouped[2] = {};  ///< 3 x 3, small groups of more than one channel, by stride - 1.
  RowTimesMatrixFn row_times_matrix = nullptr;  ///< Null where `dense` is.
  StrassenKernels strassen = {};                ///< Null where `dense` is.
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
/// Whether this CPU multiplies vectors of 64 bytes in two halves, no faster than two of 32 (AMD, Software
/// Optimization Guide for the Zen 4 Microarchitecture).
bool WideVectorsAreTwoHalves();

// One per translation unit; those of other architectures do not exist.
extern const Kernels kBaselineKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512VnniKernels;
extern const Kernels kAmxKernels;
extern const FewBitsKernels kNeonFewBits[2];
extern const FewBitsOfCodesKernels kNeonDotFewBits[2];
void NeonCodeSums(const CodeDenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                  size_t end_panel);
void NeonDense(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel, size_t end_panel);

}  // namespace skiff::xnnpack
