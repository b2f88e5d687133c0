/// Loops over sequences that run a few times, which conversion knows: their bodies, one behind the other.
#pragma once

#include "import/onnx/ops.h"

namespace skiff {

/// The node's outputs, of which the first `carried` are its loop variables. False where it cannot be told how
/// often the loop runs, or where that is more than kMostUnrolled; the graph is as it was then.
bool BuildUnrolledLoop(OnnxBuilder& b, size_t carried);

/// No loop that collects runs as often: such a trip count stands for none.
inline constexpr int64_t kMostCollected = int64_t{1} << 31;

/// Whether it is known to be one true boolean.
bool IsTrue(const std::optional<TensorData>& known);

}  // namespace skiff
