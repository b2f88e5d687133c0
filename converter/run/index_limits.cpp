#include "run/index_limits.h"

#include <algorithm>

#include "graph/error.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Axes [first, first + count) of a tensor whose extents an operator's indices must stay below.
struct IndexedAxes {
  int first = 0;
  int count = 1;
};

IndexedAxes AlongAxis(const PlanNode& node, const Shape& data, const Shape&) {
  const int64_t axis = node.op->code == OpCode::kScatterElements ? node.attrs->as<ScatterAttrs>().axis
                                                                 : node.attrs->as<AxisAttrs>().axis;
  return {static_cast<int>(axis < 0 ? axis + data.rank() : axis), 1};
}
IndexedAxes LeadingAxes(const PlanNode& node, const Shape&, const Shape& indices) {
  const bool gather = node.op->code == OpCode::kGatherND;
  const int64_t first = gather ? node.attrs->as<GatherNDAttrs>().batch_dims : 0;
  return {static_cast<int>(first), static_cast<int>(indices.last())};
}

/// Operators whose input 1 indexes input 0.
struct IndexedBy {
  OpCode op;
  IndexedAxes (*axes)(const PlanNode& node, const Shape& data, const Shape& indices);
};
constexpr IndexedBy kIndexing[] = {{OpCode::kGather, AlongAxis},
                                   {OpCode::kGatherElements, AlongAxis},
                                   {OpCode::kScatterElements, AlongAxis},
                                   {OpCode::kGatherND, LeadingAxes},
                                   {OpCode::kScatterND, LeadingAxes}};

/// Shape inputs of operators and elements that make sense whatever else the operator is given.
struct ShapeInputRule {
  OpCode op;
  int input;
  ShapeInputValues values;
};
const ShapeInputRule kShapeInputRules[] = {
    {OpCode::kReshape, 1, {1, 1, -1}}, {OpCode::kExpand, 1, {1, 1, {}}}, {OpCode::kTile, 1, {1, 2, {}}},
    {OpCode::kTopK, 1, {1, 1, {}}},    {OpCode::kFill, 0, {1, 4, {}}},   {OpCode::kRange, 0, {0, 0, {}}},
    {OpCode::kRange, 1, {1, 8, {}}},   {OpCode::kRange, 2, {1, 1, {}}},  {OpCode::kPad, 1, {0, 2, {}}},
    {OpCode::kSlice, 1, {0, 0, {}}},   {OpCode::kSlice, 2, {1, 4, {}}},  {OpCode::kSlice, 4, {1, 1, {}}},
};

/// The same elements, perhaps in another order or of another integer type.
bool KeepsElements(const PlanNode& node) {
  return node.op->Is(kReinterpret) || node.op->code == OpCode::kCast || node.op->code == OpCode::kTranspose ||
         node.op->code == OpCode::kIdentity;
}

/// The nodes that read the elements of `tensor`, directly or through nodes that keep them, and as which
/// input. Nodes lie behind what they read.
void VisitReaders(const PlanData& plan, int32_t tensor,
                  const std::function<void(const PlanNode& node, int input)>& visit) {
  std::vector<bool> same(plan.tensors.size(), false);
  same[static_cast<size_t>(tensor)] = true;
  for (const PlanNode& node : plan.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0 || !same[static_cast<size_t>(node.inputs[i])]) continue;
      visit(node, static_cast<int>(i));
      if (i == 0 && KeepsElements(node)) same[static_cast<size_t>(node.outputs[0])] = true;
    }
  }
}

}  // namespace

std::optional<int64_t> IndexLimit(const PlanData& plan, const std::vector<Shape>& shapes, int32_t tensor) {
  std::optional<int64_t> limit;
  VisitReaders(plan, tensor, [&](const PlanNode& node, int input) {
    const auto* found = std::find_if(std::begin(kIndexing), std::end(kIndexing),
                                     [&](const IndexedBy& row) { return row.op == node.op->code; });
    if (found == std::end(kIndexing) || input != 1) return;
    const Shape& data = shapes[static_cast<size_t>(node.inputs[0])];
    const IndexedAxes axes = found->axes(node, data, shapes[static_cast<size_t>(node.inputs[1])]);
    for (int axis = axes.first; axis < std::min(axes.first + axes.count, data.rank()); ++axis) {
      if (data[axis] >= 0) limit = std::min(limit.value_or(data[axis]), data[axis]);
    }
  });
  return limit;
}

ShapeInputValues ShapeInputValuesOf(const PlanData& plan, size_t input, const std::string& name) {
  std::optional<ShapeInputValues> values;
  VisitReaders(plan, plan.inputs[input], [&](const PlanNode& node, int at) {
    const auto* found =
        std::find_if(std::begin(kShapeInputRules), std::end(kShapeInputRules),
                     [&](const ShapeInputRule& row) { return row.op == node.op->code && row.input == at; });
    if (found != std::end(kShapeInputRules)) values = found->values;
  });
  if (!values) {
    Throw(StatusCode::kInvalidArgument,
          "the elements of input '{}' decide a shape, and it is not known which make sense; say so with "
          "--input-range "
          "'{}=LOW..HIGH', or give the inputs as files: --inputs DIR",
          name, name);
  }
  return *values;
}

}  // namespace skiff
