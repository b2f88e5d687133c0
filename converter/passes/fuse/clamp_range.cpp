#include "passes/fuse/clamp_range.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "ops/build_ops.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Calls visit(name, member) for the float attributes `min` and `max`.
template <class AnyNode, class Visit>
void VisitBounds(AnyNode& node, Visit&& visit) {
  VisitAttrs(node.op, node.attrs, [&](int, const char* name, auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, float>) {
      const std::string_view field(name);
      if (field == "min" || field == "max") visit(field, member);
    }
  });
}

}  // namespace

ClampAttrs ClampThen(const ClampAttrs& first, const ClampAttrs& second) {
  return {std::clamp(first.min, second.min, second.max), std::clamp(first.max, second.min, second.max)};
}

bool HasFusedClamp(OpCode op) {
  Node probe;
  probe.op = op;
  bool found = false;
  VisitBounds(probe, [&](std::string_view, float) { found = true; });
  return found && op != OpCode::kClamp;
}

ClampAttrs FusedClamp(const Node& node) {
  ClampAttrs clamp;
  VisitBounds(node,
              [&](std::string_view field, float bound) { (field == "min" ? clamp.min : clamp.max) = bound; });
  return clamp;
}

bool HasActivation(const Node& node) {
  const ClampAttrs clamp = FusedClamp(node);
  return !IsUnbounded(clamp.min, clamp.max);
}

void SetFusedClamp(Node& node, const ClampAttrs& clamp) {
  VisitBounds(node,
              [&](std::string_view field, float& bound) { bound = field == "min" ? clamp.min : clamp.max; });
}

}  // namespace skiff
