/// A net whose operators have next to nothing to compute, so that its time is what a node costs by itself.
#pragma once

#include "graph/graph.h"

namespace skiff::bench {

/// `nodes` operators (a multiple of 4) in a chain over 4 elements: Abs, Add, Neg, Sigmoid and again. No pass
/// merges or removes one of them.
Graph TinyNet(int nodes);

}  // namespace skiff::bench
