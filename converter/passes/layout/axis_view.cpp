#include "passes/layout/axis_view.h"

#include <algorithm>
#include <numeric>

namespace skiff {

AxisView AxisView::Identity(const Shape& shape) {
  AxisView view;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    view.extents.push_back(shape[axis]);
    view.order.push_back(axis);
    view.axes.push_back({axis});
  }
  return view;
}

int64_t AxisView::Extent(const std::vector<int>& factors) const {
  int64_t extent = 1;
  for (int factor : factors) extent *= extents[static_cast<size_t>(factor)];
  return extent;
}

std::vector<int> AxisView::Solid(const std::vector<int>& factors) const {
  std::vector<int> solid;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(solid),
               [this](int factor) { return !IsUnit(factor); });
  return solid;
}

std::vector<int> AxisView::Positions() const {
  std::vector<int> positions(extents.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) positions[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return positions;
}

std::vector<int> AxisView::NextInMemory() const {
  std::vector<int> next(extents.size(), -1);
  int last = -1;
  for (int factor : order) {
    if (IsUnit(factor)) continue;
    if (last >= 0) next[static_cast<size_t>(last)] = factor;
    last = factor;
  }
  return next;
}

bool AxisView::LiesAs(const std::vector<std::vector<int>>& groups) const {
  const std::vector<int> memory = Solid(order);
  size_t at = 0;
  for (const std::vector<int>& group : groups) {
    for (int factor : group) {
      if (!IsUnit(factor) && (at >= memory.size() || memory[at++] != factor)) return false;
    }
  }
  return true;
}

bool AxisView::Follows(const std::vector<int>& axis_order) const {
  if (axis_order.size() != axes.size()) return false;
  std::vector<std::vector<int>> groups;
  for (int axis : axis_order) groups.push_back(axes[static_cast<size_t>(axis)]);
  return LiesAs(groups);
}

std::vector<AxisView::Run> AxisView::Runs(const std::vector<std::vector<int>>& groups) const {
  const std::vector<int> positions = Positions();
  const std::vector<int> next = NextInMemory();
  std::vector<Run> runs;
  for (size_t group = 0; group < groups.size(); ++group) {
    int last = -1;
    for (int factor : groups[group]) {
      if (IsUnit(factor)) continue;
      const int64_t extent = extents[static_cast<size_t>(factor)];
      if (last >= 0 && next[static_cast<size_t>(last)] == factor) {
        runs.back().extent *= extent;
      } else {
        runs.push_back({positions[static_cast<size_t>(factor)], static_cast<int>(group), extent});
      }
      last = factor;
    }
    if (last >= 0) continue;
    const int beside = runs.empty() ? -1 : runs.back().place;
    const int place = groups[group].empty() ? beside : positions[static_cast<size_t>(groups[group].front())];
    runs.push_back({place, static_cast<int>(group), 1});
  }
  return runs;
}

std::vector<size_t> AxisView::InMemory(const std::vector<Run>& runs) {
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return runs[a].place < runs[b].place; });
  return order;
}

std::vector<int> AxisView::MemoryOrder() const {
  const std::vector<int> positions = Positions();
  std::vector<int> places;
  for (const std::vector<int>& axis : axes) {
    const int predecessor = places.empty() ? -1 : places.back();
    places.push_back(axis.empty() ? predecessor : positions[static_cast<size_t>(axis.back())]);
  }
  std::vector<int> axis_order(axes.size());
  std::iota(axis_order.begin(), axis_order.end(), 0);
  std::stable_sort(axis_order.begin(), axis_order.end(), [&](int a, int b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  return axis_order;
}

std::vector<std::vector<int>> AxisView::TensorAxes(const Shape& tensor) const {
  std::vector<std::vector<int>> groups(static_cast<size_t>(tensor.rank()));
  size_t at = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    std::vector<int>& group = groups[static_cast<size_t>(axis)];
    int64_t extent = 1;
    do {
      group.push_back(order[at]);
      extent *= extents[static_cast<size_t>(order[at++])];
    } while (extent < tensor[axis]);
  }
  return groups;
}

std::vector<std::vector<int>> AxisView::CutTensorAxes(const Shape& tensor,
                                                      const std::vector<uint64_t>& labels) const {
  std::vector<std::vector<int>> cut;
  for (const std::vector<int>& group : TensorAxes(tensor)) {
    cut.push_back({group.front()});
    for (size_t i = 1; i < group.size(); ++i) {
      const bool same = labels[static_cast<size_t>(group[i])] == labels[static_cast<size_t>(group[i - 1])];
      if (!same) cut.emplace_back();
      cut.back().push_back(group[i]);
    }
  }
  return cut;
}

void AxisView::Permute(const Ints& perm) {
  if (perm.size == 0) {
    std::reverse(axes.begin(), axes.end());
    return;
  }
  std::vector<std::vector<int>> permuted;
  for (int64_t axis : perm) permuted.push_back(axes[static_cast<size_t>(axis < 0 ? axis + rank() : axis)]);
  axes = std::move(permuted);
}

int AxisView::Split(int factor, int64_t outer) {
  const int inner = static_cast<int>(extents.size());
  int64_t& extent = extents[static_cast<size_t>(factor)];
  const int64_t rest = extent / outer;
  extent = outer;
  extents.push_back(rest);
  order.insert(std::find(order.begin(), order.end(), factor) + 1, inner);
  for (std::vector<int>& axis : axes) {
    const auto found = std::find(axis.begin(), axis.end(), factor);
    if (found != axis.end()) axis.insert(found + 1, inner);
  }
  return inner;
}

bool AxisView::Reshape(const Shape& target) {
  std::vector<int> left;  // The value's factors, the outermost at the end.
  for (const std::vector<int>& axis : axes) left.insert(left.end(), axis.begin(), axis.end());
  std::reverse(left.begin(), left.end());
  std::vector<std::vector<int>> regrouped(static_cast<size_t>(target.rank()));
  for (int axis = 0; axis < target.rank(); ++axis) {
    std::vector<int>& group = regrouped[static_cast<size_t>(axis)];
    int64_t rest = target[axis];
    if (rest == 1 && !left.empty() && IsUnit(left.back())) {
      group.push_back(left.back());
      left.pop_back();
    }
    while (rest > 1) {
      if (left.empty()) return false;
      const int factor = left.back();
      const int64_t extent = extents[static_cast<size_t>(factor)];
      if (extent == 0) return false;
      if (extent > rest) {
        if (extent % rest != 0) return false;
        left.back() = Split(factor, rest);
      } else {
        if (rest % extent != 0) return false;
        left.pop_back();
      }
      if (extent > 1) group.push_back(factor);
      rest /= std::min(rest, extent);
    }
  }
  axes = std::move(regrouped);
  return Solid(left).empty() && Solid(order).size() <= static_cast<size_t>(kMaxRank);
}

void AxisView::ReplaceAxis(int axis, int64_t extent) {
  std::vector<int>& factors = axes[static_cast<size_t>(axis)];
  const size_t at =
      static_cast<size_t>(std::find(order.begin(), order.end(), factors.front()) - order.begin());
  std::erase_if(
      order, [&](int factor) { return std::find(factors.begin(), factors.end(), factor) != factors.end(); });
  factors = {InsertFactor(at, extent)};
}

void AxisView::DropUnit(int axis) {
  std::erase(order, axes[static_cast<size_t>(axis)].front());
  axes[static_cast<size_t>(axis)].clear();
}

int AxisView::InsertFactor(size_t at, int64_t extent) {
  const int factor = static_cast<int>(extents.size());
  extents.push_back(extent);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), factor);
  return factor;
}

bool CutAlike(AxisView& a, int axis_a, AxisView& b, int axis_b) {
  const auto solid = [](const AxisView& view, int axis) {
    return view.Solid(view.axes[static_cast<size_t>(axis)]);
  };
  for (size_t i = 0; i < solid(a, axis_a).size(); ++i) {
    const std::vector<int> in_b = solid(b, axis_b);
    if (i >= in_b.size()) return false;
    const int factor_a = solid(a, axis_a)[i];
    const int factor_b = in_b[i];
    const int64_t extent_a = a.extents[static_cast<size_t>(factor_a)];
    const int64_t extent_b = b.extents[static_cast<size_t>(factor_b)];
    if (extent_a > extent_b) {
      if (extent_a % extent_b != 0) return false;
      a.Split(factor_a, extent_b);
    } else if (extent_b > extent_a) {
      if (extent_b % extent_a != 0) return false;
      b.Split(factor_b, extent_a);
    }
  }
  return a.Solid(a.order).size() <= static_cast<size_t>(kMaxRank) &&
         b.Solid(b.order).size() <= static_cast<size_t>(kMaxRank);
}

}  // namespace skiff
