// Shape rules of operators that find, order and address elements.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {

template <class D>
Status InferArg(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferTopK(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferCumSum(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferGatherElements(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferGatherND(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferScatterElements(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferScatterND(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferReverseSequence(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferTrilu(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferTest(InferContext<D>& context) {
  return context.Error("not built yet");
}

SKIFF_INSTANTIATE_RULE(InferArg);
SKIFF_INSTANTIATE_RULE(InferTopK);
SKIFF_INSTANTIATE_RULE(InferCumSum);
SKIFF_INSTANTIATE_RULE(InferGatherElements);
SKIFF_INSTANTIATE_RULE(InferGatherND);
SKIFF_INSTANTIATE_RULE(InferScatterElements);
SKIFF_INSTANTIATE_RULE(InferScatterND);
SKIFF_INSTANTIATE_RULE(InferReverseSequence);
SKIFF_INSTANTIATE_RULE(InferTrilu);
SKIFF_INSTANTIATE_RULE(InferTest);

}  // namespace skiff
