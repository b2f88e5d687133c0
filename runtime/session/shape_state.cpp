#include "session/shape_state.h"

#include "plan/built_plan.h"

#include <algorithm>
#include <cstring>

namespace skiff {

/// Of the shape inputs, which all fit this machine's memory; whether their sum does, the allocation says.
uint64_t ShapeState::ShapeInputBytes(Span<const TensorView> inputs) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    bytes += adopted_->shape_inputs[i] ? static_cast<uint64_t>(inputs[i].bytes()) : 0;
  return bytes;
}

bool ShapeState::SameElements(Span<const TensorView> inputs) const {
  if (ShapeInputBytes(inputs) != elements_used_) return false;
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs[i].bytes());
    if (!adopted_->shape_inputs[i] || bytes == 0) continue;
    if (std::memcmp(elements_.data() + at, inputs[i].data, bytes) != 0) return false;
    at += bytes;
  }
  return true;
}

Status ShapeState::Remember(Span<const int64_t> sizes, Span<const TensorView> inputs) {
  if (sizes_.size() != sizes.size()) SKIFF_RETURN_IF_ERROR(sizes_.Allocate(sizes.size()));
  std::copy(sizes.begin(), sizes.end(), sizes_.data());
  elements_used_ = ShapeInputBytes(inputs);
  if (elements_.size() < elements_used_) SKIFF_RETURN_IF_ERROR(elements_.Allocate(elements_used_));
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs[i].bytes());
    if (!adopted_->shape_inputs[i] || bytes == 0) continue;
    std::memcpy(elements_.data() + at, inputs[i].data, bytes);
    at += bytes;
  }
  return OkStatus();
}

Status ShapeState::Adopt(const PlanData& plan, const SessionOptions& options, DelegateSessions& sessions) {
  Release();
  SKIFF_RETURN_IF_ERROR(shaped_.Init(plan, options.keep_intermediates));
  if (BuildHas(Feature::kShapes)) shaped_.SetCancelled(&sessions.Cancelled());
  SKIFF_RETURN_IF_ERROR(prepared_.Adopt(shaped_, options, sessions));
  adopted_ = &plan;
  return OkStatus();
}

Status ShapeState::FindShapes(const PlanData& plan, const SessionOptions& options,
                              Span<const TensorView> inputs, DelegateSessions& sessions) {
  ready_ = false;
  if (adopted_ != &plan) SKIFF_RETURN_IF_ERROR(Adopt(plan, options, sessions));
  PlanMessage message;
  if (const Status status = shaped_.Shape(inputs, message); !status.ok()) {
    if (status.code() != StatusCode::kInvalidModel) return status;
    return Fail(StatusCode::kInvalidArgument, "these input shapes cannot be run: %s", message.text);
  }
  return OkStatus();
}

Status ShapeState::Prepare(Span<const int64_t> sizes, Span<const TensorView> inputs) {
  bound_to = 0;
  SKIFF_RETURN_IF_ERROR(prepared_.Reshape());
  return BuildHas(Feature::kShapes) ? Remember(sizes, inputs) : OkStatus();
}

Status ShapeState::Bind(unsigned char* arena, Span<void* const> inputs) {
  shaped_.Locate(arena, inputs);
  return prepared_.Bind();
}

void ShapeState::Poison() {
  constexpr int kNaN = 0xFF;  // In every floating-point type; -1 in integers.
  const PlanData& plan = shaped_.plan();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const TensorView& view = shaped_.tensors()[i].view;
    const auto index = static_cast<int32_t>(i);
    const bool input = std::find(plan.inputs.begin(), plan.inputs.end(), index) != plan.inputs.end();
    if (plan.tensors[i].constant || plan.IsShapeValue(index) || plan.IsLate(index) || input) continue;
    if (plan.placements[i].view_of != TensorPlacement::kRoot) continue;
    if (plan.StateOf(index) != TensorPlacement::kRoot) continue;
    std::memset(view.data, kNaN, static_cast<size_t>(view.bytes()));
  }
}

}  // namespace skiff
