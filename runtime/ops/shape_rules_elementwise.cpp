// Shape rules of elementwise operators.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

template <class D>
void CopyShape(const InferInput<D>& from, InferOutput<D>& to) {
  to.rank = from.rank;
  for (int i = 0; i < from.rank; ++i) to.extents[i] = from.extents[i];
}

/// NumPy broadcasting of `input` into `output`, whose extents are the shape so far. 0, or the axis, counted
/// from the last, on which the two differ.
template <class D>
int BroadcastInto(const InferInput<D>& input, InferOutput<D>& output) {
  const int rank = input.rank > output.rank ? input.rank : output.rank;
  InferOutput<D> result = output;
  result.rank = rank;
  for (int i = 1; i <= rank; ++i) {
    const bool in_input = i <= input.rank;
    const bool in_output = i <= output.rank;
    D& extent = result.extents[rank - i];
    if (!in_input) {
      extent = output.extents[output.rank - i];
    } else if (!in_output) {
      extent = input.extents[input.rank - i];
    } else {
      const D a = input.extents[input.rank - i];
      const D b = output.extents[output.rank - i];
      const bool a_is_one = IsKnown(a) && KnownValue(a) == 1;
      const bool b_is_one = IsKnown(b) && KnownValue(b) == 1;
      if (!CanBroadcast(a, b)) return i;
      extent = a_is_one ? b : (b_is_one ? a : BroadcastExtent(a, b));
    }
  }
  output = result;
  return 0;
}

template <class D>
Status BroadcastAll(InferContext<D>& context, size_t first) {
  InferOutput<D>& output = context.outputs[0];
  output.rank = 0;
  for (size_t i = first; i < context.inputs.size(); ++i) {
    const InferInput<D>& input = context.inputs[i];
    if (const int axis = BroadcastInto(input, output); axis != 0) {
      const D& have = input.extents[input.rank - axis];
      const D& want = output.extents[output.rank - axis];
      if (!IsKnown(have) || !IsKnown(want))
        return context.Error("input %zu cannot be broadcast with the inputs before it at any size: axis %d",
                             i, -axis);
      return context.Error(
          "input %zu cannot be broadcast with the inputs before it: on axis %d it has %lld, they have %lld",
          i, -axis, static_cast<long long>(KnownValue(have)), static_cast<long long>(KnownValue(want)));
    }
  }
  return OkStatus();
}

}  // namespace

template <class D>
Status InferSameAsInput(InferContext<D>& context) {
  CopyShape(context.inputs[0], context.outputs[0]);
  context.outputs[0].dtype = context.inputs[0].dtype;
  return OkStatus();
}

template <class D>
Status InferCast(InferContext<D>& context) {
  const int64_t to = context.template As<CastAttrs>().to;
  if (to <= 0 || to >= kDTypeCount)
    return context.Error("the target dtype %lld is unknown", static_cast<long long>(to));
  CopyShape(context.inputs[0], context.outputs[0]);
  context.outputs[0].dtype = static_cast<DType>(to);
  return OkStatus();
}

template <class D>
Status InferFromCodes(InferContext<D>& context) {
  const DType from = context.inputs[0].dtype;
  if (IsFloat(from) || from == DType::kBool)
    return context.Error("its input is %s; integers were expected", DTypeName(from));
  CopyShape(context.inputs[0], context.outputs[0]);
  context.outputs[0].dtype = DType::kF32;
  return OkStatus();
}

template <class D>
Status InferLookup(InferContext<D>& context) {
  const InferInput<D>& table = context.inputs[1];
  if (table.rank != 1 || !IsKnown(table.extents[0]) || KnownValue(table.extents[0]) != 256)
    return context.Error("its table has another shape than [256]");
  CopyShape(context.inputs[0], context.outputs[0]);
  context.outputs[0].dtype = table.dtype;
  return OkStatus();
}

template <class D>
Status InferBroadcast(InferContext<D>& context) {
  if (context.inputs[0].dtype != context.inputs[1].dtype) {
    return context.Error("the inputs have different dtypes: %s and %s", DTypeName(context.inputs[0].dtype),
                         DTypeName(context.inputs[1].dtype));
  }
  return InferBroadcastLeft(context);
}

template <class D>
Status InferBroadcastLeft(InferContext<D>& context) {
  context.outputs[0].dtype = context.inputs[0].dtype;
  return BroadcastAll(context, 0);
}

template <class D>
Status InferCompare(InferContext<D>& context) {
  SKIFF_RETURN_IF_ERROR(InferBroadcast(context));
  context.outputs[0].dtype = DType::kBool;
  return OkStatus();
}

template <class D>
Status InferWhere(InferContext<D>& context) {
  if (context.inputs[0].dtype != DType::kBool) {
    return context.Error("the condition must be bool, not %s", DTypeName(context.inputs[0].dtype));
  }
  if (context.inputs[1].dtype != context.inputs[2].dtype) {
    return context.Error("the two values have different dtypes: %s and %s",
                         DTypeName(context.inputs[1].dtype), DTypeName(context.inputs[2].dtype));
  }
  context.outputs[0].dtype = context.inputs[1].dtype;
  return BroadcastAll(context, 0);
}

SKIFF_INSTANTIATE_RULE(InferSameAsInput);
SKIFF_INSTANTIATE_RULE(InferCast);
SKIFF_INSTANTIATE_RULE(InferFromCodes);
SKIFF_INSTANTIATE_RULE(InferLookup);
SKIFF_INSTANTIATE_RULE(InferBroadcast);
SKIFF_INSTANTIATE_RULE(InferBroadcastLeft);
SKIFF_INSTANTIATE_RULE(InferCompare);
SKIFF_INSTANTIATE_RULE(InferWhere);

}  // namespace skiff
