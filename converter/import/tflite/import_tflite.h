/// Imports TensorFlow Lite models (.tflite) into a Graph.
#pragma once

#include <string>

#include "graph/graph.h"
#include "import/import_model.h"

namespace skiff {

/// Reads a model file: its first signature, or the first subgraph where it has none. Inputs and outputs are
/// called as the signature calls them, else by their tensors' names. Extents of -1 in shape signatures become
/// fresh Symbols. Nothing is folded or optimised, and layouts stay as they are (NHWC): every operator becomes
/// the operators that define it, over tensors with the file's quantisation. Where the file multiplies floats
/// by quantised weights, the weights are dequantised; activations stay floats.
///
/// Throws Error: kIo (cannot be read), kInvalidModel (truncated, contradictory), kUnsupported (element types,
/// or operators; all unsupported operators are listed at once with their tensors and what to do);
/// kInvalidArgument where `fixed` names what is no input of one element.
Graph ImportTflite(const std::string& path, const FixedInputs& fixed = {}, const FixInputShapes& shapes = {});

/// The same from bytes.
Graph ImportTfliteBytes(const void* bytes, size_t size, const FixedInputs& fixed = {},
                        const FixInputShapes& shapes = {});

}  // namespace skiff
