#include "parity/sweep.h"

#include <algorithm>
#include <set>

#include "run/model_sizes.h"

namespace skiff {
namespace {

/// What a plan's sizes may be, in steps of the Symbol's multiple.
struct Range {
  int64_t min = 0;
  int64_t max = 0;
  int64_t multiple = 1;

  int64_t first() const { return (min + multiple - 1) / multiple * multiple; }
  int64_t last() const { return max / multiple * multiple; }
  bool bounded() const { return max != SymbolInfo::kUnbounded; }
  int64_t largest() const {
    const std::vector<int64_t> edges = EdgeSizes(min, max, multiple);
    return edges.empty() ? first() : edges.back();
  }
  /// Away from the ends where there is room, and odd where the multiple allows it.
  int64_t inside() const {
    if (!bounded()) return std::max(first(), 7 / multiple * multiple);
    const int64_t steps = (last() - first()) / multiple;
    const int64_t middle = first() + steps / 2 * multiple;
    const bool next_is_odd = middle % 2 == 0 && multiple % 2 == 1;
    return next_is_odd && middle + multiple < last() ? middle + multiple : middle;
  }
};

std::vector<Range> RangesOf(const Model& model, const PlanSummary& plan) {
  std::vector<Range> ranges;
  for (const SymbolInfo& symbol : model.symbols())
    ranges.push_back({symbol.min, symbol.max, symbol.multiple});
  for (const SymbolRange& range : plan.ranges) {
    ranges[range.symbol].min = range.min;
    ranges[range.symbol].max = range.max;
  }
  return ranges;
}

}  // namespace

std::vector<int64_t> EdgeSizes(int64_t min, int64_t max, int64_t multiple) {
  const Range range{min, max, multiple};
  const int64_t first = range.first();
  std::set<int64_t> sizes = {first, first + multiple, range.inside(), 0, 1};
  if (range.bounded()) {
    sizes.insert({range.last() - multiple, range.last()});
  } else {
    for (const int64_t size : {7, 33, 64}) sizes.insert(std::max(first, size / multiple * multiple));
  }
  std::vector<int64_t> allowed;
  for (const int64_t size : sizes) {
    if (size >= min && size <= max && size % multiple == 0) allowed.push_back(size);
  }
  return allowed;
}

std::vector<std::vector<int64_t>> SweepSizes(const ModelSignature& signature) {
  const Model& model = signature.model();
  std::vector<bool> own;
  for (size_t i = 0; i < model.symbols().size(); ++i) own.push_back(signature.Has(i));
  std::vector<std::vector<int64_t>> all;
  const auto less = [&](size_t a, size_t b) { return all[a] < all[b]; };
  std::set<size_t, decltype(less)> known(less);
  const auto add = [&](std::vector<int64_t> sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!own[i]) sizes[i] = -1;
    }
    all.push_back(std::move(sizes));
    if (!IsServed(signature, all.back()) || !known.insert(all.size() - 1).second) all.pop_back();
  };
  for (int p = 0; p < model.plan_count(signature.index()); ++p) {
    const std::vector<Range> ranges = RangesOf(model, model.plan(signature.index(), p));
    std::vector<int64_t> smallest;
    std::vector<int64_t> inside;
    std::vector<int64_t> largest;
    for (const Range& range : ranges) {
      smallest.push_back(range.first());
      inside.push_back(range.inside());
      largest.push_back(range.largest());
    }
    add(smallest);
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (!own[i]) continue;
      std::vector<int64_t> sizes = inside;
      for (const int64_t edge : EdgeSizes(ranges[i].min, ranges[i].max, ranges[i].multiple)) {
        sizes[i] = edge;
        add(sizes);
      }
    }
    add(largest);
  }
  return all;
}

}  // namespace skiff
