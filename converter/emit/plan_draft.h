/// A plan in the making: the graph's nodes in their final order as the runtime will see them, then, step by
/// step, who runs each node and where each tensor lies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/model_data.h"
#include "graph/graph.h"

namespace skiff {

struct PlanDraft;

/// Equal for equal elements.
ContentHash HashOf(const TensorData& data);

struct DraftNode {
  NodeId id = kNoNode;
  bool shape_program = false;  ///< Runs once per new shape.
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  const DelegateSupport* support = nullptr;  ///< Of who runs it; null for nodes with bodies.
  /// Of the node's bodies. The node then has one more output than in the graph, the last one: its scratch, in
  /// which the bodies' arenas lie.
  std::vector<PlanDraft> bodies;

  DelegateKind delegate() const { return support != nullptr ? support->kind() : DelegateKind::kControl; }
};

struct PlanDraft {
  const Graph* graph = nullptr;
  std::vector<PlanTensor> tensors;  ///< Names and constant data point into the graph.
  std::vector<ValueId> values;      ///< The value of each tensor; kNoValue for a scratch.
  /// By tensor, of constants that the file stores as quantised integers; their views have no data.
  std::map<size_t, TensorData> codes;
  std::vector<TensorData> made;  ///< Backs constants that are none of the graph's.
  std::vector<DraftNode> nodes;
  std::vector<SegmentData> segments;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<TensorPlacement> placements;
  Target target = Target::kCpu;
  BucketKind kind = BucketKind::kExact;
  uint32_t shape_node_count = 0;  ///< The first nodes are the shape program.
  bool inputs_outside = false;
  std::vector<SymbolRange> ranges;     ///< Symbols of the graph.
  std::vector<int64_t> largest_bytes;  ///< By tensor, over the bucket; -1: without a limit.
  uint64_t arena_bytes = 0;
  std::vector<PlanTensor>
      typical;  ///< The tensors with sizes that may occur, for support predicates; empty: `tensors`.
  uint64_t arena_lower_bound = 0;  ///< The largest sum of live buffers at one node.

  /// An open extent is taken to be its largest, at most this.
  static constexpr int64_t kTypicalExtent = 37;
  /// Fills `typical`.
  void FindTypicalTypes();

  PlanNode ViewOf(size_t node) const;
  bool IsStage(size_t node) const;
  /// For support predicates; `storage` backs the result.
  NodeTypes TypesOf(size_t node, std::vector<const PlanTensor*>& storage) const;
};

/// Tensors and nodes in topological order, the shape program first. Open extents are -1. Throws Error
/// (kUnsupported) naming the node when a shape depends on computed data: SplitStages() comes first.
PlanDraft DraftPlan(const Graph& graph);

/// Gives each node to the first of `delegates` that supports it, those of the plan's target before those of
/// the CPU, else to the reference (nodes with bodies belong to kControl); reorders nodes so that segments are
/// few and contiguous, and fills `segments`.
void Partition(PlanDraft& draft, Span<const DelegateSupport* const> delegates);

/// Lets scatters write into the memory of the variables that they update, where nobody needs the old value
/// any more: marks them (TensorPlacement::buffer) and gives them to the runtime itself. Of a partitioned
/// draft for the CPU; others stay as they are.
void UpdateStatesInPlace(PlanDraft& draft);

/// The segments of nodes whose delegates and order are decided.
std::vector<SegmentData> SegmentsOf(const std::vector<DraftNode>& nodes);

/// Views (reshapes, channel concat and slices through strides), in-place operators, then offsets. Fills
/// placements, row strides and arena bytes, of bodies first.
void PlanArena(PlanDraft& draft);

}  // namespace skiff
