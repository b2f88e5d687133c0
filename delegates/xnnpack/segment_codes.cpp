// Products that read codes where a FakeQuantize before them would write real numbers.
#include <algorithm>

#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/segment.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {

/// Who reads what FakeQuantize nodes make; once, because this does not depend on extents. Of a small part of
/// the plan that is not looked for outside of it: others may read all.
Status Segment::FindCodes() {
  const auto is_maker = [&](uint32_t i) {
    return segment_.nodes[segment_.begin + i].op->code == OpCode::kFakeQuantize;
  };
  size_t count = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i) count += is_maker(i) ? 1 : 0;
  if (count == 0) return OkStatus();
  struct Maker {
    int32_t tensor;
    uint32_t node;
  };
  FixedArray<Maker> makers;  // By tensor.
  SKIFF_RETURN_IF_ERROR(makers.Allocate(count));
  count = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (is_maker(i)) makers[count++] = {segment_.nodes[segment_.begin + i].outputs[0], i};
  }
  const auto before = [](const Maker& a, const Maker& b) { return a.tensor < b.tensor; };
  std::sort(makers.begin(), makers.end(), before);
  const auto maker_of = [&](int32_t tensor) {
    const Maker* found = std::lower_bound(makers.begin(), makers.end(), Maker{tensor, 0}, before);
    return found != makers.end() && found->tensor == tensor ? static_cast<int32_t>(found->node) : -1;
  };
  const bool everywhere = !IsSmallPart();
  const auto end = static_cast<uint32_t>(everywhere ? segment_.nodes.size() : segment_.end);
  for (uint32_t i = everywhere ? 0 : segment_.begin; i < end; ++i) {
    const PlanNode& reader = segment_.nodes[i];
    const bool inside = i >= segment_.begin && i < segment_.end;
    for (size_t input = 0; input < reader.inputs.size(); ++input) {
      const int32_t maker = maker_of(reader.inputs[input]);
      if (maker < 0) continue;
      Node& made = nodes_[static_cast<size_t>(maker)];
      if (inside && input == 0) {
        nodes_[i - segment_.begin].codes_from = maker;
        made.needs_codes = true;
      } else {
        made.needs_reals = true;
      }
    }
  }
  for (size_t i = 0; everywhere && i < segment_.outputs.size(); ++i) {
    if (const int32_t maker = maker_of(segment_.outputs[i]); maker >= 0)
      nodes_[static_cast<size_t>(maker)].needs_reals = true;
  }
  for (Node& node : nodes_)
    node.needs_reals |= !everywhere || options_.keep_intermediates || !node.needs_codes;
  return OkStatus();
}

/// Which products read codes at these extents, and so what has to be there for them.
Status Segment::LinkCodes() {
  for (Node& node : nodes_) {
    if (node.step != nullptr) node.step->SetCodes(nullptr);
    node.wants_reals = node.needs_reals;
    node.wants_codes = false;
  }
  const auto codes_of = [](const Node& node) {
    return node.mode == Mode::kStep ? node.step->AsFakeQuantize() : nullptr;
  };
  for (Node& node : nodes_) {
    if (node.codes_from < 0) continue;
    Node& maker = nodes_[static_cast<size_t>(node.codes_from)];
    FakeQuantizeStep* const codes = codes_of(maker);
    if (codes == nullptr) continue;
    const bool reads_codes = node.mode == Mode::kStep && node.step->wants_codes();
    if (reads_codes) node.step->SetCodes(codes);
    (reads_codes ? maker.wants_codes : maker.wants_reals) = true;
  }
  for (Node& node : nodes_) {
    FakeQuantizeStep* const codes = codes_of(node);
    if (codes != nullptr) SKIFF_RETURN_IF_ERROR(codes->Want(node.wants_codes, node.wants_reals));
  }
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].mode == Mode::kStep && nodes_[i].step->wants_codes() && !nodes_[i].step->has_codes())
      SKIFF_RETURN_IF_ERROR(UseReference(i));
  }
  return OkStatus();
}

}  // namespace skiff::xnnpack
