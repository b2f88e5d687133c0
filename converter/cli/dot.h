/// Graphs as pictures: the language of Graphviz (graphviz.org/doc/info/lang.html), which `dot -Tsvg` draws.
#pragma once

#include <string>
#include <vector>

#include "convert.h"
#include "skiff/model.h"

namespace skiff::cli {

/// The source's graphs, a cluster for each signature.
std::string SourceDot(const std::vector<NamedGraph>& signatures);

/// The first plan of each signature; boxes are filled by the delegate that runs the node.
std::string SkiffDot(const Model& model);

}  // namespace skiff::cli
