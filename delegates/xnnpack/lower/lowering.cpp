// Operator to lowering, from the table: a name in the XNNPACK column that has no function here does not link
// or compile.
#include "delegates/xnnpack/lower/lowerings.h"

namespace skiff::xnnpack {
namespace {

constexpr LowerFn Lower_ = nullptr;

struct Row {
  OpCode op;
  LowerFn lower;
};

constexpr Row kRows[] = {
    {OpCode::kInvalid, Lower_},  // An array needs an element.
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {OpCode::k##Name, Lower##Xnnpack},
#include "ops/build_ops.def"
#undef OP
};

}  // namespace

LowerFn FindLowering(OpCode op) {
  for (const Row& row : kRows) {
    if (row.op == op) return row.lower;
  }
  return nullptr;
}

}  // namespace skiff::xnnpack
