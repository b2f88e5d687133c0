#include "import/onnx/bodies.h"

#include <algorithm>
#include <unordered_set>

namespace skiff {
namespace {

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

std::vector<std::string> OuterTensors(const onnx::GraphProto& body) {
  std::unordered_set<std::string> defined{""};
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : body.node()) defined.insert(node.output().begin(), node.output().end());
  std::vector<std::string> outer;
  const auto read = [&](const std::string& name) {
    if (!defined.contains(name)) AddOnce(outer, name);
  };
  for (const auto& node : body.node()) {
    for (const std::string& name : TensorsReadBy(node)) read(name);
  }
  for (const auto& output : body.output()) read(output.name());
  return outer;
}

std::vector<std::string> CapturedTensors(const onnx::NodeProto& node) {
  std::vector<std::string> captured;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const std::string& name : OuterTensors(attribute.g())) AddOnce(captured, name);
  }
  return captured;
}

std::vector<std::string> TensorsReadBy(const onnx::NodeProto& node) {
  std::vector<std::string> read(node.input().begin(), node.input().end());
  const std::vector<std::string> captured = CapturedTensors(node);
  read.insert(read.end(), captured.begin(), captured.end());
  return read;
}

}  // namespace skiff
