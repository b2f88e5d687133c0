// A Stage: the rest of a plan, made ready during the run, when the elements that decide its shapes are there.
// Of these it keeps a few, so that a count that was there before costs nothing.
#include <cstring>

#include "core/buffer.h"
#include "core/platform.h"
#include "plan/body_ports.h"
#include "session/control_segment.h"
#include "session/shape_state.h"

namespace skiff {
namespace {

class StageSegment final : public BodySegment {
 public:
  StageSegment(ShapedPlan& shaped, uint32_t node, const SessionOptions& options, DelegateSessions& sessions)
      : shaped_(shaped),
        node_(shaped.plan().nodes[node]),
        index_(node),
        options_(options),
        sessions_(sessions) {}

  Status Prepare() {
    const int kept = options_.kept_shapes > 1 ? options_.kept_shapes : 1;
    SKIFF_RETURN_IF_ERROR(states_.Allocate(static_cast<size_t>(kept)));
    SKIFF_RETURN_IF_ERROR(inputs_.Allocate(node_.inputs.size()));
    size_t extents = 0;
    for (const int32_t input : node_.inputs) extents += LateRank(input);
    SKIFF_RETURN_IF_ERROR(late_extents_.Allocate(extents));
    return places_.Allocate(node_.inputs.size());
  }

  /// What was made ready was for inputs of other shapes.
  Status Reshape() override {
    for (ShapeState& state : states_) state.SetStale();
    return OkStatus();
  }

  Status Bind() override {
    ++addresses_;
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
      return Status(StatusCode::kCancelled);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = shaped_.tensors()[static_cast<size_t>(node_.inputs[i])].view;
      places_[i] = inputs_[i].data;
    }
    ReadLateExtents();
    SKIFF_RETURN_IF_ERROR(ChooseState());
    current_->last_use = ++runs_;
    if (current_->bound_to != addresses_) {
      SKIFF_RETURN_IF_ERROR(current_->Bind(ArenaOf(*current_), places_));
      current_->bound_to = addresses_;
    }
    if (options_.poison && own_arena_.size() > 0) std::memset(own_arena_.data(), 0xFF, own_arena_.size());
    SKIFF_RETURN_IF_ERROR(current_->Run({nullptr, context.cancelled, context.loop_steps_left}));
    SKIFF_RETURN_IF_ERROR(TakeResults());
    if (context.timer != nullptr) context.timer->Record(index_, begin, platform::NowNanoseconds());
    return OkStatus();
  }

  bool FellBack(uint32_t) const override {
    return current_ != nullptr && current_->prepared().SomethingFellBack();
  }

  uint64_t workspace_bytes() const override {
    uint64_t bytes = own_arena_.size();
    for (const ShapeState& state : states_) bytes += state.ready() ? state.workspace_bytes() : 0;
    return bytes;
  }

  Span<const PreparedPlan> bodies() const override {
    if (current_ == nullptr) return {};
    return {&current_->prepared(), 1};
  }

 private:
  size_t LateRank(int32_t input) const {
    if (!shaped_.plan().IsLate(input)) return 0;
    return static_cast<size_t>(shaped_.plan().tensors[static_cast<size_t>(input)].view.shape.rank());
  }

  /// The other inputs have the same shapes in all runs, until a Reshape().
  void ReadLateExtents() {
    size_t at = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      for (size_t axis = 0; axis < LateRank(node_.inputs[i]); ++axis)
        late_extents_[at++] = inputs_[i].shape[static_cast<int>(axis)];
    }
  }

  const TensorView& Scratch() { return shaped_.tensors()[static_cast<size_t>(ScratchOf(node_))].view; }

  /// A plan that is bounded has its place in the arena around it; what only the device can tell has its own.
  bool FitsScratch(const ShapeState& state) {
    return state.arena_bytes() <= static_cast<uint64_t>(Scratch().bytes());
  }
  unsigned char* ArenaOf(const ShapeState& state) {
    return FitsScratch(state) ? Scratch().as<unsigned char>() : own_arena_.data();
  }

  Status ChooseState() {
    const PlanData& plan = node_.bodies[0];
    ShapeState* chosen = nullptr;
    for (size_t i = 0; chosen == nullptr && i < states_.size(); ++i)
      chosen = states_[i].Is(plan, late_extents_, inputs_) ? &states_[i] : nullptr;
    if (chosen == nullptr) {
      chosen = &states_[0];
      for (ShapeState& state : states_) chosen = state.last_use < chosen->last_use ? &state : chosen;
      current_ = nullptr;
      SKIFF_RETURN_IF_ERROR(MakeReady(*chosen, plan));
    }
    current_ = chosen;
    return OkStatus();
  }

  Status MakeReady(ShapeState& state, const PlanData& plan) {
    SKIFF_RETURN_IF_ERROR(state.Prepare(plan, options_, late_extents_, inputs_, sessions_));
    Status status = FitsScratch(state) ? OkStatus() : GrowArena(state.arena_bytes());
    if (status.ok()) {
      state.SetReady();
    } else {
      state.Release();
    }
    return status;
  }

  Status GrowArena(uint64_t bytes) {
    if (own_arena_.data() != nullptr && bytes <= own_arena_.size()) return OkStatus();
    SKIFF_RETURN_IF_ERROR(sessions_.CheckGrowth(bytes, "the arena of what follows from counted elements"));
    ++addresses_;
    return own_arena_.Grow(bytes, "an arena");
  }

  Status TakeResults() {
    const Span<const int32_t> results = BodyResults(node_);
    const PlanData& plan = node_.bodies[0];
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorView& view = current_->tensors()[static_cast<size_t>(plan.outputs[i])].view;
      SKIFF_RETURN_IF_ERROR(TakeLate(shaped_, node_, i, view));
    }
    return OkStatus();
  }

  ShapedPlan& shaped_;
  const PlanNode& node_;
  const uint32_t index_;
  const SessionOptions& options_;
  DelegateSessions& sessions_;
  FixedArray<TensorView> inputs_;
  FixedArray<void*> places_;
  FixedArray<int64_t> late_extents_;
  FixedArray<ShapeState> states_;
  ShapeState* current_ = nullptr;
  Buffer own_arena_;
  uint64_t addresses_ = 1;  ///< Counts changes of the arenas' and the inputs' addresses.
  uint64_t runs_ = 0;
};

}  // namespace

Status TakeLate(ShapedPlan& shaped, const PlanNode& node, size_t i, const TensorView& view) {
  const int32_t result = node.outputs[i];
  const TensorView& stated = shaped.plan().tensors[static_cast<size_t>(result)].view;
  bool same = view.shape.rank() == stated.shape.rank();
  for (int axis = 0; same && axis < view.shape.rank(); ++axis)
    same = stated.shape[axis] < 0 || stated.shape[axis] == view.shape[axis];
  if (!same)
    return Fail(StatusCode::kInvalidArgument, "node '%s' (%s): result %zu is %s, the model says %s",
                node.name, node.op->name, i, ShapeText(view.shape).c_str(), ShapeText(stated.shape).c_str());
  shaped.SetLate(result, view);
  return OkStatus();
}

Result<std::unique_ptr<PreparedSegment>> PrepareStageSegment(ShapedPlan& shaped, uint32_t node,
                                                             const SessionOptions& options,
                                                             DelegateSessions& sessions) {
  std::unique_ptr<StageSegment> prepared(new (std::nothrow) StageSegment(shaped, node, options, sessions));
  if (!prepared) return Fail(StatusCode::kOutOfMemory, "cannot allocate a control segment");
  SKIFF_RETURN_IF_ERROR(prepared->Prepare());
  return std::unique_ptr<PreparedSegment>(std::move(prepared));
}

}  // namespace skiff
