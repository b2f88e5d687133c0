// Products that read codes where a FakeQuantize before them would write real numbers.
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/segment.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {

/// Who reads what FakeQuantize nodes make; once, because this does not depend on extents.
void Segment::FindCodes() {
  for (uint32_t maker = segment_.begin; maker < segment_.end; ++maker) {
    const PlanNode& node = segment_.nodes[maker];
    if (node.op->code != OpCode::kFakeQuantize) continue;
    const int32_t tensor = node.outputs[0];
    bool needs_reals = options_.keep_intermediates;
    bool has_readers = false;
    for (const int32_t output : segment_.outputs) needs_reals = needs_reals || output == tensor;
    for (uint32_t i = 0; i < segment_.nodes.size(); ++i) {
      const PlanNode& reader = segment_.nodes[i];
      const bool inside = i >= segment_.begin && i < segment_.end;
      for (size_t input = 0; input < reader.inputs.size(); ++input) {
        if (reader.inputs[input] != tensor) continue;
        has_readers = true;
        if (inside && input == 0) {
          nodes_[i - segment_.begin].codes_from = static_cast<int32_t>(maker - segment_.begin);
        } else {
          needs_reals = true;
        }
      }
    }
    nodes_[maker - segment_.begin].needs_reals = needs_reals || !has_readers;
  }
}

/// Which products read codes at these extents, and so what has to be there for them.
Status Segment::LinkCodes() {
  for (Node& node : nodes_) {
    if (node.step != nullptr) node.step->SetCodes(nullptr);
  }
  for (uint32_t maker = 0; maker < nodes_.size(); ++maker) {
    Node& node = nodes_[maker];
    FakeQuantizeStep* const codes = node.mode == Mode::kStep ? node.step->AsFakeQuantize() : nullptr;
    if (codes == nullptr) continue;
    bool wants_codes = false;
    bool wants_reals = node.needs_reals;
    for (uint32_t i = maker + 1; i < nodes_.size(); ++i) {
      if (nodes_[i].codes_from != static_cast<int32_t>(maker)) continue;
      const bool reads_codes = nodes_[i].mode == Mode::kStep && nodes_[i].step->wants_codes();
      if (reads_codes) nodes_[i].step->SetCodes(codes);
      wants_codes = wants_codes || reads_codes;
      wants_reals = wants_reals || !reads_codes;
    }
    SKIFF_RETURN_IF_ERROR(codes->Want(wants_codes, wants_reals));
  }
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].mode == Mode::kStep && nodes_[i].step->wants_codes() && !nodes_[i].step->has_codes())
      SKIFF_RETURN_IF_ERROR(UseReference(i));
  }
  return OkStatus();
}

}  // namespace skiff::xnnpack
