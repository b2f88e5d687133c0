/// Which operators this build lowers (SKIFF_OPERATORS), for the tables of kernels. Decided while compiling,
/// and with internal linkage: see kernels_generic.h.
#pragma once

namespace skiff::xnnpack {
namespace {

struct Op {
  enum : int {
#define OP(id, Name, ...) k##Name = id,
#include "ops/ops.def"
#undef OP
  };
};

struct LoweredRow {
  int id;
  const char* lowering;
};
constexpr LoweredRow kLoweredRows[] = {
    {0, "_"},
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {id, #Xnnpack},
#include "ops/build_ops.def"
#undef OP
};

consteval bool IsLowered(int id) {
  for (const LoweredRow& row : kLoweredRows) {
    if (row.id == id) return row.lowering[0] != '_';
  }
  return false;
}

/// What the steps of recurrent layers are made of.
consteval bool IsPartOfRecurrent(int id) {
  const bool recurs = IsLowered(Op::kLstm) || IsLowered(Op::kGru) || IsLowered(Op::kRnn);
  return recurs &&
         (id == Op::kSigmoid || id == Op::kTanh || id == Op::kAdd || id == Op::kSub || id == Op::kMul);
}

}  // namespace
}  // namespace skiff::xnnpack

/// The kernel of an operator, or null where the build has no lowering of it.
#define SKIFF_KEPT(Operator, ...) \
  (IsLowered(Op::k##Operator) || IsPartOfRecurrent(Op::k##Operator) ? __VA_ARGS__ : nullptr)
