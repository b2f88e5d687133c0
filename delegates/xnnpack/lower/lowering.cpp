// Operator to lowering, from lowerings.def and quantized.def: a lowering that has no function here does not
// compile.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/quantized.h"

namespace skiff::xnnpack {
namespace {

constexpr OpRow<LowerFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, Lower##Lowering},
#include "delegates/xnnpack/built_lowerings.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "lowerings.def must have the order of ops.def");

constexpr OpRow<LowerFn> kQuantizedRows[] = {
    {OpCode::kInvalid, nullptr},
#define LOWERING(Name, Lowering) {OpCode::k##Name, LowerQuantized##Lowering},
#include "delegates/xnnpack/built_quantized.def"
#undef LOWERING
};
static_assert(OpsAscend(kQuantizedRows), "quantized.def must have the order of ops.def");

}  // namespace

LowerFn FindLowering(const NodeTypes& node) {
  return ComputesQuantized(node) ? FindRow(kQuantizedRows, node.op->code) : FindRow(kRows, node.op->code);
}

bool HasLowering(OpCode op) {
  return FindRow(kRows, op) != nullptr || FindRow(kQuantizedRows, op) != nullptr;
}

}  // namespace skiff::xnnpack
