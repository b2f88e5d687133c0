#include "import/loop_types.h"

namespace skiff {
namespace {

/// One after the other, variables may find out that they depend on each other; behind so many rounds all are
/// taken to.
constexpr int kMostRounds = 2;

}  // namespace

LoopTypes::LoopTypes(NodeBuilder& b, const std::vector<ValueId>& first)
    : b_(b), changing_(b.budget() == nullptr ? own_ : b.budget()->loops[b.label()]), values_(first) {
  Open(changing_.axes);
}

void LoopTypes::Open(const std::set<std::pair<size_t, int>>& axes) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto dims = b_.TypeOf(values_[i]).dims;
    std::vector<int> open;
    for (int axis = 0; dims && axis < static_cast<int>(dims->size()); ++axis) {
      if (axes.contains({i, axis})) open.push_back(axis);
    }
    if (!open.empty()) values_[i] = b_.WithOpenExtents("varies", values_[i], open);
  }
}

bool LoopTypes::Widen(const Graph& body, size_t output) {
  const bool last = changing_.rounds == kMostRounds;
  std::set<std::pair<size_t, int>> found;
  std::set<std::pair<size_t, int>> all;
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto before = b_.TypeOf(values_[i]).dims;
    const auto after = NodeBuilder::TypeOf(body, body.outputs()[output + i].value).dims;
    for (size_t axis = 0; before && axis < before->size(); ++axis) {
      const std::pair<size_t, int> place{i, static_cast<int>(axis)};
      if (changing_.axes.contains(place)) continue;
      all.insert(place);
      if (!after || axis >= after->size() || (*after)[axis] != (*before)[axis]) found.insert(place);
    }
  }
  if (found.empty()) return false;
  ++changing_.rounds;
  if (last) found = all;
  changing_.axes.insert(found.begin(), found.end());
  Open(found);
  return true;
}

}  // namespace skiff
