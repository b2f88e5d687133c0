/// Graph::AddSymbol() where there may be very many names: they are looked up, and not gone through.
#pragma once

#include <string>
#include <unordered_map>

#include "graph/graph.h"

namespace skiff {

class SymbolIndex {
 public:
  /// The Symbol of this name, a new one where none was added here. All graphs have the same Symbols: one,
  /// and the bodies in it.
  SymbolId Add(Graph& graph, const std::string& name) {
    const auto [place, added] = ids_.try_emplace(name, static_cast<SymbolId>(graph.symbols().size()));
    if (added) graph.symbols().emplace_back().name = name;
    return place->second;
  }

 private:
  std::unordered_map<std::string, SymbolId> ids_;
};

}  // namespace skiff
