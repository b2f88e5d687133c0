#include "import/onnx/bodies.h"

#include <unordered_set>
#include <utility>

namespace skiff {
namespace {

/// Names, each once, in the order in which they came first.
class NamesInOrder {
 public:
  void Add(const std::string& name) {
    if (seen_.insert(name).second) names_.push_back(name);
  }
  std::vector<std::string> Take() { return std::move(names_); }

 private:
  std::unordered_set<std::string> seen_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> OuterTensors(const onnx::GraphProto& body) {
  std::unordered_set<std::string> defined{""};
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : body.node()) defined.insert(node.output().begin(), node.output().end());
  NamesInOrder outer;
  const auto read = [&](const std::string& name) {
    if (!defined.contains(name)) outer.Add(name);
  };
  for (const auto& node : body.node()) {
    for (const std::string& name : TensorsReadBy(node)) read(name);
  }
  for (const auto& output : body.output()) read(output.name());
  return outer.Take();
}

std::vector<std::string> CapturedTensors(const onnx::NodeProto& node) {
  NamesInOrder captured;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const std::string& name : OuterTensors(attribute.g())) captured.Add(name);
  }
  return captured.Take();
}

std::vector<std::string> TensorsReadBy(const onnx::NodeProto& node) {
  std::vector<std::string> read(node.input().begin(), node.input().end());
  const std::vector<std::string> captured = CapturedTensors(node);
  read.insert(read.end(), captured.begin(), captured.end());
  return read;
}

}  // namespace skiff
