// Operator to lowering, from the table: a name in the Vulkan column that has no function here does not
// compile.
#include "delegates/vulkan/lower/lowerings.h"

namespace skiff::vulkan {
namespace {

constexpr LowerFn Lower_ = nullptr;

struct Row {
  OpCode op;
  LowerFn lower;
};

constexpr Row kRows[] = {
    {OpCode::kInvalid, Lower_},  // An array needs an element.
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {OpCode::k##Name, Lower##Vulkan},
#include "ops/build_ops.def"
#undef OP
};

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

LowerFn FindLowering(OpCode op) {
  for (const Row& row : kRows) {
    if (row.op == op) return row.lower;
  }
  return nullptr;
}

}  // namespace skiff::vulkan
