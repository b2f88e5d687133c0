#include "passes/shapes/baked_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/bodies.h"
#include "graph/error.h"
#include "passes/passes.h"
#include "passes/shapes/loop_extents.h"

namespace skiff {
namespace {

using Sizes = std::map<SymbolId, int64_t>;

/// Batches, windows and pictures as they are exported.
constexpr int64_t kCommonSizes[] = {1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 224, 256, 512};

/// The size in the contract that is next to `wanted`.
int64_t InContract(const Symbol& symbol, int64_t wanted) {
  const int64_t up = (std::max(wanted, symbol.min) + symbol.multiple - 1) / symbol.multiple * symbol.multiple;
  return std::max(std::min(up, symbol.max / symbol.multiple * symbol.multiple), symbol.min);
}

/// With those of bodies, as often as these may be typed: that of a loop, once for each of its variables.
size_t CountNodes(const Graph& graph) {
  auto count = static_cast<size_t>(graph.node_count());
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    const size_t rounds = 1 + std::min<size_t>(LoopVariables(node), LoopExtents::kMostRounds);
    for (const Graph& body : node.bodies) count += rounds * CountNodes(body);
  }
  return count;
}

class Trials {
 public:
  explicit Trials(const Graph& graph) : graph_(graph), nodes_(CountNodes(graph)) {
    for (const GraphPort& port : graph.caller_inputs()) {
      for (const Dim& dim : graph.value(port.value).dims) {
        if (!dim.constant()) open_.insert(dim.symbol());
      }
    }
  }

  const std::set<SymbolId>& open() const { return open_; }
  const Symbol& symbol(SymbolId id) const { return graph_.symbols()[static_cast<size_t>(id)]; }

  /// All open dimensions at a size, or at what of their contracts is next to it.
  Sizes AllAt(int64_t size) const {
    Sizes sizes;
    for (const SymbolId id : open_) sizes[id] = InContract(symbol(id), size);
    return sizes;
  }

  /// Why the shape rules refuse these; "" where they take them, and where so much has been tried that
  /// nothing is said any more.
  const std::string& WhyRefused(const Sizes& sizes) {
    const auto [found, fresh] = tried_.try_emplace(sizes);
    if (!fresh) return found->second;
    const size_t cost = sizes.size() + nodes_;
    if (cost > left_) {
      given_up_ = true;
    } else {
      left_ -= cost;
      found->second = Try(sizes);
    }
    return found->second;
  }
  bool given_up() const { return given_up_; }

  /// Any that were taken have another size of that dimension.
  bool TookAnother(SymbolId id, int64_t size) const {
    return std::any_of(tried_.begin(), tried_.end(),
                       [&](const auto& trial) { return trial.second.empty() && trial.first.at(id) != size; });
  }

 private:
  std::string Try(const Sizes& sizes) const {
    Graph sized = graph_;
    for (const GraphPort& port : sized.caller_inputs()) {
      for (Dim& dim : sized.value(port.value).dims) {
        if (!dim.constant()) dim = Dim(sizes.at(dim.symbol()));
      }
    }
    try {
      InferShapes(sized);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const Graph& graph_;
  const size_t nodes_;
  std::set<SymbolId> open_;
  std::map<Sizes, std::string> tried_;
  /// Nodes that may be typed, and sizes written down, for what is no more than a hint: about a second.
  size_t left_ = 1'000'000;
  bool given_up_ = false;
};

/// What a dimension may be beside `size`.
std::set<int64_t> OthersThan(int64_t size, const Symbol& symbol) {
  std::set<int64_t> others;
  for (const int64_t other : {size + 1, size + 2, 2 * size, 3 * size, 7 * size, size / 2, size - 1})
    others.insert(InContract(symbol, std::max<int64_t>(other, 1)));
  others.erase(size);
  return others;
}

/// The graph with every size allowed.
Graph WithoutContracts(Graph graph) {
  for (Symbol& symbol : graph.symbols()) {
    symbol.min = std::min<int64_t>(symbol.min, 1);
    symbol.max = Symbol::kUnbounded;
    symbol.multiple = 1;
  }
  return graph;
}

std::string OthersText(const Trials& trials, const Sizes& taken, SymbolId id) {
  std::string text;
  for (const auto& [other, size] : taken) {
    if (other != id)
      text +=
          fmt::format("{}'{}' is {}", text.empty() ? " where " : " and ", trials.symbol(other).name, size);
  }
  return text;
}

/// Nothing where no sizes are taken.
std::optional<std::vector<std::string>> TakenAlone(const Graph& graph) {
  Trials trials(graph);
  const auto base = std::find_if(std::begin(kCommonSizes), std::end(kCommonSizes),
                                 [&](int64_t size) { return trials.WhyRefused(trials.AllAt(size)).empty(); });
  if (base == std::end(kCommonSizes)) return std::nullopt;
  const Sizes taken = trials.AllAt(*base);
  std::vector<std::string> sentences;
  for (const SymbolId id : trials.open()) {
    const Symbol& symbol = trials.symbol(id);
    const std::set<int64_t> others = OthersThan(taken.at(id), symbol);
    const auto refused = [&](int64_t size) {
      Sizes sizes = taken;
      sizes[id] = size;
      return !trials.WhyRefused(sizes).empty();
    };
    if (others.empty() || !std::all_of(others.begin(), others.end(), refused)) {
      if (trials.given_up()) break;
      continue;
    }
    // One that follows another dimension, as the height of squares the width.
    for (const int64_t size : others) trials.WhyRefused(trials.AllAt(size));
    if (trials.given_up()) break;
    if (trials.TookAnother(id, taken.at(id))) continue;
    Sizes other = taken;
    other[id] = *others.begin();
    sentences.push_back(fmt::format(
        "dimension '{0}' is open, but the net takes {1} alone{2}: its exporter has written that size into it "
        "(at {3}: {4}). Export it with the dimension open, or say --dim '{0}={1}'",
        symbol.name, taken.at(id), OthersText(trials, taken, id), other[id], trials.WhyRefused(other)));
  }
  return sentences;
}

}  // namespace

std::vector<std::string> BakedSizes(const Graph& graph) {
  if (Trials(graph).open().empty()) return {};
  std::optional<std::vector<std::string>> sentences = TakenAlone(graph);
  if (!sentences) sentences = TakenAlone(WithoutContracts(graph));
  return sentences.value_or(std::vector<std::string>());
}

}  // namespace skiff
