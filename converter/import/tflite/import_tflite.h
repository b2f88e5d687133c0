/// Imports TensorFlow Lite models (.tflite): each of their signatures becomes a Graph.
#pragma once

#include <string>

#include "graph/graph.h"
#include "import/import_model.h"

namespace skiff {

/// Reads a model file. It has the file's signatures, or the first subgraph where it has none. Inputs and
/// outputs are called as the signature calls them, else by their tensors' names. Extents of -1 in shape
/// signatures become fresh Symbols. Nothing is folded or optimised, and layouts stay as they are (NHWC):
/// every operator becomes the operators that define it, over tensors with the file's quantisation. Where the
/// file multiplies floats by quantised weights, the weights are dequantised; activations stay floats. Handles
/// of variables with the same names mean one variable in all signatures; what CALL_ONCE assigns in one of
/// them are the variable's first elements.
///
/// Throws Error: kIo (cannot be read), kInvalidModel (truncated, contradictory), kUnsupported (element types,
/// or operators; all unsupported operators are listed at once with their tensors and what to do);
/// kInvalidArgument where `fixed` names what is no input of one element.
std::unique_ptr<SourceModel> OpenTflite(const std::string& path);
/// The same from bytes.
std::unique_ptr<SourceModel> OpenTfliteBytes(const void* bytes, size_t size);

/// The first signature alone.
Graph ImportTflite(const std::string& path);
Graph ImportTfliteBytes(const void* bytes, size_t size, const FixedInputs& fixed = {},
                        const FixInputShapes& shapes = {});

}  // namespace skiff
