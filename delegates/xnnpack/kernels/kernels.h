/// Kernels of our own for what XNNPACK has no operator for, or an inexact one. All are f32, work on
/// contiguous runs, and exist once for each instruction set that is worth it; the set is chosen once, by what
/// the CPU has.
#pragma once

#include <cstddef>

namespace skiff::xnnpack {

/// The parameters of all elementwise kernels; each reads those it has.
struct KernelParams {
  float min = 0;
  float max = 0;
  float alpha = 0;
  float beta = 0;
};

/// Numbers of Kernels::unary.
enum class UnaryKernel {
  kClamp,
  kErf,
  kExp,
  kGeluTanh,
  kHardSigmoid,
  kLog,
  kReciprocal,
  kSigmoid,
  kSign,
  kSilu,
  kSqrt,
  kCount
};

/// Numbers of Kernels::binary. All clamp their result to [min, max]; NaN passes through.
enum class BinaryKernel { kAdd, kSub, kMul, kDiv, kCount };

/// y may be x.
using UnaryFn = void (*)(size_t n, const float* x, float* y, const KernelParams& params);
/// y may be a or b.
using BinaryFn = void (*)(size_t n, const float* a, const float* b, float* y, const KernelParams& params);
/// One row: y = (x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias may be null. y may be x.
using LayerNormFn = void (*)(size_t n, const float* x, const float* scale, const float* bias, float epsilon,
                             float* y);

struct Kernels {
  const char* name = "";
  UnaryFn unary[static_cast<size_t>(UnaryKernel::kCount)] = {};
  /// [0]: both vectors. [1]: a is one value. [2]: b is one value.
  BinaryFn binary[static_cast<size_t>(BinaryKernel::kCount)][3] = {};
  LayerNormFn layer_norm = nullptr;
};

/// The best set for this CPU. Call after xnn_initialize().
const Kernels& SelectKernels();

// One per translation unit; those of other architectures do not exist.
extern const Kernels kBaselineKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace skiff::xnnpack
