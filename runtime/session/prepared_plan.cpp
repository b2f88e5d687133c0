#include "session/prepared_plan.h"

#include "core/extents.h"
#include "core/features.h"
#include "core/wide_constant.h"
#include "ops/build_ops.h"
#include "ops/op.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"
#include "plan/work.h"
#include "session/control_segment.h"
#include "session/state_segment.h"

namespace skiff {
namespace {

/// The segments of the data program where all nodes run on the reference delegate: what the runtime itself
/// runs stands alone. Calls visit(SegmentData) for each.
template <class Visit>
void ForEachReferenceSegment(const PlanData& plan, Visit&& visit) {
  const auto end = static_cast<uint32_t>(plan.nodes.size());
  const auto alone = [&](uint32_t node) {
    return HasBodies(plan.nodes[node]) || plan.WritesState(plan.nodes[node]);
  };
  for (uint32_t begin = plan.shape_node_count; begin < end;) {
    uint32_t next = begin + 1;
    while (!alone(begin) && next < end && !alone(next)) ++next;
    visit(SegmentData{alone(begin) ? DelegateKind::kControl : DelegateKind::kReference, begin, next});
    begin = next;
  }
}

}  // namespace

Status PreparedPlan::Adopt(ShapedPlan& shaped, const SessionOptions& options, DelegateSessions& sessions) {
  shaped_ = &shaped;
  options_ = &options;
  sessions_ = &sessions;
  prepared_ = {};
  return ShareOut(options.backend);
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

void PreparedPlan::PinConstants(const SegmentData& segment) {
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    for (const int32_t input : shaped_->plan().nodes[i].inputs) {
      if (input < 0) continue;
      if (WideConstant* wide = shaped_->tensors()[static_cast<size_t>(input)].wide; wide != nullptr)
        wide->Pin();
    }
  }
}

Result<std::unique_ptr<PreparedSegment>> PreparedPlan::PrepareSegment(const SegmentData& segment) {
  if (kBuildWritesStates && WritesState(segment)) {
    if (BuildHas(Feature::kNarrowWeights)) PinConstants(segment);
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<StateSegment> state,
                           PrepareStateSegment(*shaped_, segment.begin, options_->keep_intermediates));
    return std::unique_ptr<PreparedSegment>(std::move(state));
  }
  if (kBuildHasBodies && segment.delegate == DelegateKind::kControl)
    return PrepareControlSegment(*shaped_, segment.begin, *options_, *sessions_);
  SKIFF_ASSIGN_OR_RETURN(DelegateSession * session, sessions_->Get(segment.delegate));
  if (BuildHas(Feature::kNarrowWeights) && !session->PinsConstants()) PinConstants(segment);
  return session->Prepare(
      {shaped_->tensors(), shaped_->plan().nodes, segment.begin, segment.end, shaped_->plan().outputs});
}

Status PreparedPlan::Reshape() {
  if (prepared_.size() != segments_.size()) SKIFF_RETURN_IF_ERROR(prepared_.Allocate(segments_.size()));
  const uint64_t left = sessions_->MemoryLeft();  // Once: what it adds up may have as many segments.
  uint64_t held = 0;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (!prepared_[i]) {
      SKIFF_ASSIGN_OR_RETURN(prepared_[i], PrepareSegment(segments_[i]));
    }
    SKIFF_RETURN_IF_ERROR(prepared_[i]->Reshape());
    held = SaturatingAdd(held, prepared_[i]->workspace_bytes());
    if (held > left) SKIFF_RETURN_IF_ERROR(sessions_->CheckGrowth(held, "the delegates' workspace"));
  }
  return OkStatus();
}

Status PreparedPlan::Bind() {
  for (const auto& segment : prepared_) SKIFF_RETURN_IF_ERROR(segment->Bind());
  return OkStatus();
}

Status PreparedPlan::Run(const RunContext& context) {
  for (size_t i = 0; i < prepared_.size(); ++i) {
    const Status status = prepared_[i]->Run(context);
    if (status.ok()) continue;
    if (kBuildWritesStates) RestoreStates(i);
    return status;
  }
  return OkStatus();
}

bool PreparedPlan::WritesState(const SegmentData& segment) const {
  return segment.delegate == DelegateKind::kControl &&
         shaped_->plan().WritesState(shaped_->plan().nodes[segment.begin]);
}

/// The last write first: an earlier one may have written the same elements.
void PreparedPlan::RestoreStates(size_t segments_done) {
  for (size_t i = segments_done; i-- > 0;) {
    if (WritesState(segments_[i])) static_cast<StateSegment&>(*prepared_[i]).Restore();
  }
}

uint64_t PreparedPlan::workspace_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : prepared_) bytes += segment ? segment->workspace_bytes() : 0;
  return bytes;
}

NodeInfo PreparedPlan::Describe(uint32_t index) const {
  const PlanNode& node = shaped_->plan().nodes[index];
  NodeInfo info;
  info.name = node.name;
  info.op = node.op->name;
  info.shape_program = index < shaped_->plan().shape_node_count;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (index < segments_[i].begin || index >= segments_[i].end) continue;
    info.fell_back = i < prepared_.size() && prepared_[i] && prepared_[i]->FellBack(index);
    const bool runs_it = !info.fell_back || segments_[i].delegate == DelegateKind::kControl;
    info.delegate = runs_it ? segments_[i].delegate : DelegateKind::kReference;
  }
  if (info.shape_program) return info;
  const Work work = WorkOf(node, shaped_->tensors());
  info.multiply_adds = work.multiply_adds;
  info.bytes = work.bytes;
  return info;
}

/// Null where the segment is no node with as many bodies, or the body is not made ready yet.
const PreparedPlan* PreparedPlan::BodyOf(size_t segment, size_t body) const {
  const bool control = kBuildHasBodies && segments_[segment].delegate == DelegateKind::kControl &&
                       !WritesState(segments_[segment]);
  if (!control || segment >= prepared_.size() || !prepared_[segment]) return nullptr;
  return static_cast<const BodySegment&>(*prepared_[segment]).body(body);
}

int PreparedPlan::inner_node_count() const {
  size_t count = 0;
  for (size_t i = 0; i < segments_.size(); ++i) {
    for (size_t b = 0; b < kMaxBodies; ++b) {
      if (const PreparedPlan* body = BodyOf(i, b); body != nullptr)
        count += body->shaped_->plan().nodes.size() + static_cast<size_t>(body->inner_node_count());
    }
  }
  return static_cast<int>(count);
}

bool PreparedPlan::FindInner(int* index, NodeInfo* info) const {
  for (size_t i = 0; i < segments_.size() * kMaxBodies; ++i) {
    const PreparedPlan* const body = BodyOf(i / kMaxBodies, i % kMaxBodies);
    if (body == nullptr) continue;
    const auto count = static_cast<int>(body->shaped_->plan().nodes.size());
    if (*index < count) {
      *info = body->Describe(static_cast<uint32_t>(*index));
      return true;
    }
    *index -= count;
    if (body->FindInner(index, info)) return true;
  }
  return false;
}

bool PreparedPlan::SomethingFellBack() const {
  for (size_t i = 0; i < prepared_.size(); ++i) {
    for (uint32_t node = segments_[i].begin; prepared_[i] && node < segments_[i].end; ++node) {
      if (prepared_[i]->FellBack(node)) return true;
    }
  }
  return false;
}

}  // namespace skiff
