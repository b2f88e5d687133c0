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

template Status InferArg(InferContext<int64_t>&);
template Status InferTopK(InferContext<int64_t>&);
template Status InferCumSum(InferContext<int64_t>&);
template Status InferGatherElements(InferContext<int64_t>&);
template Status InferGatherND(InferContext<int64_t>&);
template Status InferScatterElements(InferContext<int64_t>&);
template Status InferScatterND(InferContext<int64_t>&);
template Status InferReverseSequence(InferContext<int64_t>&);
template Status InferTrilu(InferContext<int64_t>&);
template Status InferTest(InferContext<int64_t>&);

}  // namespace skiff
