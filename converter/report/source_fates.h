/// What became of the nodes of a source in a plan of a model that was made from it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "run/model_signature.h"

namespace skiff {

struct SourceFate {
  std::string name;
  std::string op;                  ///< In the source's words.
  std::vector<std::string> notes;  ///< What passes said of it, as `skiff convert --explain` does.
  std::vector<size_t> nodes;       ///< Of the plan, which stand for it.
};

/// A file does not say it, so that the conversion is planned once more, with default options, over the file's
/// contract; nodes are known by their names. `source`: as the model's signature takes it. Empty where the
/// file was stripped of names. Throws Error where the source cannot be converted.
std::vector<SourceFate> FatesOf(const Graph& source, const ModelSignature& signature, const PlanData& plan);

}  // namespace skiff
