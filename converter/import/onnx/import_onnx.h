/// Imports ONNX models (protobuf, opset 6 to the newest that the tables cover) into a Graph.
#pragma once

#include <string>

#include "graph/graph.h"
#include "import/import_model.h"

namespace skiff {

/// Reads a model file, and its external tensor data from the model's own folder. Dimensions that the file
/// leaves open become Symbols: equal dim_params are one Symbol, empty names and placeholders are fresh ones.
/// Functions are expanded. Nothing is folded or optimised: every source node becomes the operators that
/// define it, so that the eager interpreter computes exactly what the file says.
///
/// Throws Error: kIo (cannot be read), kInvalidModel (not ONNX, truncated, contradictory), kUnsupported
/// (opset, dtype, or operators; all unsupported operators are listed at once with their nodes and what to
/// do); kInvalidArgument where `fixed` names what is no input of one element. Opening parses the file;
/// importing builds the graph.
std::unique_ptr<SourceModel> OpenOnnx(const std::string& path);
Graph ImportOnnx(const std::string& path);

/// The graph of a model in bytes; `folder` is where external data may lie ("" forbids it).
Graph ImportOnnxBytes(const void* bytes, size_t size, const std::string& folder,
                      const FixedInputs& fixed = {}, const FixInputShapes& shapes = {});

/// One TensorProto (for example input_0.pb of the ONNX test suites) as a tensor. Throws Error.
TensorData ReadTensorProto(const std::string& path);

}  // namespace skiff
