/// Sub-graphs of ONNX nodes (If, Loop): what they read of the graph around them.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace skiff {

/// The tensors that a sub-graph reads and does not define, each once, in the order of their first use.
std::vector<std::string> OuterTensors(const onnx::GraphProto& body);

/// The same of all sub-graphs of a node.
std::vector<std::string> CapturedTensors(const onnx::NodeProto& node);

/// All tensors that a node reads: its inputs, then what its sub-graphs read. "" is an absent input.
std::vector<std::string> TensorsReadBy(const onnx::NodeProto& node);

}  // namespace skiff
