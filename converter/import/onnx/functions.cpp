#include "import/onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "graph/error.h"
#include "import/onnx/bodies.h"

namespace skiff {
namespace {

using Attributes = std::map<std::string, onnx::AttributeProto>;

/// FunctionProto.attribute_proto (field 11, since IR version 9): attributes with defaults. The protobuf
/// classes may be older than the file, and then keep the field without a name.
void ReadDefaults(const onnx::FunctionProto& function, Attributes& attributes) {
  constexpr int kAttributeProtoField = 11;
  const auto* field = onnx::FunctionProto::descriptor()->FindFieldByNumber(kAttributeProtoField);
  if (field != nullptr) {
    const auto* reflection = function.GetReflection();
    for (int i = 0; i < reflection->FieldSize(function, field); ++i) {
      onnx::AttributeProto attribute;
      attribute.CopyFrom(reflection->GetRepeatedMessage(function, field, i));
      attributes[attribute.name()] = attribute;
    }
    return;
  }
  const auto& unknown = function.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& entry = unknown.field(i);
    if (entry.number() != kAttributeProtoField ||
        entry.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(entry.length_delimited())) {
      Throw(StatusCode::kInvalidModel, "the function {} has a damaged default attribute", function.name());
    }
    attributes[attribute.name()] = attribute;
  }
}

/// Also in what the nodes run: a body's attributes are the function's.
void Bind(OnnxNodes& nodes, const Attributes& given) {
  for (onnx::NodeProto& node : nodes) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    attributes.Swap(node.mutable_attribute());
    for (onnx::AttributeProto& attribute : attributes) {
      if (attribute.has_g()) Bind(*attribute.mutable_g()->mutable_node(), given);
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = std::move(attribute);
      } else if (const auto found = given.find(attribute.ref_attr_name()); found != given.end()) {
        onnx::AttributeProto& bound = *node.add_attribute();
        bound = found->second;
        bound.set_name(attribute.name());
      }
    }
  }
}

}  // namespace

OnnxNodes BindFunctionAttributes(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  Attributes given;
  ReadDefaults(function, given);
  for (const auto& attribute : call.attribute()) given[attribute.name()] = attribute;
  OnnxNodes nodes = function.node();
  Bind(nodes, given);
  return nodes;
}

std::string NodeLabel(const onnx::NodeProto& node, int index, const std::string& prefix) {
  return prefix + (node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name());
}

std::vector<int> OrderNodes(const OnnxNodes& nodes, const std::function<bool(const std::string&)>& defined,
                            const std::string& prefix) {
  std::unordered_map<std::string_view, int> producer;
  const auto label = [&](int i) { return NodeLabel(nodes.Get(i), i, prefix); };
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes.Get(i).output()) {
      if (output.empty()) continue;
      if (!producer.emplace(output, i).second || defined(output)) {
        Throw(StatusCode::kInvalidModel, "node '{}' ({}) makes the tensor '{}', which is defined already",
              label(i), nodes.Get(i).op_type(), output);
      }
    }
  }
  std::vector<int> missing(static_cast<size_t>(nodes.size()), 0);
  std::vector<std::vector<int>> users(missing.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : TensorsReadBy(nodes.Get(i))) {
      if (input.empty() || defined(input)) continue;
      const auto found = producer.find(input);
      if (found == producer.end()) {
        Throw(StatusCode::kInvalidModel,
              "node '{}' ({}) reads the tensor '{}', which no node, input or initializer defines", label(i),
              nodes.Get(i).op_type(), input);
      }
      users[static_cast<size_t>(found->second)].push_back(i);
      ++missing[static_cast<size_t>(i)];
    }
    if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int user : users[static_cast<size_t>(i)]) {
      if (--missing[static_cast<size_t>(user)] == 0) ready.push(user);
    }
  }
  if (static_cast<int>(order.size()) != nodes.size()) {
    const auto stuck = std::find_if(missing.begin(), missing.end(), [](int count) { return count > 0; });
    const auto i = static_cast<int>(stuck - missing.begin());
    Throw(StatusCode::kInvalidModel, "the graph has a cycle: node '{}' ({}) needs its own result", label(i),
          nodes.Get(i).op_type());
  }
  return order;
}

}  // namespace skiff
