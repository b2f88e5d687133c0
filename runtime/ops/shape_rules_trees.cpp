// Shape rule of forests of decision trees. That the trees themselves are sound is checked where they are
// walked.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {

template <class D>
Status InferTreeEnsemble(InferContext<D>& context) {
  const auto& attrs = context.template As<TreeEnsembleAttrs>();
  const InferInput<D>& x = context.inputs[0];
  if (!IsFloat(x.dtype) || x.rank != 2)
    return context.Error("x must be floating point of rank 2, not %s of rank %d", DTypeName(x.dtype), x.rank);
  if (attrs.targets < 1 || attrs.targets > std::numeric_limits<int32_t>::max())
    return context.Error("the number of targets is %lld; at least 1 was expected",
                         static_cast<long long>(attrs.targets));
  struct Part {
    const char* what;
    bool integers;
    int rank;
  };
  constexpr Part kParts[] = {{"x", false, 2},        {"the nodes", true, 2},   {"the thresholds", false, 1},
                             {"the roots", true, 1}, {"the targets", true, 1}, {"the votes", false, 1}};
  for (size_t i = 1; i < 6; ++i) {
    const InferInput<D>& part = context.inputs[i];
    const DType wanted = kParts[i].integers ? DType::kI32 : x.dtype;
    if (part.dtype != wanted || part.rank != kParts[i].rank)
      return context.Error("input %zu (%s) is %s of rank %d; %s of rank %d was expected", i, kParts[i].what,
                           DTypeName(part.dtype), part.rank, DTypeName(wanted), kParts[i].rank);
  }
  if (!SameExtent(context.inputs[1].extents[1], D(4)))
    return context.Error("each node must have 4 numbers: feature, kind, yes, no");
  if (!SameExtent(context.inputs[1].extents[0], context.inputs[2].extents[0]))
    return context.Error("there must be as many thresholds as nodes");
  if (!SameExtent(context.inputs[4].extents[0], context.inputs[5].extents[0]))
    return context.Error("there must be as many votes as targets of votes");
  InferOutput<D>& out = context.outputs[0];
  out.dtype = x.dtype;
  out.rank = 2;
  out.extents[0] = x.extents[0];
  out.extents[1] = D(attrs.targets);
  return OkStatus();
}

SKIFF_INSTANTIATE_RULE(InferTreeEnsemble);

}  // namespace skiff
