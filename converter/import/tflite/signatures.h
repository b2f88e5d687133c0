/// What a TensorFlow Lite file offers its callers: subgraphs whose ports have names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "import/tflite/file.h"

namespace skiff {

/// A file may have several things of one name.
class DistinctNames {
 public:
  DistinctNames() = default;
  explicit DistinctNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  /// `name`, or `other` with a number where that is taken.
  std::string Add(const std::string& name, const std::string& other);
  /// `name`, with a number where it is taken.
  std::string Add(const std::string& name) { return Add(name, name); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int>
      copies_;  ///< To count on: of thousands of one name none counts from the beginning.
};

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
