/// Views: where a part of a tensor lies inside the whole. The converter decides with these which tensors
/// become views, the loader checks them, and the delegates skip copies that are already in place.
#pragma once

#include "skiff/delegate.h"
#include "skiff/tensor.h"

namespace skiff {

/// A part of a dense tensor that can be addressed as one TensorView.
struct Placement {
  int64_t offset = 0;      ///< In elements, from the whole's first.
  int64_t row_stride = 0;  ///< In elements.
};

/// Where the elements [begin, begin + part[axis]) of `axis` lie in a dense tensor of shape `whole`; false
/// when they are neither contiguous nor rows of the innermost axis. `part` equals `whole` in all other axes.
bool PlaceAlongAxis(const Shape& whole, const Shape& part, int axis, int64_t begin, Placement* placement);

/// Bytes from the view's first element to the end of its last one.
int64_t SpanBytes(const TensorView& view);

/// `part`, whose first byte lies `distance` behind that of `whole`, is exactly the place of `placement`
/// inside `whole`: a copy between them has nothing to do. Where `whole` is itself a view with gaps, only
/// parts of its innermost axis can be in place.
bool IsInPlace(const TensorView& whole, const TensorView& part, int64_t distance, const Placement& placement);

/// Where input `input` of a Concat lies in its output; false when it cannot be a view.
bool PlaceInConcat(Span<const PlanTensor> tensors, const PlanNode& node, size_t input, Placement* placement);

/// Where output `output` of a Split or Slice (with constant bounds) lies in input 0; false for other
/// operators, and where it cannot be a view.
bool PlaceInInput(Span<const PlanTensor> tensors, const PlanNode& node, size_t output, Placement* placement);

}  // namespace skiff
