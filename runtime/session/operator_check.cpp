#include "session/operator_check.h"

namespace skiff {
namespace {

Status Missing(const PlanNode& node, DelegateKind kind) {
  return Fail(StatusCode::kUnsupported,
              "node '%s': this build of Skiff leaves out %s for the %s delegate; %s", node.name,
              node.op->name, DelegateKindName(kind), kRebuildHint);
}

Status CheckSegment(const PlanData& plan, const SegmentData& segment, Backend backend, const Model& model) {
  if (segment.delegate == DelegateKind::kControl) {
    for (const PlanData& body : plan.nodes[segment.begin].bodies)
      SKIFF_RETURN_IF_ERROR(CheckOperators(body, backend, model));
    return OkStatus();
  }
  const DelegateKind kind = backend == Backend::kReference ? DelegateKind::kReference : segment.delegate;
  SKIFF_ASSIGN_OR_RETURN(const Delegate* delegate, model.DelegateOf(kind));
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const PlanNode& node = plan.nodes[i];
    if (node.op->kernel != nullptr) continue;
    if (!delegate->Has(*node.op)) return Missing(node, kind);
    // A plan of one shape meets every refusal while its Session is made; others may meet one at a new shape.
    if (!plan.exact()) return Missing(node, DelegateKind::kReference);
  }
  return OkStatus();
}

}  // namespace

Status CheckOperators(const PlanData& plan, Backend backend, const Model& model) {
  for (uint32_t i = 0; i < plan.shape_nodes(); ++i) {
    if (plan.nodes[i].op->kernel == nullptr) return Missing(plan.nodes[i], DelegateKind::kReference);
  }
  for (const SegmentData& segment : plan.segments)
    SKIFF_RETURN_IF_ERROR(CheckSegment(plan, segment, backend, model));
  return OkStatus();
}

}  // namespace skiff
