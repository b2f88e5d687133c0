#include "session/operator_check.h"

#include <cstdio>
#include <cstring>

#include "ops/build_ops.h"
#include "ops/custom.h"

namespace skiff {
namespace {

Status Missing(const PlanNode& node, DelegateKind kind) {
  return Fail(StatusCode::kUnsupported,
              "node '%s': this build of Skiff leaves out %s for the %s delegate; %s", node.name,
              node.op->name, DelegateKindName(kind), kRebuildHint);
}

Status CheckSegment(const PlanData& plan, const SegmentData& segment, Backend backend, const Model& model) {
  if (segment.delegate == DelegateKind::kControl) {
    if (!kBuildHasBodies) return OkStatus();
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

/// The application's own operators, of which some may not be registered: all of them are named at once.
Status CheckCustom(const PlanData& plan) {
  char names[256] = "";
  size_t used = 0;
  size_t missing = 0;
  for (const PlanNode& node : plan.nodes) {
    if (node.op->code != OpCode::kCustom || node.attrs->as<CustomAttrs>().registered != nullptr) continue;
    const CustomText name = CustomNameOf(plan.tensors[static_cast<size_t>(node.inputs[kCustomName])].view);
    char quoted[264];
    std::snprintf(quoted, sizeof(quoted), "'%.*s'", static_cast<int>(name.size), name.data);
    if (missing++ > 0 && std::strstr(names, quoted) != nullptr) continue;
    if (used < sizeof(names))
      used += static_cast<size_t>(
          std::snprintf(names + used, sizeof(names) - used, "%s%s", used == 0 ? "" : ", ", quoted));
  }
  if (missing == 0) return OkStatus();
  return Fail(StatusCode::kUnsupported,
              "the model uses custom operators that are not registered: %s; name them in "
              "ModelOptions::custom_operators, or load them by --custom-library",
              names);
}

}  // namespace

Status CheckOperators(const PlanData& plan, Backend backend, const Model& model) {
  if (BuildHas(OpCode::kCustom)) SKIFF_RETURN_IF_ERROR(CheckCustom(plan));
  for (uint32_t i = 0; i < plan.shape_nodes(); ++i) {
    if (plan.nodes[i].op->kernel == nullptr) return Missing(plan.nodes[i], DelegateKind::kReference);
  }
  for (const SegmentData& segment : plan.segments)
    SKIFF_RETURN_IF_ERROR(CheckSegment(plan, segment, backend, model));
  return OkStatus();
}

}  // namespace skiff
