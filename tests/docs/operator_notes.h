/// What docs/operators.md says of an operator beyond what the tables hold.
#pragma once

#include <span>

#include "ops/op.h"

namespace skiff {

struct OperatorNote {
  OpCode op;
  const char* computes;     ///< One line.
  const char* limits = "";  ///< What the operator refuses, beyond dtypes; "" for nothing worth a word.
};
/// One row per operator.
std::span<const OperatorNote> OperatorNotes();

/// ONNX operators that become one Skiff operator of another name (around it, views, transposes or constants).
struct OnnxRenaming {
  const char* onnx;
  OpCode op;
};
std::span<const OnnxRenaming> OnnxRenamings();

}  // namespace skiff
