/// State that a source passes through its callers: an output of one run which is an input of the next.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// An input, and the output that is its value in the next run.
struct StatePair {
  std::string input;
  std::string output;
  bool operator==(const StatePair&) const = default;
};

/// Makes a variable of each pair, named as the input, which the Session keeps; it begins with zeros. The
/// graph states the pairs (Graph::stated, "state:INPUT"), so that the file tells them. Throws Error
/// (kInvalidArgument) naming the pair: no such input or output, another type, a shape that is not fixed.
void KeepStates(Graph& graph, const std::vector<StatePair>& pairs);

/// Each run leaves what the next can begin with: what a variable is read as, and what is assigned to it, have
/// its type, once shapes are inferred. Throws Error (kUnsupported) naming the variable.
void CheckStates(const Graph& graph);

/// Pairs that look like states by their names and types, such as h and h_out, or state and stateN.
std::vector<StatePair> LikelyStates(const Graph& graph);
/// What to do about one.
std::string StateHint(const StatePair& pair);

}  // namespace skiff
