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

constexpr int kLowered[] = {
    0,  // An array needs an element.
#define LOWERING(Name, Lowering) Op::k##Name,
#include "delegates/xnnpack/built_lowerings.def"
#undef LOWERING
};

consteval bool IsLowered(int id) {
  for (const int lowered : kLowered) {
    if (lowered == id) return true;
  }
  return false;
}

/// Which kernels the lowerings of other operators use.
struct Use {
  int user;
  int used;
};
constexpr Use kUses[] = {
    {Op::kMatMul, Op::kClamp},  // A product that XNNPACK does not clamp is clamped by ours.
    {Op::kArgMax, Op::kReduceMax},
    {Op::kArgMin, Op::kReduceMin},
};

/// What the steps of recurrent layers are made of.
consteval bool IsPartOfRecurrent(int id) {
  const bool recurs = IsLowered(Op::kLstm) || IsLowered(Op::kGru) || IsLowered(Op::kRnn);
  return recurs &&
         (id == Op::kSigmoid || id == Op::kTanh || id == Op::kAdd || id == Op::kSub || id == Op::kMul);
}

consteval bool IsKept(int id) {
  for (const Use& use : kUses) {
    if (use.used == id && IsLowered(use.user)) return true;
  }
  return IsLowered(id) || IsPartOfRecurrent(id);
}

}  // namespace
}  // namespace skiff::xnnpack

/// The kernel of an operator, or null where no lowering of the build uses it.
#define SKIFF_KEPT(Operator, ...) (IsKept(Op::k##Operator) ? __VA_ARGS__ : nullptr)
