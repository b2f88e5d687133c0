#include "passes/passes.h"
#include "passes/recognize/recognize.h"

namespace skiff {

void RecognizeComposites(Graph& graph) {
  RecognizeActivations(graph);
  RecognizeLayerNorm(graph);
  RecognizeChannelShuffle(graph);
}

}  // namespace skiff
