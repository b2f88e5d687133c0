// Products that read codes where a FakeQuantize before them would write real numbers.
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/segment.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {

/// Who reads what FakeQuantize nodes make; once, because this does not depend on extents.
Status Segment::FindCodes() {
  FixedArray<int32_t> makers;  // By tensor, from 1 on.
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const PlanNode& node = segment_.nodes[segment_.begin + i];
    if (node.op->code != OpCode::kFakeQuantize) continue;
    if (makers.empty()) SKIFF_RETURN_IF_ERROR(makers.Allocate(segment_.tensors.size()));
    makers[static_cast<size_t>(node.outputs[0])] = static_cast<int32_t>(i) + 1;
  }
  if (makers.empty()) return OkStatus();
  const auto maker_of = [&](int32_t tensor) {
    return tensor < 0 ? -1 : makers[static_cast<size_t>(tensor)] - 1;
  };
  for (uint32_t i = 0; i < segment_.nodes.size(); ++i) {
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
  for (const int32_t output : segment_.outputs) {
    if (const int32_t maker = maker_of(output); maker >= 0)
      nodes_[static_cast<size_t>(maker)].needs_reals = true;
  }
  for (Node& node : nodes_) node.needs_reals |= options_.keep_intermediates || !node.needs_codes;
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
