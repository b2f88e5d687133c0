#include "delegates/xnnpack/lower/follow.h"

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {
namespace {

const char* EndOf(const TensorView& view) {
  const Rows rows = RowsOf(view);
  return view.as<const char>() + ((rows.count - 1) * rows.stride + rows.length) * ElementBytes(view);
}

/// Each row of one is where that of the other is.
bool SameRows(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.shape == b.shape && a.row_stride == b.row_stride;
}

}  // namespace

bool Overlap(const TensorView& a, const TensorView& b) {
  if (a.data == nullptr || a.shape.elements() == 0) return false;
  return a.as<const char>() < EndOf(b) && b.as<const char>() < EndOf(a);
}

bool MayFollow(Span<const NodeTypes> chain, const NodeTypes& next) {
  const NodeTypes& last = chain[chain.size() - 1];
  if (last.outputs.size() != 1 || next.outputs.size() != 1) return false;
  const PlanTensor* const x = last.outputs[0];
  const TensorView& y = next.outputs[0]->view;
  bool reads = false;
  for (const PlanTensor* input : next.inputs) reads = reads || input == x;
  if (!reads || !(x->view.shape == y.shape)) return false;
  // What a row of y is written over must not be needed for other rows.
  for (const NodeTypes& node : chain) {
    const bool head = &node == &chain[0];
    for (const PlanTensor* input : node.inputs) {
      if (input != nullptr && Overlap(input->view, y) && (head || !SameRows(input->view, y))) return false;
    }
    const TensorView& output = node.outputs[0]->view;
    if (Overlap(output, y) && !SameRows(output, y)) return false;
  }
  return true;
}

}  // namespace skiff::xnnpack
