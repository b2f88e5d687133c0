/// Sparse constants of TensorFlow Lite files.
#pragma once

#include <cstdint>
#include <vector>

#include "import/tflite/file.h"

namespace skiff {

/// The elements, `size` bytes each, of a dense tensor of `shape`; those that the file leaves out are 0. The
/// format is that of the sparse tensor algebra compiler (Kjolstad et al., The Tensor Algebra Compiler, 2017):
/// dimensions in an order of traversal, blocks behind them, each dense or compressed. Throws Error
/// (kInvalidModel). A few bytes can claim to be any tensor: whoever calls it looks at `shape` before.
std::vector<uint8_t> Densified(const tflite::Sparsity& sparsity, const Shape& shape, size_t size,
                               Span<const uint8_t> values);

}  // namespace skiff
