// The shape rule of operators that act instead of computing.
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {

/// Inputs: the effect before this one (a u8), a text (u8 vector), then what the operator looks at.
template <class D>
Status InferEffect(InferContext<D>& context) {
  const InferInput<D>& before = context.inputs[0];
  const InferInput<D>& text = context.inputs[1];
  if (before.dtype != DType::kU8 || before.rank != 0 || text.dtype != DType::kU8 || text.rank != 1)
    return context.Error("the first inputs must be the effect before (u8[]) and a text (u8[n])");
  if (context.op == OpCode::kAssert && context.inputs[2].dtype != DType::kBool)
    return context.Error("the condition must be bool, not %s", DTypeName(context.inputs[2].dtype));
  if (context.op == OpCode::kCheckNumerics && !IsFloat(context.inputs[2].dtype))
    return context.Error("only floating-point elements can be NaN or Inf, not %s",
                         DTypeName(context.inputs[2].dtype));
  context.outputs[0].dtype = DType::kU8;
  context.outputs[0].rank = 0;
  return OkStatus();
}
SKIFF_INSTANTIATE_RULE(InferEffect);

}  // namespace skiff
