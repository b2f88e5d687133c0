/// The parts of RecognizeComposites. Each looks for one family and rewrites what it finds.
#pragma once

#include "graph/graph.h"

namespace skiff {

void RecognizeActivations(Graph& graph);  ///< HardSigmoid, HardSwish, Silu, Gelu.
void RecognizeLayerNorm(Graph& graph);
void RecognizeChannelShuffle(Graph& graph);

}  // namespace skiff
