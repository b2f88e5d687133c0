// A Clamp becomes the activation of the operator right before it.
#include "graph/error.h"
#include "ops/op_codes.h"
#include "passes/fuse/clamp_range.h"
#include "passes/rewrite.h"

namespace skiff {

void FuseActivation(Graph& graph) {
  ForEachPlainNode(graph, [&](NodeId id) {
    if (graph.node(id).op != OpCode::kClamp) return;
    const NodeId producer = graph.ProducerOf(id, 0);
    if (producer == kNoNode || !HasFusedClamp(graph.node(producer).op)) return;
    const ValueId y = graph.node(producer).outputs[0];
    if (!IsFloat(graph.value(y).dtype)) return;
    if (graph.OnlyUser(y) != id) {
      graph.Note(id, fmt::format("not fused: the output of '{}' {}", graph.node(producer).name,
                                 DescribeUses(graph, y)));
      return;
    }
    const ClampAttrs first = FusedClamp(graph.node(producer));
    const ClampAttrs second = graph.node(id).As<ClampAttrs>();
    if (!(first.min <= first.max) || !(second.min <= second.max)) return;
    const ClampAttrs both = ClampThen(first, second);
    SetFusedClamp(graph.node(producer), both);
    graph.Note(id, fmt::format("fused into '{}' as its activation [{}, {}]", graph.node(producer).name,
                               both.min, both.max));
    TakeOver(graph, producer, id);
  });
}

}  // namespace skiff
