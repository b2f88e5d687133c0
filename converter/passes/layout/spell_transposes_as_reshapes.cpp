// A Transpose that only moves extents of 1 leaves the elements where they are. It runs behind ToNhwc, which
// looks for transposes.
#include <algorithm>

#include "ops/op_codes.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

bool MovesOnlyOnes(const std::vector<Dim>& dims, const Ints& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (dims[static_cast<size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return perm.size > 0;
}

}  // namespace

void SpellTransposesAsReshapes(Graph& graph) {
  ForEachNode(graph, [&](NodeId id) {
    if (graph.node(id).op != OpCode::kTranspose) return;
    const ValueId x = graph.node(id).inputs[0];
    // Scales along an axis follow a Transpose, but no Reshape.
    if (graph.value(x).quantization && !graph.value(x).quantization->per_tensor()) return;
    if (!MovesOnlyOnes(graph.value(x).dims, graph.node(id).As<TransposeAttrs>().perm)) return;
    const Value& output = graph.value(graph.node(id).outputs[0]);
    ReshapeAttrs attrs;
    const auto target = ReshapeTarget(graph.value(x).dims, output.dims, &attrs);
    if (!target) return;
    Become(graph, id, OpCode::kReshape, {x, graph.AddConstant(output.name + ".shape", *target)}, attrs);
  });
}

}  // namespace skiff
