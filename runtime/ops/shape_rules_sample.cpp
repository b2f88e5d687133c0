// Shape rules of operators that sample an image.
#include "ops/extent_math.h"
#include "ops/shape_rules.h"

namespace skiff {

template <class D>
Status InferPool2dIndices(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferGridSample2d(InferContext<D>& context) {
  return context.Error("not built yet");
}

template <class D>
Status InferRoiAlign(InferContext<D>& context) {
  return context.Error("not built yet");
}

SKIFF_INSTANTIATE_RULE(InferPool2dIndices);
SKIFF_INSTANTIATE_RULE(InferGridSample2d);
SKIFF_INSTANTIATE_RULE(InferRoiAlign);

}  // namespace skiff
