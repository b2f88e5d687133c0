/// Biases that 32 bits do not hold beside the products.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// A quantised Conv2d or FullyConnected whose bias has channels beyond 2^30 units of the products: the
/// weights of such a channel, which are all but dead beside it, are rounded to units twice as large, or four
/// times, until the bias fits. Quantisers leave less room: ONNX Runtime's raises scales until 2^31 is enough,
/// which the sum of bias and products exceeds. Of a thousand products less than the 2^12th part of the bias
/// is lost.
void LeaveRoomForBias(Graph& graph, NodeId id);

}  // namespace skiff
