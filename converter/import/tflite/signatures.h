/// What a TensorFlow Lite file offers its callers: subgraphs whose ports have names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/tflite/file.h"

namespace skiff {

struct TfliteSignature {
  std::string name;  ///< No other one of the file has it.
  uint32_t subgraph = 0;
  std::map<int32_t, std::string> inputs, outputs;  ///< By tensor, where the signature names them.
};

/// The first subgraph alone, where the file has none. Throws Error (kUnsupported) where there are too many.
std::vector<TfliteSignature> SignaturesOf(const TfliteFile& file);

/// A tensor's own name, or one made from its number.
std::string TensorName(const tflite::SubGraph& graph, int32_t tensor);

/// What the signature calls a tensor of its subgraph, else the tensor's own name.
std::string PortName(const std::map<int32_t, std::string>& named, const tflite::SubGraph& graph,
                     int32_t tensor);

/// The names of a signature's inputs in the subgraph's order, each tensor once.
std::vector<std::string> InputNamesOf(const TfliteFile& file, const TfliteSignature& signature);

}  // namespace skiff
