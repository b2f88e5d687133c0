/// Which operators this build lowers (SKIFF_OPERATORS), for the tables of kernels. Decided while compiling,
/// and with internal linkage: see generic.h.
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

/// Of quantised operands.
constexpr int kCodesLowered[] = {
    0,
#define LOWERING(Name, Lowering) Op::k##Name,
#include "delegates/xnnpack/built_quantized.def"
#undef LOWERING
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

consteval bool IsCodesLowered(int id) {
  for (const int lowered : kCodesLowered) {
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
    {Op::kGridSample2d, Op::kResize2d},
    {Op::kRoiAlign, Op::kResize2d},
    {Op::kArgMax, Op::kReduceMax},
    {Op::kArgMin, Op::kReduceMin},
    {Op::kFakeQuantize, Op::kReduceMax},
    {Op::kFakeQuantize, Op::kReduceMin},
    // The steps of recurrent layers.
    {Op::kLstm, Op::kSigmoid},
    {Op::kLstm, Op::kTanh},
    {Op::kLstm, Op::kAdd},
    {Op::kLstm, Op::kMul},
    {Op::kGru, Op::kSigmoid},
    {Op::kGru, Op::kTanh},
    {Op::kGru, Op::kAdd},
    {Op::kGru, Op::kSub},
    {Op::kGru, Op::kMul},
    {Op::kRnn, Op::kTanh},
    {Op::kRnn, Op::kAdd},
};

consteval bool IsKept(int id) {
  for (const Use& use : kUses) {
    if (use.used == id && IsLowered(use.user)) return true;
  }
  return IsLowered(id);
}

}  // namespace
}  // namespace skiff::xnnpack

/// The kernel of an operator, or null where no lowering of the build uses it.
#define SKIFF_KEPT(Operator, ...) (IsKept(Op::k##Operator) ? __VA_ARGS__ : nullptr)
/// The same of an operator on codes.
#define SKIFF_CODES_KEPT(Operator, ...) (IsCodesLowered(Op::k##Operator) ? __VA_ARGS__ : nullptr)
