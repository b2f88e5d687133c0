// A Transpose that only moves extents of 1 leaves the elements where they are. It runs behind ToNhwc, which
// looks for transposes.
#include <algorithm>

#include "passes/rewrite.h"

namespace skiff {
namespace {

bool MovesOnlyOnes(const Shape& shape, const Ints& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (shape[static_cast<int>(axis)] == 1) continue;
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
    if (!MovesOnlyOnes(graph.value(x).shape(), graph.node(id).As<TransposeAttrs>().perm)) return;
    const Shape output = graph.value(graph.node(id).outputs[0]).shape();
    const bool has_zero = std::find(output.begin(), output.end(), 0) != output.end();
    const ValueId target = graph.AddConstant(graph.value(graph.node(id).outputs[0]).name + ".shape",
                                             TensorData::OfInts({output.begin(), output.end()}));
    Become(graph, id, OpCode::kReshape, {x, target}, ReshapeAttrs{has_zero});
  });
}

}  // namespace skiff
