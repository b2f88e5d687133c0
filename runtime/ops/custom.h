/// How a node of Custom says which of the application's operators it is.
#pragma once

#include "ops/op.h"
#include "skiff/custom_operator.h"

namespace skiff {

/// The first inputs of a Custom node; the operator's own come behind them. Texts are u8 vectors and, as the
/// types, constants.
enum CustomInput : size_t {
  kCustomName = 0,
  kCustomOptions = 1,
  /// i64: for each output its dtype, its rank and its extents (-1: open), as the source file states them.
  /// Left out where it does not.
  kCustomTypes = 2,
  kCustomFirst = 3
};

/// How many of a node's inputs are the operator's own.
constexpr size_t CustomOperands(size_t inputs) { return inputs > kCustomFirst ? inputs - kCustomFirst : 0; }

/// What stands in a text's elements.
struct CustomText {
  const char* data = "";
  size_t size = 0;
  bool Is(const char* name) const;
};

/// The operator's name where the constant is one: 1 to 255 bytes, none of which is 0. Else empty.
CustomText CustomNameOf(const TensorView& constant);

/// What the types' constant says of output `index`; false where it says nothing, or nonsense. Extents may be
/// -1.
bool DeclaredCustomType(const int64_t* types, int64_t count, size_t index, InferOutput<int64_t>* type);

}  // namespace skiff
