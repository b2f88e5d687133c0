#include "passes/release_constants.h"

namespace skiff {

void ReleaseIfUnused(Graph& graph, ValueId constant) {
  Value& value = graph.value(constant);
  if (value.constant && value.uses.empty() && !graph.IsGraphOutput(constant)) value.constant.reset();
}

void ReleaseUnusedConstants(Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) ReleaseIfUnused(graph, id);
}

}  // namespace skiff
