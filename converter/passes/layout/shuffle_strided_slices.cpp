// Slices of every n-th channel, as ShuffleNet's channel shuffle ends in some exports, become one
// ChannelShuffle and slices of neighbouring channels: those are views, and XNNPACK has the shuffle. It runs
// behind ToNhwc, when channels are innermost.
#include <map>
#include <utility>

#include "ops/op_codes.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// A Slice of channels first, first + step, ... to the end, of nothing but the innermost axis.
struct ChannelStride {
  int64_t first = 0;
  int64_t step = 0;
};

/// Nothing for any other slice. Canonicalize has spelled the lists out.
std::optional<ChannelStride> ReadChannelStride(const Graph& graph, NodeId id) {
  if (graph.node(id).op != OpCode::kSlice) return {};
  const auto starts = IntConstant(graph, InputOf(graph, id, 1));
  const auto axes = IntConstant(graph, InputOf(graph, id, 3));
  const auto steps = IntConstant(graph, InputOf(graph, id, 4));
  if (!starts || !axes || !steps) return {};
  const Value& x = graph.value(graph.node(id).inputs[0]);
  const Shape shape = x.shape();
  if (*axes != std::vector<int64_t>{shape.rank() - 1} || !x.dims.back().constant()) return {};
  const ChannelStride stride{(*starts)[0], (*steps)[0]};
  const bool regular = stride.step > 1 && shape.last() % stride.step == 0 && stride.first >= 0 &&
                       stride.first < stride.step &&
                       graph.value(graph.node(id).outputs[0]).shape().last() == shape.last() / stride.step;
  if (!regular) return {};
  return stride;
}

void Rewrite(Graph& graph, ValueId x, int64_t step, const std::vector<NodeId>& slices) {
  const Shape shape = graph.value(x).shape();
  const int64_t kept = shape.last() / step;
  const std::string name = graph.value(x).name + ".shuffled";
  const ValueId shuffled =
      EmitTyped(graph, OpCode::kChannelShuffle, {x}, GroupsAttrs{kept}, name, slices.front());
  for (NodeId id : slices) {
    const int64_t begin = ReadChannelStride(graph, id)->first * kept;
    const std::string base = graph.value(graph.node(id).outputs[0]).name;
    const ValueId starts = graph.AddConstant(base + ".starts", TensorData::OfInts({begin}));
    const ValueId ends = graph.AddConstant(base + ".ends", TensorData::OfInts({begin + kept}));
    const ValueId axes = graph.AddConstant(base + ".axes", TensorData::OfInts({shape.rank() - 1}));
    const ValueId steps = graph.AddConstant(base + ".steps", TensorData::OfInts({1}));
    SetInputs(graph, id, {shuffled, starts, ends, axes, steps});
    graph.Note(id, "became a slice of neighbouring channels behind a ChannelShuffle");
  }
}

}  // namespace

void ShuffleStridedSlices(Graph& graph) {
  std::map<std::pair<ValueId, int64_t>, std::vector<NodeId>> groups;
  ForEachPlainNode(graph, [&](NodeId id) {
    if (const auto stride = ReadChannelStride(graph, id))
      groups[{graph.node(id).inputs[0], stride->step}].push_back(id);
  });
  for (const auto& [key, slices] : groups) {
    if (slices.size() > 1) Rewrite(graph, key.first, key.second, slices);
  }
}

}  // namespace skiff
