#include "shape_state.h"

#include <algorithm>
#include <cstring>

namespace skiff {

size_t ShapeState::KeyBytes(const PlanData& plan, Span<const TensorView> inputs) const {
  size_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan.shape_inputs[i]) bytes += static_cast<size_t>(inputs[i].bytes());
  }
  return bytes;
}

bool ShapeState::Is(const PlanData& plan, Span<const TensorView> inputs) const {
  if (!ready_ || adopted_ != &plan) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(shapes_[i] == inputs[i].shape)) return false;
  }
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs[i].bytes());
    if (!plan.shape_inputs[i] || bytes == 0) continue;
    if (std::memcmp(elements_.data() + at, inputs[i].data, bytes) != 0) return false;
    at += bytes;
  }
  return true;
}

Status ShapeState::Remember(Span<const TensorView> inputs) {
  if (shapes_.size() != inputs.size()) SKIFF_RETURN_IF_ERROR(shapes_.Allocate(inputs.size()));
  const size_t wanted = KeyBytes(*adopted_, inputs);
  if (elements_.size() < wanted) SKIFF_RETURN_IF_ERROR(elements_.Allocate(wanted));
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes_[i] = inputs[i].shape;
    const auto bytes = static_cast<size_t>(inputs[i].bytes());
    if (!adopted_->shape_inputs[i] || bytes == 0) continue;
    std::memcpy(elements_.data() + at, inputs[i].data, bytes);
    at += bytes;
  }
  return OkStatus();
}

Status ShapeState::Adopt(const PlanData& plan, const SessionOptions& options) {
  adopted_ = nullptr;
  prepared_ = {};
  SKIFF_RETURN_IF_ERROR(shaped_.Init(plan, options.keep_intermediates));
  const auto nodes = static_cast<uint32_t>(plan.nodes.size());
  if (options.backend == Backend::kPlanned) {
    SKIFF_RETURN_IF_ERROR(segments_.Allocate(plan.segments.size()));
    for (size_t i = 0; i < segments_.size(); ++i) segments_[i] = plan.segments[i];
  } else if (plan.shape_node_count < nodes) {
    SKIFF_RETURN_IF_ERROR(segments_.Allocate(1));
    segments_[0] = {DelegateKind::kReference, plan.shape_node_count, nodes};
  }
  adopted_ = &plan;
  return OkStatus();
}

Status ShapeState::Prepare(const PlanData& plan, const SessionOptions& options, Span<const TensorView> inputs,
                           DelegateSessions& sessions) {
  ready_ = false;
  if (adopted_ != &plan) SKIFF_RETURN_IF_ERROR(Adopt(plan, options));
  PlanMessage message;
  if (const Status status = shaped_.Shape(inputs, message); !status.ok()) {
    if (status.code() != StatusCode::kInvalidModel) return status;
    return Fail(StatusCode::kInvalidArgument, "these input shapes cannot be run: %s", message.text);
  }
  const bool fresh = prepared_.size() != segments_.size();
  if (fresh) SKIFF_RETURN_IF_ERROR(prepared_.Allocate(segments_.size()));
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (!prepared_[i]) {
      SKIFF_ASSIGN_OR_RETURN(DelegateSession * session, sessions.Get(segments_[i].delegate));
      const SegmentView view{shaped_.tensors(), plan.nodes, segments_[i].begin, segments_[i].end,
                             plan.outputs};
      SKIFF_ASSIGN_OR_RETURN(prepared_[i], session->Prepare(view));
    }
    SKIFF_RETURN_IF_ERROR(prepared_[i]->Reshape());
  }
  SKIFF_RETURN_IF_ERROR(Remember(inputs));
  bound_to = 0;
  ready_ = true;
  return OkStatus();
}

Status ShapeState::Bind(unsigned char* arena, Span<void* const> inputs) {
  shaped_.Locate(arena, inputs);
  for (const auto& segment : prepared_) SKIFF_RETURN_IF_ERROR(segment->Bind());
  return OkStatus();
}

void ShapeState::Poison() {
  constexpr int kNaN = 0xFF;  // In every floating-point type; -1 in integers.
  const PlanData& plan = shaped_.plan();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const TensorView& view = shaped_.tensors()[i].view;
    const auto index = static_cast<int32_t>(i);
    const bool input = std::find(plan.inputs.begin(), plan.inputs.end(), index) != plan.inputs.end();
    if (plan.tensors[i].constant || plan.IsShapeValue(index) || input) continue;
    if (plan.placements[i].view_of != TensorPlacement::kRoot) continue;
    std::memset(view.data, kNaN, static_cast<size_t>(view.bytes()));
  }
}

uint64_t ShapeState::workspace_bytes() const {
  uint64_t bytes = shaped_.value_bytes();
  for (const auto& segment : prepared_) bytes += segment ? segment->workspace_bytes() : 0;
  return bytes;
}

bool ShapeState::FellBack(uint32_t node) const {
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (node >= segments_[i].begin && node < segments_[i].end)
      return prepared_.size() > i && prepared_[i] && prepared_[i]->FellBack(node);
  }
  return false;
}

DelegateKind ShapeState::delegate(uint32_t node) const {
  for (const SegmentData& segment : segments_) {
    if (node >= segment.begin && node < segment.end) return segment.delegate;
  }
  return DelegateKind::kReference;
}

}  // namespace skiff
