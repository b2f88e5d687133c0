// Layout rules of products. A product with a constant matrix does the same to every row, so the rows may lie
// in any order; and the contracted axis may lie in another order if the constant's axis is permuted alike.
#include <algorithm>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/layout/rules.h"

namespace skiff {
namespace {

/// The factors of the innermost axis as they lie, if they are the tensor's innermost ones.
std::optional<std::vector<int>> InnermostFactors(const AxisView& view) {
  std::vector<int> factors = view.Solid(view.axes.back());
  const std::vector<int> positions = view.Positions();
  std::sort(factors.begin(), factors.end(), [&](int a, int b) {
    return positions[static_cast<size_t>(a)] < positions[static_cast<size_t>(b)];
  });
  const std::vector<int> memory = view.Solid(view.order);
  if (memory.size() < factors.size() || !std::equal(factors.rbegin(), factors.rend(), memory.rbegin()))
    return {};
  return factors;
}

/// The groups of factors that make the rows axes of a tensor: the value's own axes where they lie in order,
/// else whatever lies together.
std::vector<std::vector<int>> RowGroups(const LayoutPlanner& planner, const Layout& rows,
                                        const std::vector<int>& columns) {
  std::vector<std::vector<int>> own(rows.view.axes.begin(), rows.view.axes.end() - 1);
  own.push_back(columns);
  if (rows.view.LiesAs(own)) {
    own.pop_back();
    return own;
  }
  std::vector<uint64_t> label(rows.view.extents.size(), 0);
  for (int axis = 0; axis < rows.view.rank(); ++axis) {
    for (int factor : rows.view.axes[static_cast<size_t>(axis)])
      label[static_cast<size_t>(factor)] = static_cast<uint64_t>(axis);
  }
  std::vector<std::vector<int>> groups = rows.view.CutTensorAxes(planner.tensor(rows.tensor).shape, label);
  const auto is_column = [&](int factor) {
    return std::find(columns.begin(), columns.end(), factor) != columns.end();
  };
  std::erase_if(groups, [&](const std::vector<int>& group) { return is_column(group.front()); });
  return groups;
}

/// A constant matrix whose contracted axis lies like the rows' innermost factors. `contracted` says which of
/// its two axes that is. -1 where there are too many factors.
TensorId PermutedMatrix(LayoutPlanner& planner, Layout matrix, size_t contracted, const AxisView& rows,
                        const std::vector<int>& columns) {
  const std::vector<int> logical = rows.Solid(rows.axes.back());
  if (logical.size() >= static_cast<size_t>(kMaxRank)) return -1;
  const int64_t units = matrix.view.AxisExtent(contracted == 0 ? 1 : 0);
  Shape cut;
  if (contracted == 1) cut.Append(units);
  for (int factor : logical) cut.Append(rows.extents[static_cast<size_t>(factor)]);
  if (contracted == 0) cut.Append(units);
  if (!matrix.view.Reshape(cut)) return -1;
  std::vector<std::vector<int>> axes(2);
  axes[1 - contracted] = matrix.view.axes[contracted == 1 ? 0 : logical.size()];
  for (int factor : columns) {
    const size_t place =
        static_cast<size_t>(std::find(logical.begin(), logical.end(), factor) - logical.begin());
    const std::vector<int>& axis = matrix.view.axes[place + contracted];
    axes[contracted].insert(axes[contracted].end(), axis.begin(), axis.end());
  }
  return planner.Arrange(matrix, axes);
}

/// The view of a result whose rows are these groups of factors and whose innermost axis has `units` elements.
AxisView ResultView(AxisView view, const std::vector<std::vector<int>>& row_groups, int64_t units) {
  view.order.clear();
  for (const std::vector<int>& group : row_groups) {
    if (group.empty()) {
      view.InsertFactor(view.order.size(), 1);
    } else {
      view.order.insert(view.order.end(), group.begin(), group.end());
    }
  }
  view.axes.back() = std::vector<int>{view.InsertFactor(view.order.size(), units)};
  return view;
}

bool PlanRowsTimesConstant(LayoutPlanner& planner, size_t contracted) {
  Layout rows = planner.Input(0);
  const std::optional<std::vector<int>> columns = InnermostFactors(rows.view);
  if (!columns) return false;
  std::vector<std::vector<int>> groups = RowGroups(planner, rows, *columns);
  if (groups.size() >= static_cast<size_t>(kMaxRank)) return false;
  const TensorId matrix = PermutedMatrix(planner, planner.Input(1), contracted, rows.view, *columns);
  if (matrix < 0) return false;
  const int64_t units = planner.tensor(matrix).shape[contracted == 0 ? 1 : 0];
  Shape shape;
  for (const std::vector<int>& group : groups) shape.Append(rows.view.Extent(group));
  shape.Append(units);
  const AxisView result = ResultView(rows.view, groups, units);
  groups.push_back(*columns);
  std::vector<TensorId> inputs{planner.Arrange(rows, groups), matrix};
  for (size_t i = 2; i < planner.InputCount(); ++i) inputs.push_back(planner.PlainInput(i));
  rows.tensor = planner.AddStep(std::move(inputs), shape);
  rows.view = result;
  planner.SetOutput(0, std::move(rows));
  return true;
}

Layout LastAxesSwapped(Layout layout) {
  std::swap(layout.view.axes[layout.view.axes.size() - 1], layout.view.axes[layout.view.axes.size() - 2]);
  return layout;
}

/// Whether the innermost elements in memory are neighbours along the last axis: transposing moves rows of
/// them.
bool KeepsRows(const AxisView& view) {
  const std::vector<int> last = view.Solid(view.axes.back());
  const std::vector<int> memory = view.Solid(view.order);
  return !last.empty() && !memory.empty() && last.back() == memory.back();
}

/// Two computed matrices. The right one may lie with its last two axes swapped, which costs a flag only;
/// where it has to be moved in any case, the way that moves rows is the faster one. With `swap_result` the
/// product is computed as Transpose(b) by Transpose(a), which is its own transpose.
bool PlanProduct(LayoutPlanner& planner, bool swap_result) {
  AttrStorage attrs = planner.node().attrs;
  bool& transpose_b = attrs.as<MatMulAttrs>().transpose_b;
  Layout left = planner.Input(0);
  Layout right = transpose_b ? LastAxesSwapped(planner.Input(1)) : planner.Input(1);
  Shape shape = planner.tensor(planner.node().outputs[0]).shape;
  const int rank = shape.rank();
  if (swap_result) {
    std::swap(left, right);
    left = LastAxesSwapped(std::move(left));
    right = LastAxesSwapped(std::move(right));
    std::swap(shape[rank - 1], shape[rank - 2]);
  }
  const Layout swapped = LastAxesSwapped(right);
  transpose_b = swapped.view.IsPlain() || (!right.view.IsPlain() && !KeepsRows(right.view));
  const TensorId left_tensor = planner.Plain(left);
  const TensorId right_tensor = planner.Plain(transpose_b ? swapped : right);
  Layout result;
  result.tensor = planner.AddStep(OpCode::kMatMul, attrs, {left_tensor, right_tensor}, {shape})[0];
  result.view = AxisView::Identity(shape);
  planner.SetOutput(0, swap_result ? LastAxesSwapped(std::move(result)) : std::move(result));
  return true;
}

}  // namespace

bool PlanMatMul(LayoutPlanner& planner) {
  const Layout left = planner.Input(0);
  const Layout right = planner.Input(1);
  const bool is_matmul = planner.node().op == OpCode::kMatMul;
  if (left.view.rank() < 2 || right.view.rank() < 2) return false;
  if (planner.IsConstant(right) && right.view.rank() == 2) {
    return PlanRowsTimesConstant(planner, !is_matmul || planner.node().As<MatMulAttrs>().transpose_b ? 1 : 0);
  }
  return is_matmul && planner.Cheapest(2, [&](size_t way) { return PlanProduct(planner, way == 1); });
}

bool PlanConv2d(LayoutPlanner& planner) {
  const auto& attrs = planner.node().As<Conv2dAttrs>();
  Layout rows = planner.Input(0);
  Layout weights = planner.Input(1);
  const Shape weight_shape = planner.tensor(weights.tensor).shape;
  if (!IsPointwise(attrs, weight_shape) || attrs.groups != 1 || !planner.IsConstant(weights) ||
      rows.view.IsPlain())
    return false;
  const std::optional<std::vector<int>> columns = InnermostFactors(rows.view);
  if (!columns) return false;
  // Rows of a tensor of rank 4: three axes, the outermost ones merged where there are more.
  std::vector<std::vector<int>> groups = RowGroups(planner, rows, *columns);
  while (groups.size() > 3) {
    groups[1].insert(groups[1].begin(), groups[0].begin(), groups[0].end());
    groups.erase(groups.begin());
  }
  while (groups.size() < 3) groups.insert(groups.begin(), std::vector<int>());
  for (std::vector<int>& group : groups) group = rows.view.Solid(group);
  Shape matrix_shape{weight_shape[0], weight_shape[3]};
  if (!weights.view.Reshape(matrix_shape)) return false;
  const TensorId matrix = PermutedMatrix(planner, weights, 1, rows.view, *columns);
  if (matrix < 0) return false;
  const AxisView result = ResultView(rows.view, groups, weight_shape[0]);
  Shape shape;
  for (const std::vector<int>& group : groups) shape.Append(rows.view.Extent(group));
  shape.Append(weight_shape[0]);
  groups.push_back(*columns);
  std::vector<TensorId> inputs{planner.Arrange(rows, groups),
                               planner.Reshaped(matrix, weight_shape, weights)};
  for (size_t i = 2; i < planner.InputCount(); ++i) inputs.push_back(planner.PlainInput(i));
  rows.tensor = planner.AddStep(std::move(inputs), shape);
  rows.view = result;
  planner.SetOutput(0, std::move(rows));
  return true;
}

}  // namespace skiff
