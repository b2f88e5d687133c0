/// What an operator needs of the layouts of its inputs, and the layout of its result that follows.
#pragma once

#include "passes/layout/planner.h"

namespace skiff {

/// Plans the planner's current node, or returns false, and the node takes its inputs in their own order.
using LayoutRule = bool (*)(LayoutPlanner& planner);

/// The rule of a node's operator; null for those that only know their own order. A node that has an operand
/// with more than one scale, whose axis would move, or elements that are no whole bytes keeps its order, too.
LayoutRule FindLayoutRule(const Graph& graph, const Node& node);

bool PlanElementwise(LayoutPlanner& planner);  ///< Any number of inputs, with broadcasting.
bool PlanConcat(LayoutPlanner& planner);
bool PlanTranspose(LayoutPlanner& planner);
bool PlanReshape(LayoutPlanner& planner);  ///< And whatever else only regroups axes.
bool PlanReduce(LayoutPlanner& planner);
bool PlanSoftmax(LayoutPlanner& planner);
bool PlanBatchNorm(LayoutPlanner& planner);
bool PlanLayerNorm(LayoutPlanner& planner);
bool PlanChannelShuffle(LayoutPlanner& planner);
bool PlanSlice(LayoutPlanner& planner);
bool PlanSplit(LayoutPlanner& planner);
bool PlanGather(LayoutPlanner& planner);
bool PlanPad(LayoutPlanner& planner);
bool PlanExpand(LayoutPlanner& planner);
bool PlanTile(LayoutPlanner& planner);
bool PlanMatMul(LayoutPlanner& planner);  ///< And FullyConnected.
bool PlanConv2d(LayoutPlanner& planner);  ///< Pointwise ones; all others know their own order only.

/// What a Slice keeps of one axis, as its inputs say it, and how much that is.
struct AxisCut {
  int axis;
  int64_t start, end, step;
  int64_t count;
};
/// Plans a Slice of these axes; nothing where they lie in more pieces than a tensor has axes.
std::optional<Layout> SliceAxes(LayoutPlanner& planner, Layout layout, const std::vector<AxisCut>& cuts);

/// The axes that an operator takes from a constant input, the first `count` where it is absent; nothing where
/// the input is no constant.
std::optional<std::vector<int>> AxesInput(const LayoutPlanner& planner, size_t input, size_t count, int rank);

}  // namespace skiff
