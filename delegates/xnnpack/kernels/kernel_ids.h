/// Numbers of the kernels in the tables of kernels.h.
#pragma once

namespace skiff::xnnpack {

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

}  // namespace skiff::xnnpack
