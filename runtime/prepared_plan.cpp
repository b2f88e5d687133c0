#include "prepared_plan.h"

#include "control_segment.h"
#include "ops/op.h"

namespace skiff {
namespace {

/// The segments of the data program where all nodes run on the reference delegate: nodes with bodies stand
/// alone. Calls visit(SegmentData) for each.
template <class Visit>
void ForEachReferenceSegment(const PlanData& plan, Visit&& visit) {
  const auto end = static_cast<uint32_t>(plan.nodes.size());
  const auto has_bodies = [&](uint32_t node) { return !plan.nodes[node].bodies.empty(); };
  for (uint32_t begin = plan.shape_node_count; begin < end;) {
    uint32_t next = begin + 1;
    while (!has_bodies(begin) && next < end && !has_bodies(next)) ++next;
    visit(SegmentData{has_bodies(begin) ? DelegateKind::kControl : DelegateKind::kReference, begin, next});
    begin = next;
  }
}

}  // namespace

Status PreparedPlan::Adopt(ShapedPlan& shaped, Backend backend, DelegateSessions& sessions) {
  shaped_ = &shaped;
  backend_ = backend;
  sessions_ = &sessions;
  prepared_ = {};
  return ShareOut(backend);
}

Status PreparedPlan::ShareOut(Backend backend) {
  const PlanData& plan = shaped_->plan();
  if (backend == Backend::kPlanned) {
    SKIFF_RETURN_IF_ERROR(segments_.Allocate(plan.segments.size()));
    for (size_t i = 0; i < segments_.size(); ++i) segments_[i] = plan.segments[i];
    return OkStatus();
  }
  size_t count = 0;
  ForEachReferenceSegment(plan, [&](const SegmentData&) { ++count; });
  SKIFF_RETURN_IF_ERROR(segments_.Allocate(count));
  count = 0;
  ForEachReferenceSegment(plan, [&](const SegmentData& segment) { segments_[count++] = segment; });
  return OkStatus();
}

Result<std::unique_ptr<PreparedSegment>> PreparedPlan::PrepareSegment(const SegmentData& segment) {
  if (kBuildHasBodies && segment.delegate == DelegateKind::kControl)
    return PrepareControlSegment(*shaped_, segment.begin, backend_, *sessions_);
  SKIFF_ASSIGN_OR_RETURN(DelegateSession * session, sessions_->Get(segment.delegate));
  return session->Prepare(
      {shaped_->tensors(), shaped_->plan().nodes, segment.begin, segment.end, shaped_->plan().outputs});
}

Status PreparedPlan::Reshape() {
  if (prepared_.size() != segments_.size()) SKIFF_RETURN_IF_ERROR(prepared_.Allocate(segments_.size()));
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (!prepared_[i]) {
      SKIFF_ASSIGN_OR_RETURN(prepared_[i], PrepareSegment(segments_[i]));
    }
    SKIFF_RETURN_IF_ERROR(prepared_[i]->Reshape());
  }
  return OkStatus();
}

Status PreparedPlan::Bind() {
  for (const auto& segment : prepared_) SKIFF_RETURN_IF_ERROR(segment->Bind());
  return OkStatus();
}

Status PreparedPlan::Run(const RunContext& context) {
  for (const auto& segment : prepared_) SKIFF_RETURN_IF_ERROR(segment->Run(context));
  return OkStatus();
}

uint64_t PreparedPlan::workspace_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : prepared_) bytes += segment ? segment->workspace_bytes() : 0;
  return bytes;
}

bool PreparedPlan::FellBack(uint32_t node) const {
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (node >= segments_[i].begin && node < segments_[i].end)
      return prepared_.size() > i && prepared_[i] && prepared_[i]->FellBack(node);
  }
  return false;
}

DelegateKind PreparedPlan::delegate(uint32_t node) const {
  for (const SegmentData& segment : segments_) {
    if (node >= segment.begin && node < segment.end) return segment.delegate;
  }
  return DelegateKind::kReference;
}

}  // namespace skiff
