// Nodes that run as attention.
#include "delegates/xnnpack/lower/follow.h"
#include "delegates/xnnpack/lower/nd_copy.h"
#include "delegates/xnnpack/segment.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

bool IsTranspose(const NodeTypes& node) {
  return node.op->code == OpCode::kTranspose && node.inputs[0]->view.dtype == DType::kF32 &&
         node.inputs[0]->view.dense() && node.outputs[0]->view.dense();
}

/// Along the axes of the one side, how far apart its elements are on the other.
void StridesThrough(const NodeTypes& transpose, bool back, int64_t (&strides)[kMaxRank]) {
  const TensorView& other = back ? transpose.outputs[0]->view : transpose.inputs[0]->view;
  const Ints& perm = transpose.attrs->as<TransposeAttrs>().perm;
  const int rank = other.shape.rank();
  int64_t of_other[kMaxRank];
  StridesOf(other, of_other);
  for (int i = 0; i < rank; ++i) {
    const int from = perm.size == 0 ? rank - 1 - i : static_cast<int>(perm[i]);
    if (back)
      strides[from] = of_other[i];
    else
      strides[i] = of_other[from];
  }
}

}  // namespace

/// The step of a node that runs as one; null: it does not.
const Step* Segment::StepOf(uint32_t index) const {
  return index < nodes_.size() && nodes_[index].mode == Mode::kStep ? nodes_[index].step.get() : nullptr;
}

const MatrixProductStep* Segment::ProductOf(uint32_t index) const {
  const Step* const step = StepOf(index);
  return step == nullptr ? nullptr : MatrixProductStep::Of(*step);
}

/// Whether an operand that node `product` reads is the result of one of the nodes [head, end), transpositions
/// of which nobody else needs the result; then where it comes from.
bool Segment::ReadsThrough(uint32_t head, uint32_t end, uint32_t product, size_t input,
                           Matrices* from) const {
  for (uint32_t i = head; i < end; ++i) {
    if (nodes_[product].types.inputs[input] != nodes_[i].types.outputs[0]) continue;
    int64_t strides[kMaxRank];
    StridesThrough(nodes_[i].types, /*back=*/false, strides);
    *from = StridedMatrices(nodes_[i].types.inputs[0]->view, nodes_[i].types.outputs[0]->view.shape, strides,
                            ProductOf(product)->shape());
    return true;
  }
  return false;
}

/// Whether only node `transpose` reads the result, whose rows may be written where it puts them; then where
/// to.
bool Segment::WritesThrough(uint32_t transpose, const Attention::Parts& parts, Matrices* to) const {
  if (StepOf(transpose) == nullptr || !IsTranspose(nodes_[transpose].types)) return false;
  const TensorView& result = nodes_[transpose].types.inputs[0]->view;
  int64_t strides[kMaxRank];
  StridesThrough(nodes_[transpose].types, /*back=*/true, strides);
  if (result.shape.rank() < 3) return false;
  const TensorView& y = nodes_[transpose].types.outputs[0]->view;
  const Matrices through = StridedMatrices(y, result.shape, strides, parts.sums->shape());
  if (through.column != 1) return false;
  *to = through;
  return true;
}

/// Whether one begins at node `head`, of which each step has its extents: transpositions of queries, keys and
/// values, as many as there are, then the first product.
bool Segment::FindAttention(uint32_t head, PlacedAttention* found) const {
  constexpr uint32_t kMostOperands = 3;
  uint32_t at = head;
  while (at - head < kMostOperands && StepOf(at) != nullptr && nodes_[at].has_one_reader &&
         IsTranspose(nodes_[at].types) && nodes_[at].types.outputs[0]->view.shape.rank() > 2)
    ++at;
  const uint32_t first = at;
  Attention::Parts parts;
  parts.scores = ProductOf(first);
  if (parts.scores == nullptr) return false;
  for (;;) {
    if (!nodes_[at].passes_on) return false;
    const Step* const next = StepOf(++at);
    if (next == nullptr) return false;
    parts.sums = MatrixProductStep::Of(*next);
    if (parts.sums != nullptr) break;
    if (parts.change_count == Attention::kMostChanges || !Attention::IsChange(*next)) return false;
    parts.changes[parts.change_count++] = next;
  }
  parts.queries = parts.scores->x();
  parts.keys = parts.scores->b();
  parts.values = parts.sums->b();
  parts.result = parts.sums->y();
  uint32_t read = 0;
  if (ReadsThrough(head, first, first, 0, &parts.queries)) ++read;
  if (ReadsThrough(head, first, first, 1, &parts.keys)) ++read;
  if (ReadsThrough(head, first, at, 1, &parts.values)) ++read;
  if (read != first - head || !Attention::Takes(parts)) return false;
  *found = {{}, head, first, at};
  if (nodes_[at].passes_on && WritesThrough(at + 1, parts, &parts.result)) ++found->last;
  found->group = Attention(parts, PoolOf(head, found->last));
  return found->group.workspace_bytes() <= options_.memory_limit;
}

/// After a Reshape() of all steps.
Status Segment::FindAttentions(size_t* workspace) {
  const auto for_each = [&](const auto& take) {
    PlacedAttention placed;
    for (uint32_t head = 0; head < nodes_.size(); ++head) {
      if (!FindAttention(head, &placed)) continue;
      take(placed);
      head = placed.last;
    }
  };
  return Keep<PlacedAttention>(for_each, &attentions_, workspace);
}

/// Whether what is read for each row beside scores and queries lies where the result is written. After
/// FindFollowers(), which knows those of the last node.
bool Segment::WritesOverOperands(const PlacedAttention& placed) const {
  const Attention::Parts& parts = placed.group.parts();
  if (!parts.scores->packs() && IsWritten(placed.last, *parts.keys.tensor)) return true;
  if (!parts.sums->packs() && IsWritten(placed.last, *parts.values.tensor)) return true;
  for (uint32_t i = placed.first + 1; i < placed.last && ProductOf(i) == nullptr; ++i) {
    for (size_t input = 1; input < nodes_[i].types.inputs.size(); ++input) {
      const PlanTensor* const tensor = nodes_[i].types.inputs[input];
      if (tensor != nullptr && IsWritten(placed.last, tensor->view)) return true;
    }
  }
  return false;
}

void Segment::BindAttentions() {
  if (attentions_ == nullptr) return;
  for (PlacedAttention& placed : *attentions_) {
    if (WritesOverOperands(placed)) continue;
    const bool written = IsWritten(placed.last, *placed.group.parts().queries.tensor);
    placed.group.Bind(workspace_, written && !placed.group.WritesOverOwnQueries());
    for (uint32_t i = placed.head; i <= placed.last; ++i) nodes_[i].follows = i != placed.first;
    nodes_[placed.first].group = &placed.group;
  }
}

}  // namespace skiff::xnnpack
