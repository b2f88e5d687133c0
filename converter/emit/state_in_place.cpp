// Decides which variables are updated where they lie: those whose next value is a scatter, or a chain of
// them, of the present one. The rest is copied from run to run (docs/architecture.md, "State").
#include <algorithm>

#include "emit/plan_draft.h"
#include "graph/shape_program.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// One variable of a draft.
class StateUpdate {
 public:
  StateUpdate(PlanDraft& draft, int32_t now, int32_t next)
      : draft_(draft), now_(now), next_(next), version_(draft.tensors.size(), kApart) {}

  /// Changes nothing where the update has to be a copy.
  void PutInPlace() {
    if (!FindChain() || !OldValuesAreDone()) return;
    for (const size_t n : writes_) {
      draft_.placements[At(draft_.nodes[n].outputs[0])].buffer = now_;
      draft_.nodes[n].support = nullptr;
    }
    for (const size_t n : renames_) {
      const int32_t whole = draft_.nodes[n].inputs[0];
      const int32_t root = draft_.placements[At(whole)].view_of;
      draft_.placements[At(draft_.nodes[n].outputs[0])].view_of =
          root == TensorPlacement::kRoot ? whole : root;
    }
  }

 private:
  static constexpr int kApart = -1;
  static size_t At(int32_t tensor) { return static_cast<size_t>(tensor); }
  const Node& NodeAt(size_t n) const { return draft_.graph->node(draft_.nodes[n].id); }

  bool IsWrite(size_t n) const {
    const Node& node = NodeAt(n);
    return (node.op == OpCode::kScatterElements || node.op == OpCode::kScatterND) &&
           node.As<ScatterAttrs>().reduction == ScatterReduction::kNone;
  }
  bool IsRename(size_t n) const { return FindOp(NodeAt(n).op)->Is(kReinterpret); }
  /// Its results may become views of its first input.
  bool MayView(size_t n) const {
    return IsRename(n) || NodeAt(n).op == OpCode::kSlice || NodeAt(n).op == OpCode::kSplit;
  }

  /// All of the variable, whatever the shape of the call.
  bool IsWhole(int32_t tensor) const {
    const TensorView& view = draft_.tensors[At(tensor)].view;
    const TensorView& now = draft_.tensors[At(now_)].view;
    const bool known =
        std::all_of(view.shape.begin(), view.shape.end(), [](int64_t extent) { return extent >= 0; });
    return known && view.dtype == now.dtype && view.shape.elements() == now.shape.elements() &&
           view.quantization == nullptr && view.dense();
  }

  /// From the next value back to the present one, first node first. Nothing on the way is a caller's output.
  bool FindChain() {
    int32_t at = next_;
    while (at != now_) {
      if (!IsWhole(at) || IsCallers(at)) return false;
      const auto producer =
          std::find_if(draft_.nodes.begin(), draft_.nodes.end(), [at](const DraftNode& node) {
            return std::find(node.outputs.begin(), node.outputs.end(), at) != node.outputs.end();
          });
      if (producer == draft_.nodes.end() || producer->shape_program) return false;
      const auto n = static_cast<size_t>(producer - draft_.nodes.begin());
      if (!IsWrite(n) && !IsRename(n)) return false;
      (IsWrite(n) ? writes_ : renames_).insert((IsWrite(n) ? writes_ : renames_).begin(), n);
      at = draft_.nodes[n].inputs[0];
    }
    return IsWhole(now_) && !writes_.empty();
  }

  bool IsCallers(int32_t tensor) const {
    const auto callers = draft_.outputs.end() - static_cast<std::ptrdiff_t>(draft_.graph->variables.size());
    return std::find(draft_.outputs.begin(), callers, tensor) != callers;
  }

  /// In the order of the plan, everything that may share memory with the variable is read before the next
  /// write. kApart: it does not.
  bool OldValuesAreDone() {
    int written = 0;
    version_[At(now_)] = 0;
    for (size_t n = 0; n < draft_.nodes.size(); ++n) {
      const DraftNode& node = draft_.nodes[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0 || version_[At(node.inputs[i])] == kApart) continue;
        if (version_[At(node.inputs[i])] != written || DecidesShape(n, i)) return false;
      }
      const bool writes = std::find(writes_.begin(), writes_.end(), n) != writes_.end();
      if (writes) {
        for (size_t i = 1; i < node.inputs.size(); ++i) {
          if (version_[At(node.inputs[i])] != kApart) return false;
        }
        ++written;
      }
      const bool views = MayView(n) && version_[At(node.inputs[0])] != kApart;
      for (const int32_t output : node.outputs) version_[At(output)] = writes || views ? written : kApart;
    }
    return std::all_of(draft_.outputs.begin(), draft_.outputs.end(), [&](int32_t output) {
      return version_[At(output)] == kApart || version_[At(output)] == written;
    });
  }

  bool DecidesShape(size_t n, size_t input) const {
    if (draft_.nodes[n].shape_program && NodeAt(n).op != OpCode::kShape) return true;
    return input < NodeAt(n).inputs.size() && NeedsValues(NodeAt(n), input);
  }

  PlanDraft& draft_;
  const int32_t now_;   ///< The variable's input.
  const int32_t next_;  ///< Its output.
  std::vector<size_t> writes_, renames_;
  std::vector<int> version_;  ///< By tensor: behind how many writes it is what the memory holds.
};

}  // namespace

void UpdateStatesInPlace(PlanDraft& draft) {
  if (draft.target != Target::kCpu) return;
  const size_t variables = draft.graph->variables.size();
  for (size_t i = 0; i < variables; ++i)
    StateUpdate(draft, draft.inputs[draft.inputs.size() - variables + i],
                draft.outputs[draft.outputs.size() - variables + i])
        .PutInPlace();
  draft.segments = SegmentsOf(draft.nodes);
}

}  // namespace skiff
