#include "session/late_body.h"

#include <cstring>

#include "core/memory_account.h"

namespace skiff {
namespace {

/// A plan that is bounded has its place in the arena around it; what only the device can tell has its own.
bool Fits(const ShapeState& state, const TensorView& scratch) {
  return state.arena_bytes() <= static_cast<uint64_t>(scratch.bytes());
}

}  // namespace

Status LateBody::Prepare(const PlanData& plan, const SessionOptions& options, DelegateSessions& sessions) {
  plan_ = &plan;
  options_ = &options;
  sessions_ = &sessions;
  SKIFF_RETURN_IF_ERROR(
      states_.Allocate(static_cast<size_t>(options.kept_shapes > 1 ? options.kept_shapes : 1)));
  SKIFF_RETURN_IF_ERROR(inputs_.Allocate(plan.inputs.size()));
  SKIFF_RETURN_IF_ERROR(varies_.Allocate(plan.inputs.size()));
  return places_.Allocate(plan.inputs.size());
}

void LateBody::SetStale() {
  for (ShapeState& state : states_) {
    state.SetStale();
    state.last_use = 0;  // The first ones are taken first: what they hold is there already.
  }
}

Status LateBody::ReadVaryingExtents() {
  if (extents_.empty()) {
    size_t extents = 0;
    for (size_t i = 0; i < inputs_.size(); ++i)
      extents += varies_[i] ? static_cast<size_t>(Stated(i).rank()) : 0;
    SKIFF_RETURN_IF_ERROR(extents_.Allocate(extents));
  }
  size_t at = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!varies_[i]) continue;
    if (inputs_[i].shape.rank() != Stated(i).rank())
      return Fail(StatusCode::kInvalidArgument, "input %zu of a body is %s, it must be of rank %d", i,
                  ShapeText(inputs_[i].shape).c_str(), Stated(i).rank());
    for (const int64_t extent : inputs_[i].shape) extents_[at++] = extent;
  }
  return OkStatus();
}

Status LateBody::Run(const TensorView& scratch, const RunContext& context) {
  if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
    return Status(StatusCode::kCancelled);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (places_[i] == inputs_[i].data) continue;
    places_[i] = inputs_[i].data;
    ++addresses_;
  }
  SKIFF_RETURN_IF_ERROR(ReadVaryingExtents());
  SKIFF_RETURN_IF_ERROR(ChooseState(scratch));
  current_->last_use = ++runs_;
  if (current_->bound_to != addresses_) {
    unsigned char* const arena = Fits(*current_, scratch) ? scratch.as<unsigned char>() : own_arena_.data();
    SKIFF_RETURN_IF_ERROR(current_->Bind(arena, places_));
    current_->bound_to = addresses_;
  }
  if (options_->poison && own_arena_.size() > 0) std::memset(own_arena_.data(), 0xFF, own_arena_.size());
  return current_->Run({nullptr, context.cancelled, context.loop_steps_left});
}

uint64_t LateBody::workspace_bytes() const {
  uint64_t bytes = own_arena_.size();
  // Stale ones hold theirs, too; the one that is being made ready is counted by who makes it.
  for (const ShapeState& state : states_) bytes += &state == preparing_ ? 0 : state.workspace_bytes();
  return bytes;
}

Status LateBody::ChooseState(const TensorView& scratch) {
  ShapeState* chosen = nullptr;
  for (size_t i = 0; chosen == nullptr && i < states_.size(); ++i)
    chosen = states_[i].Is(*plan_, extents_, inputs_) ? &states_[i] : nullptr;
  if (chosen == nullptr) {
    chosen = &states_[0];
    for (ShapeState& state : states_) chosen = state.last_use < chosen->last_use ? &state : chosen;
    current_ = nullptr;
    SKIFF_RETURN_IF_ERROR(MakeReady(*chosen, scratch));
  }
  current_ = chosen;
  return OkStatus();
}

Status LateBody::MakeReady(ShapeState& state, const TensorView& scratch) {
  const AllocationLimit limit(sessions_->MemoryLeft());
  preparing_ = &state;
  Status status = state.FindShapes(*plan_, *options_, inputs_, *sessions_);
  if (status.ok() && !Fits(state, scratch)) status = GrowArena(state.arena_bytes());
  if (status.ok()) status = state.Prepare(extents_, inputs_);
  preparing_ = nullptr;
  if (status.ok()) {
    state.SetReady();
  } else {
    state.Release();
  }
  return status;
}

Status LateBody::GrowArena(uint64_t bytes) {
  if (own_arena_.data() != nullptr && bytes <= own_arena_.size()) return OkStatus();
  SKIFF_RETURN_IF_ERROR(
      sessions_->CheckGrowth(bytes - own_arena_.size(), "the arena of what follows from counted elements"));
  ++addresses_;
  return own_arena_.Grow(bytes, "an arena");
}

}  // namespace skiff
