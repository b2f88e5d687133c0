/// What an operator is: the row of ops.def as data, and the arguments of its shape rule and reference kernel.
#pragma once

#include <cstdint>

#include "core/fixed_array.h"
#include "ops/attrs.h"
#include "skiff/log.h"
#include "skiff/tensor.h"

namespace skiff {

/// Arity "any number" in the table.
inline constexpr int kVariadic = 255;

/// An operator; ops/op_codes.h names them. What does not, need not be built anew when there is another one.
enum class OpCode : uint16_t;

/// Bits of OpDef::traits.
enum OpTraits : uint32_t {
  kNone = 0,
  kUnary = 1,   ///< Of the inputs but a table, element i of the first alone decides; may run in place there.
  kBinary = 2,  ///< Broadcast elementwise; may run in place over an input of the output's shape.
  kCommutative = 4,  ///< Inputs 0 and 1 may be swapped.
  kReinterpret = 8,  ///< The output is input 0's elements under another shape: a view where both are dense.
  kEffect = 16,      ///< Does something beside computing its outputs: never dropped, folded or merged.
  kBodies = 32,      ///< Runs graphs of its own, its bodies, which also decide the types of its outputs.
};

/// What a shape rule sees of one input. `D` is how an extent is expressed: int64_t on the device and wherever
/// shapes are concrete; the converter may use symbolic expressions with the same operations.
template <class D>
struct InferInput {
  bool present = false;
  DType dtype = DType::kInvalid;
  int rank = 0;
  D extents[kMaxRank] = {};
  /// The elements as extents, where they are known (integer dtypes), else null.
  const D* values = nullptr;
  int64_t value_count = 0;
  /// The elements as they lie in memory, where they are constant, else null.
  const void* constant = nullptr;
};

template <class D>
struct InferOutput {  // NOLINT(bugprone-reserved-identifier): of the array's copy, in clang itself
  DType dtype = DType::kInvalid;
  int rank = 0;
  D extents[kMaxRank] = {};
};

/// Arguments of a shape rule. The rule fills `outputs` or returns Error(...).
template <class D>
struct InferContext {
  OpCode op{};
  const AttrStorage* attrs = nullptr;
  Span<const InferInput<D>> inputs;
  Span<InferOutput<D>> outputs;
  char* message = nullptr;  ///< kMessageBytes long; what is wrong, set by Error().

  static constexpr int kMessageBytes = 256;

  template <class A>
  const A& As() const {
    return attrs->as<A>();
  }
  bool Has(size_t i) const { return i < inputs.size() && inputs[i].present; }
  /// Writes the message (printf style) and returns kInvalidArgument.
  Status Error(const char* format, ...) const __attribute__((format(printf, 2, 3)));
};
template <>
Status InferContext<int64_t>::Error(const char* format, ...) const __attribute__((format(printf, 2, 3)));

/// Arguments of a reference kernel. Inputs and outputs are dense; an absent optional input has null data and
/// dtype kInvalid. Output shapes are those of the shape rule and outputs never overlap inputs, except that a
/// kUnary or kBinary operator may write over an input of the same size, and that what a kReinterpret
/// operator, Concat, Split or Slice copies may be in its place already.
struct KernelArgs {
  OpCode op{};
  const AttrStorage* attrs = nullptr;
  Span<const TensorView> inputs;
  Span<const TensorView> outputs;

  template <class A>
  const A& As() const {
    return attrs->as<A>();
  }
  bool Has(size_t i) const { return i < inputs.size() && inputs[i].dtype != DType::kInvalid; }
};

/// Shape rules never log; kernels may Fail() with kUnsupported for a dtype that they do not take, and with
/// kInvalidArgument for values that the specification forbids (an index out of range).
using InferFn = Status (*)(InferContext<int64_t>& context);
using KernelFn = Status (*)(const KernelArgs& args);

struct OpDef {
  OpCode code{};
  const char* name = "";
  uint8_t min_inputs = 0;
  uint8_t max_inputs = 0;  ///< kVariadic: any number.
  uint8_t outputs = 0;     ///< kVariadic: any number, at least one.
  uint32_t traits = kNone;
  uint32_t value_inputs = 0;  ///< Bit i: the values of input i decide shapes.
  InferFn infer = nullptr;
  KernelFn kernel = nullptr;  ///< Null where the build's list does not name it (SKIFF_OPERATORS_REFERENCE).

  bool Is(OpTraits trait) const { return (traits & trait) != 0; }
  bool NeedsValues(size_t input) const { return input < 32 && ((value_inputs >> input) & 1u) != 0; }
};

/// The row of an operator; null when the code is not in the table, or not in this build (SKIFF_OPERATORS).
const OpDef* FindOp(OpCode code);
/// By name, as in the text form; null when there is none.
const OpDef* FindOp(const char* name);
/// The name of any operator, also of one that this build leaves out; null when the code is not in the table.
const char* OpName(OpCode code);
/// All rows of this build, in the table's order.
Span<const OpDef> AllOps();

/// What to do about an operator that the build leaves out; messages end with it.
inline constexpr const char* kRebuildHint =
    "build Skiff with all operators, or with this model's list: skiff size-list MODEL, then "
    "-DSKIFF_OPERATORS=LIST";

/// Writes the default attributes of an operator.
void InitAttrs(OpCode code, AttrStorage& attrs);

bool AttrsEqual(OpCode code, const AttrStorage& a, const AttrStorage& b);

}  // namespace skiff
