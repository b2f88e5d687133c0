// Nodes that run as strips.
#include "core/align.h"
#include "delegates/xnnpack/lower/follow.h"
#include "delegates/xnnpack/segment.h"

namespace skiff::xnnpack {

/// Which results have one reader, the node behind; once, because this does not depend on extents.
Status Segment::FindPassing() {
  if (options_.keep_intermediates || IsSmallPart()) return OkStatus();
  FixedArray<uint32_t> readers;
  SKIFF_RETURN_IF_ERROR(readers.Allocate(segment_.tensors.size()));
  const auto count = [&](Span<const int32_t> tensors) {
    for (const int32_t tensor : tensors) {
      if (tensor >= 0) ++readers[static_cast<size_t>(tensor)];
    }
  };
  for (const PlanNode& node : segment_.nodes) count(node.inputs);
  count(segment_.outputs);
  for (uint32_t i = segment_.begin; i + 1 < segment_.end; ++i) {
    const PlanNode& plan_node = segment_.nodes[i];
    const PlanNode& next = segment_.nodes[i + 1];
    Node& node = nodes_[i - segment_.begin];
    node.has_one_reader = plan_node.outputs.size() == 1 && plan_node.outputs[0] >= 0 &&
                          readers[static_cast<size_t>(plan_node.outputs[0])] == 1;
    node.passes_on = node.has_one_reader && !next.inputs.empty() && next.inputs[0] == plan_node.outputs[0];
  }
  return OkStatus();
}

/// Adds links from node `head` on, as many as there may be. Returns the last one's node.
uint32_t Segment::GrowStrip(uint32_t head, Strip* strip) const {
  const auto work_of = [&](uint32_t index) {
    static constexpr PartialWork kNone;
    const bool step = index < nodes_.size() && nodes_[index].mode == Mode::kStep;
    const PartialWork* const work = step ? nodes_[index].step->partial_work() : nullptr;
    return work != nullptr ? *work : kNone;
  };
  uint32_t last = head;
  for (uint32_t at = head; work_of(at).run_lines != nullptr; ++at) {
    const Node& node = nodes_[at];
    Strip::Link link;
    link.step = node.step.get();
    link.x = &node.types.inputs[0]->view;
    link.y = &node.types.outputs[0]->view;
    uint32_t end = at;
    while (nodes_[end].passes_on && link.elementwise_count < Strip::kMostElementwise &&
           work_of(end + 1).run_elements != nullptr)
      link.elementwise[link.elementwise_count++] = nodes_[++end].step.get();
    if (!strip->Add(link)) break;
    last = at;
    if (!nodes_[end].passes_on) break;
    at = end;
  }
  return last;
}

/// Of nodes that run together: there is one where any of them has one.
pthreadpool_t Segment::PoolOf(uint32_t head, uint32_t last) const {
  pthreadpool_t pool = nullptr;
  for (uint32_t i = head; i <= last; ++i) {
    if (nodes_[i].environment.pool != nullptr) pool = nodes_[i].environment.pool;
  }
  return pool;
}

/// After a Reshape() of all steps.
Status Segment::FindStrips(size_t* workspace) {
  const auto for_each = [&](const auto& take) {
    PlacedStrip placed;
    for (placed.head = 0; placed.head < nodes_.size(); placed.head = placed.last + 1) {
      placed.group = Strip();
      placed.last = GrowStrip(placed.head, &placed.group);
      if (placed.group.links() < 2) continue;
      placed.group.Divide(PoolOf(placed.head, placed.last));
      take(placed);
    }
  };
  return Keep<PlacedStrip>(for_each, &strips_, workspace);
}

/// Where a strip's input may be copied to: over a result that is not written, because the strip keeps lines
/// of it. Null: nowhere. What is needed beside this result lies elsewhere; the input need not, which only the
/// first node reads, nor what the last nodes write.
void* Segment::RoomForInput(const PlacedStrip& placed, const TensorView& input) const {
  for (uint32_t i = placed.head; i < placed.last; ++i) {
    const TensorView& unused = nodes_[i].types.outputs[0]->view;
    const int64_t spare = unused.bytes() - input.bytes();
    if (!input.dense() || !unused.dense() || spare < 0) continue;
    TensorView copy = input;
    for (const int64_t offset :
         {int64_t{0}, spare / static_cast<int64_t>(kAlignment) * static_cast<int64_t>(kAlignment)}) {
      copy.data = unused.as<char>() + offset;
      if (!Overlap(copy, input) && !IsWritten(placed.last, copy)) return copy.data;
    }
  }
  return nullptr;
}

/// By node `last` or its followers.
bool Segment::IsWritten(uint32_t last, const TensorView& tensor) const {
  bool written = Overlap(tensor, nodes_[last].types.outputs[0]->view);
  for (uint32_t i = last + 1; i < nodes_.size() && nodes_[i].follows; ++i)
    written = written || Overlap(tensor, nodes_[i].types.outputs[0]->view);
  return written;
}

/// A strip reads its input while it writes its output, which may lie over it. After FindFollowers(), which
/// knows those of the last node.
void Segment::BindStrips() {
  if (strips_ == nullptr) return;
  for (PlacedStrip& placed : *strips_) {
    const TensorView& x = nodes_[placed.head].types.inputs[0]->view;
    void* copy = nullptr;
    if (IsWritten(placed.last, x)) {
      copy = RoomForInput(placed, x);
      if (copy == nullptr) continue;
    }
    placed.group.Bind(workspace_, copy);
    nodes_[placed.head].group = &placed.group;
    for (uint32_t i = placed.head + 1; i <= placed.last; ++i) nodes_[i].follows = true;
  }
}

}  // namespace skiff::xnnpack
