/// ONNX models as inputs: what the targets that read them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff::testing {

/// What once was a defect, and one node each: of other domains, from the tree; the distribution's cases and
/// those of a newer release, as far as they are there; where none are, the samples' nets, which are larger.
std::vector<std::string> OnnxSeeds();

/// One to three fields are changed (mutate_onnx.h), now and then bytes.
size_t MutateOnnxBytes(uint8_t* data, size_t size, size_t max_size, unsigned seed);

/// Looked at, and imported, with constants beside it, and callers who fix the inputs that say so. Throws
/// Error.
Graph ImportOnnxInput(const uint8_t* data, size_t size);

}  // namespace skiff::testing
