/// What is left of the transposes that importers write: for tests that promise there are none.
#pragma once

#include "graph/graph.h"

namespace skiff {

struct LayoutCount {
  int transposes = 0;  ///< Those that move elements; axes of extent 1 may change places for nothing.
  int between_convolutions = 0;  ///< Those of them that lie on a path from one Conv2d to another.
  int64_t elements = 0;          ///< What they move.
};

LayoutCount CountLayoutTransposes(const Graph& graph);

}  // namespace skiff
