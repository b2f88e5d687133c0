// Decides where each tensor of a plan lies: inside another one (a view), over one that dies (in place), or in
// a buffer of its own, whose offset the memory planner finds.
#include <algorithm>

#include "emit/plan_draft.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "ops/op_codes.h"
#include "plan/memory_planner.h"
#include "plan/placement.h"

namespace skiff {
namespace {

class ArenaPlanner {
 public:
  explicit ArenaPlanner(PlanDraft& draft)
      : draft_(draft),
        types_(draft.typical.empty() ? draft.tensors : draft.typical),
        tensors_{types_.data(), types_.size()} {
    const size_t count = draft.tensors.size();
    producer_.assign(count, -1);
    users_.resize(count);
    graph_input_.assign(count, false);
    graph_output_.assign(count, false);
    updated_state_.assign(count, false);
    buffer_of_.resize(count);
    for (size_t i = 0; i < count; ++i) buffer_of_[i] = i;
    views_of_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const int32_t whole = draft.placements[i].view_of;
      if (whole != TensorPlacement::kRoot) views_of_[Slot(whole)].push_back(static_cast<int32_t>(i));
    }
    shape_value_.assign(count, false);
    late_.assign(count, false);
    for (size_t n = 0; n < draft.nodes.size(); ++n) {
      views_.push_back(draft.ViewOf(n));
      if (draft.nodes[n].shape_program) {
        for (const int32_t output : draft.nodes[n].outputs) shape_value_[Slot(output)] = true;
      }
      const Node& node = draft.graph->node(draft.nodes[n].id);
      for (size_t i = 0; i < node.outputs.size(); ++i)
        late_[Slot(draft.nodes[n].outputs[i])] =
            node.op == OpCode::kStage || IsCountedResult(*draft_.graph, node, i);
      for (const int32_t output : draft.nodes[n].outputs) producer_[Slot(output)] = static_cast<int32_t>(n);
      for (size_t i = 0; i < draft.nodes[n].inputs.size(); ++i) {
        if (draft.nodes[n].inputs[i] >= 0) users_[Slot(draft.nodes[n].inputs[i])].push_back({n, i});
      }
    }
    for (size_t i = 0; i < count; ++i) {
      // A variable's input; it and what is written over it lie in the variable's own memory.
      const int32_t state = draft.placements[i].buffer;
      if (state == TensorPlacement::kRoot) continue;
      buffer_of_[i] = Slot(state);
      updated_state_[Slot(state)] = true;
    }
    for (const int32_t input : draft.inputs) graph_input_[Slot(input)] = true;
    for (const int32_t output : draft.outputs) graph_output_[Slot(output)] = true;
  }

  void Plan() {
    // Outer concats first: an inner one then composes with the place that its result already has.
    const size_t first = draft_.shape_node_count;
    for (size_t n = views_.size(); n-- > first;) {
      if (views_[n].op->code == OpCode::kConcat) ViewConcatInputs(n);
    }
    for (size_t n = first; n < views_.size(); ++n) {
      if (views_[n].op->Is(kReinterpret)) ViewReinterpretation(n);
      if (views_[n].op->code == OpCode::kSplit || views_[n].op->code == OpCode::kSlice) ViewParts(n);
    }
    uses_.resize(types_.size());
    for (size_t i = 0; i < types_.size(); ++i) CountUse(static_cast<int32_t>(i));
    for (size_t n = first; n < views_.size(); ++n) {
      if (views_[n].op->Is(kUnary) || views_[n].op->Is(kBinary)) RunInPlace(n);
    }
    AssignOffsets();
    for (size_t i = 0; i < types_.size(); ++i) {
      TensorView& view = draft_.tensors[i].view;
      if (types_[i].view.row_stride == types_[i].view.shape.last()) {
        view.row_stride = view.shape.last();
      } else {
        view.row_stride = types_[i].view.row_stride;
      }
    }
  }

 private:
  struct User {
    size_t node;
    size_t input;
  };

  static size_t Slot(int32_t tensor) { return static_cast<size_t>(tensor); }
  /// With sizes that may occur, where they are open.
  PlanTensor& Tensor(int32_t index) { return types_[Slot(index)]; }
  const std::vector<Dim>& DimsOf(int32_t index) const {
    return draft_.graph->value(draft_.values[Slot(index)]).dims;
  }
  /// The place of a part is the same at every size: one shape only, or the innermost axis, whose extents are
  /// numbers.
  bool PlaceIsFixed(int32_t part, int32_t whole) const {
    const std::vector<Dim>& outer = DimsOf(whole);
    const std::vector<Dim>& inner = DimsOf(part);
    if (draft_.kind == BucketKind::kExact) return true;
    if (inner.empty() || inner.size() != outer.size() || !inner.back().constant() || !outer.back().constant())
      return false;
    return std::equal(inner.begin(), inner.end() - 1, outer.begin());
  }
  bool IsPlanned(int32_t index) const {
    const size_t slot = Slot(index);
    return !types_[slot].constant && !shape_value_[slot] && !late_[slot] &&
           !(draft_.inputs_outside && graph_input_[slot]) && !updated_state_[BufferOf(index)];
  }
  TensorPlacement& PlacementOf(int32_t index) { return draft_.placements[Slot(index)]; }
  bool IsRoot(int32_t index) { return PlacementOf(index).view_of == TensorPlacement::kRoot; }

  /// Bodies want dense tensors.
  bool UsersTakeStrides(int32_t tensor) const {
    return std::all_of(users_[Slot(tensor)].begin(), users_[Slot(tensor)].end(), [this](const User& user) {
      std::vector<const PlanTensor*> storage;
      const DelegateSupport* support = draft_.nodes[user.node].support;
      return support != nullptr && support->TakesStridedInput(draft_.TypesOf(user.node, storage), user.input);
    });
  }

  bool ProducerWritesStrides(int32_t tensor) const {
    const auto node = Slot(producer_[Slot(tensor)]);
    std::vector<const PlanTensor*> storage;
    const DelegateSupport* support = draft_.nodes[node].support;
    return support != nullptr && support->WritesStridedOutput(draft_.TypesOf(node, storage));
  }

  /// Makes `part` a view of `whole` at `place` (and re-bases what was a view of `part`). False when that
  /// place cannot be expressed within the place that `whole` itself has.
  bool MakeView(int32_t part, int32_t whole, const Placement& place) {
    TensorView& part_view = Tensor(part).view;
    const TensorView& whole_view = Tensor(whole).view;
    const bool by_rows =
        place.row_stride != part_view.shape.last() && part_view.shape.elements() > part_view.shape.last();
    if (!whole_view.dense()) {
      // Inside a strided tensor only parts of the innermost axis keep one stride.
      const bool rows_match = whole_view.shape.elements() / whole_view.shape.last() ==
                              part_view.shape.elements() / part_view.shape.last();
      if (!rows_match || place.offset + part_view.shape.last() > whole_view.shape.last()) return false;
    }
    if (!views_of_[Slot(part)].empty()) return false;
    const uint64_t offset = static_cast<uint64_t>(place.offset * DTypeSize(part_view.dtype));
    part_view.row_stride =
        whole_view.dense() ? (by_rows ? place.row_stride : part_view.shape.last()) : whole_view.row_stride;
    const bool whole_is_root = IsRoot(whole);
    PlacementOf(part).view_of = whole_is_root ? whole : PlacementOf(whole).view_of;
    PlacementOf(part).offset = offset + (whole_is_root ? 0 : PlacementOf(whole).offset);
    views_of_[Slot(PlacementOf(part).view_of)].push_back(part);
    return true;
  }

  bool NeedsStride(const TensorView& part, const TensorView& whole, const Placement& place) const {
    if (part.shape.elements() <= part.shape.last()) return false;
    return place.row_stride != part.shape.last() || !whole.dense();
  }

  /// A Concat that writes this root reads the tensor: as a view of the root, it would be overwritten
  /// meanwhile.
  bool IsJoinedInto(int32_t part, int32_t whole, size_t after = 0) const {
    const auto root = [this](int32_t tensor) {
      const int32_t viewed = draft_.placements[Slot(tensor)].view_of;
      return viewed == TensorPlacement::kRoot ? tensor : viewed;
    };
    return std::any_of(users_[Slot(part)].begin(), users_[Slot(part)].end(), [&](const User& user) {
      const PlanNode& node = views_[user.node];
      return user.node >= after && node.op->code == OpCode::kConcat && root(node.outputs[0]) == root(whole);
    });
  }

  void ViewConcatInputs(size_t n) {
    const PlanNode& node = views_[n];
    const int32_t whole = node.outputs[0];
    if (Tensor(whole).view.shape.elements() == 0) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int32_t part = node.inputs[i];
      Placement place;
      const bool candidate = !Tensor(part).constant && !shape_value_[Slot(part)] &&
                             PlaceIsFixed(part, whole) && !graph_input_[Slot(part)] &&
                             !graph_output_[Slot(part)] && IsRoot(part) && producer_[Slot(part)] >= 0 &&
                             !updated_state_[BufferOf(part)] &&
                             std::count(node.inputs.begin(), node.inputs.end(), part) == 1 &&
                             Tensor(part).view.shape.elements() > 0 && !IsJoinedInto(part, whole, n + 1) &&
                             PlaceInConcat(tensors_, node, i, &place);
      if (!candidate) continue;
      if (NeedsStride(Tensor(part).view, Tensor(whole).view, place) &&
          (!ProducerWritesStrides(part) || !UsersTakeStrides(part)))
        continue;
      MakeView(part, whole, place);
    }
  }

  /// An output must outlive a change of the input, whose memory may even be the caller's.
  bool IsOutputOfInput(int32_t part, int32_t whole) const {
    return graph_output_[Slot(part)] && graph_input_[BufferOf(whole)];
  }

  void ViewReinterpretation(size_t n) {
    const int32_t whole = views_[n].inputs[0];
    const int32_t part = views_[n].outputs[0];
    if (Tensor(whole).constant || shape_value_[Slot(whole)] || !Tensor(whole).view.dense() || !IsRoot(part) ||
        !Tensor(part).view.dense())
      return;
    if (IsOutputOfInput(part, whole) || IsJoinedInto(part, whole)) return;
    MakeView(part, whole, {0, Tensor(part).view.shape.last()});
  }

  void ViewParts(size_t n) {
    const PlanNode& node = views_[n];
    const int32_t whole = node.inputs[0];
    if (Tensor(whole).constant || shape_value_[Slot(whole)]) return;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int32_t part = node.outputs[o];
      Placement place;
      if (!IsRoot(part) || !PlaceIsFixed(part, whole) || Tensor(part).view.shape.elements() == 0 ||
          IsOutputOfInput(part, whole) || IsJoinedInto(part, whole) ||
          !PlaceInInput(tensors_, node, o, &place))
        continue;
      const bool strided = NeedsStride(Tensor(part).view, Tensor(whole).view, place);
      if (strided && (graph_output_[Slot(part)] || !UsersTakeStrides(part))) continue;
      MakeView(part, whole, place);
    }
  }

  /// The root tensor whose memory holds this one, after in-place merging.
  size_t BufferOf(int32_t tensor) const {
    size_t slot = Slot(tensor);
    if (draft_.placements[slot].view_of != TensorPlacement::kRoot)
      slot = Slot(draft_.placements[slot].view_of);
    while (buffer_of_[slot] != slot) slot = buffer_of_[slot];
    return slot;
  }

  /// What is known of all tensors of a buffer.
  struct BufferUse {
    bool is_port = false;
    int32_t written = -1;  ///< By which node last.
    int32_t read = -1;
  };

  void CountUse(int32_t tensor) {
    if (!IsPlanned(tensor)) return;
    const size_t slot = Slot(tensor);
    BufferUse& use = uses_[BufferOf(tensor)];
    use.is_port = use.is_port || graph_input_[slot] || graph_output_[slot];
    use.written = std::max(use.written, producer_[slot]);
    for (const User& user : users_[slot]) use.read = std::max(use.read, static_cast<int32_t>(user.node));
  }

  /// Nobody but node `n` reads any tensor of this buffer at or after `n`.
  bool BufferDiesAt(size_t buffer, size_t n) const {
    const BufferUse& use = uses_[buffer];
    const auto node = static_cast<int32_t>(n);
    return !use.is_port && use.written < node && use.read <= node;
  }

  void RunInPlace(size_t n) {
    const PlanNode& node = views_[n];
    const int32_t output = node.outputs[0];
    if (!IsRoot(output) || !Tensor(output).view.dense()) return;
    const size_t candidates = node.op->Is(kUnary) ? 1 : node.inputs.size();
    for (const int32_t input : Span<const int32_t>(node.inputs.data(), candidates)) {
      if (input < 0 || !IsPlanned(input) || !IsRoot(input)) continue;
      const TensorView& view = Tensor(input).view;
      if (view.dtype != Tensor(output).view.dtype || DimsOf(input) != DimsOf(output)) continue;
      const size_t buffer = BufferOf(input);
      if (!BufferDiesAt(buffer, n)) continue;
      // A second operand that is another view of the same buffer would be overwritten while it is read.
      const bool aliased = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t other) {
        return other >= 0 && other != input && IsPlanned(other) && BufferOf(other) == buffer;
      });
      if (aliased) continue;
      buffer_of_[Slot(output)] = buffer;
      CountUse(output);
      for (const int32_t view : views_of_[Slot(output)]) CountUse(view);
      return;
    }
  }

  void AssignOffsets() {
    const auto end = static_cast<int32_t>(draft_.nodes.size());
    std::vector<BufferLifetime> lifetimes;
    std::vector<int32_t> index(draft_.tensors.size(), -1);
    for (size_t t = 0; t < draft_.tensors.size(); ++t) {
      const size_t root = IsRoot(static_cast<int32_t>(t)) ? t : Slot(draft_.placements[t].view_of);
      // What lies in a branch's arena needs that arena for as long.
      const bool in_scratch = late_[t] && root != t;
      if (!IsPlanned(static_cast<int32_t>(root)) || !(IsPlanned(static_cast<int32_t>(t)) || in_scratch))
        continue;
      const size_t buffer = BufferOf(static_cast<int32_t>(t));
      // An input keeps its value between runs, so nothing else may use its memory.
      const int32_t first = graph_input_[t] ? 0 : producer_[t];
      int32_t last = graph_input_[t] || graph_output_[t] ? end : first;
      for (const User& user : users_[t]) last = std::max(last, static_cast<int32_t>(user.node));
      if (index[buffer] < 0) {
        index[buffer] = static_cast<int32_t>(lifetimes.size());
        lifetimes.push_back({BytesOf(buffer), first, last});
      }
      BufferLifetime& lifetime = lifetimes[Slot(index[buffer])];
      lifetime.bytes = std::max(lifetime.bytes, BytesOf(root));
      lifetime.first = std::min(lifetime.first, first);
      lifetime.last = std::max(lifetime.last, last);
    }
    if (draft_.kind == BucketKind::kUnbounded) return NameBuffers();
    std::vector<uint64_t> offsets(lifetimes.size());
    const Span<const BufferLifetime> buffers{lifetimes.data(), lifetimes.size()};
    MemoryPlanner planner;
    if (const Status status = planner.Init(buffers); !status.ok())
      Throw(status.code(), "planning the arena ran out of memory");
    draft_.arena_bytes = planner.Plan(buffers, /*slack=*/0, {offsets.data(), offsets.size()});
    draft_.arena_lower_bound = planner.LowerBound(buffers);
    for (size_t t = 0; t < draft_.tensors.size(); ++t) {
      if (IsPlanned(static_cast<int32_t>(t)) && IsRoot(static_cast<int32_t>(t))) {
        draft_.placements[t].offset = offsets[Slot(index[BufferOf(static_cast<int32_t>(t))])];
      }
    }
  }

  uint64_t BytesOf(size_t tensor) const {
    return draft_.kind == BucketKind::kExact
               ? static_cast<uint64_t>(types_[tensor].view.bytes())
               : static_cast<uint64_t>(std::max<int64_t>(draft_.largest_bytes[tensor], 0));
  }

  /// The device finds the offsets; it needs to know which tensors share a buffer.
  void NameBuffers() {
    for (size_t t = 0; t < types_.size(); ++t) {
      const auto index = static_cast<int32_t>(t);
      if (IsPlanned(index) && IsRoot(index) && BufferOf(index) != t)
        draft_.placements[t].buffer = static_cast<int32_t>(BufferOf(index));
    }
  }

  PlanDraft& draft_;
  std::vector<PlanTensor>& types_;
  Span<const PlanTensor> tensors_;
  std::vector<PlanNode> views_;
  std::vector<int32_t> producer_;
  std::vector<std::vector<User>> users_;
  std::vector<bool> graph_input_, graph_output_, shape_value_, late_;
  std::vector<bool> updated_state_;  ///< Inputs of variables that are updated where they lie.
  std::vector<size_t> buffer_of_;    ///< Union-find over root tensors.
  std::vector<std::vector<int32_t>> views_of_;
  std::vector<BufferUse> uses_;  ///< Of each buffer, from when the views are known.
};

/// Plans the arenas of a node's bodies, which run one after the other, and makes its scratch as large as the
/// larger one; where only the device can tell, its extent stays open.
void PlanScratch(PlanDraft& draft, DraftNode& node) {
  uint64_t bytes = 0;
  for (PlanDraft& body : node.bodies) {
    PlanArena(body);
    bytes = std::max(bytes, body.arena_bytes);
  }
  const auto scratch = static_cast<size_t>(node.outputs.back());
  if (draft.largest_bytes[scratch] < 0) return;
  draft.largest_bytes[scratch] = static_cast<int64_t>(bytes);
  const TensorView view(nullptr, DType::kU8, Shape{static_cast<int64_t>(bytes)});
  draft.tensors[scratch].view = view;
  if (!draft.typical.empty()) draft.typical[scratch].view = view;
}

}  // namespace

void PlanArena(PlanDraft& draft) {
  for (DraftNode& node : draft.nodes) {
    if (!node.bodies.empty()) PlanScratch(draft, node);
  }
  ArenaPlanner(draft).Plan();
}

}  // namespace skiff
