// Operator to lowering, from lowerings.def and quantized.def: a lowering that has no function here does not
// compile.
#include "delegates/vulkan/lower/lowerings.h"
#include "delegates/vulkan/lower/quantized/lowerings.h"
#include "ops/op_codes.h"
#include "ops/op_rows.h"

namespace skiff::vulkan {
namespace {

constexpr OpRow<LowerFn> kRows[] = {
    {OpCode::kInvalid, nullptr},  // An array needs an element.
#define LOWERING(Name, Lowering) {OpCode::k##Name, Lower##Lowering},
#include "delegates/vulkan/built_lowerings.def"
#undef LOWERING
};
static_assert(OpsAscend(kRows), "lowerings.def must have the order of ops.def");

constexpr OpRow<LowerFn> kQuantizedRows[] = {
    {OpCode::kInvalid, nullptr},
#define LOWERING(Name, Lowering) {OpCode::k##Name, LowerQuantized##Lowering},
#include "delegates/vulkan/built_quantized.def"
#undef LOWERING
};
static_assert(OpsAscend(kQuantizedRows), "quantized.def must have the order of ops.def");

}  // namespace

ContentHash HashOfInputs(const Emitter& emit, std::initializer_list<size_t> inputs) {
  ContentHash hash;
  for (const size_t i : inputs) {
    const ContentHash input = emit.Has(i) ? emit.input(i).hash : ContentHash{};
    hash.low = hash.low * 0x100000001b3u + input.low;
    hash.high = hash.high * 0x100000001b3u + input.high;
  }
  return hash;
}

LowerFn FindLowering(OpCode op, bool quantized) {
  return quantized ? FindRow(kQuantizedRows, op) : FindRow(kRows, op);
}

}  // namespace skiff::vulkan
