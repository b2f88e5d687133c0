// Operator to lowering, from lowerings.def: a lowering that has no function here does not compile.
#include "delegates/xnnpack/lower/lowerings.h"
#include "ops/op_rows.h"

namespace skiff::xnnpack {
namespace {

constexpr OpRow<LowerFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, Lower##Lowering},
#include "delegates/xnnpack/built_lowerings.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "lowerings.def must have the order of ops.def");

}  // namespace

LowerFn FindLowering(OpCode op) { return FindRow(kRows, op); }

}  // namespace skiff::xnnpack
