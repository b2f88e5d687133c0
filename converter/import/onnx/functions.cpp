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
#include "import/onnx/tensor.h"

namespace skiff {
namespace {

using Defaults = std::map<std::string, onnx::AttributeProto>;

/// FunctionProto.attribute_proto (field 11, since IR version 9): attributes with defaults. The protobuf
/// classes may be older than the file, and then keep the field without a name.
Defaults ReadDefaults(const onnx::FunctionProto& function) {
  constexpr int kAttributeProtoField = 11;
  Defaults defaults;
  const auto* field = onnx::FunctionProto::descriptor()->FindFieldByNumber(kAttributeProtoField);
  if (field != nullptr) {
    const auto* reflection = function.GetReflection();
    for (int i = 0; i < reflection->FieldSize(function, field); ++i) {
      onnx::AttributeProto attribute;
      attribute.CopyFrom(reflection->GetRepeatedMessage(function, field, i));
      defaults[attribute.name()] = attribute;
    }
    return defaults;
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
    defaults[attribute.name()] = attribute;
  }
  return defaults;
}

/// A text of a message whose classes may be older, too.
std::string ReadText(const google::protobuf::Message& message, int number) {
  const auto* reflection = message.GetReflection();
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number))
    return reflection->GetString(message, field);
  const auto& unknown = reflection->GetUnknownFields(message);
  std::string text;
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& entry = unknown.field(i);
    if (entry.number() == number && entry.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = entry.length_delimited();
  }
  return text;
}

/// What the references of a call mean.
class Attributes {
 public:
  Attributes(const onnx::NodeProto& call, const Defaults& defaults) : defaults_(defaults) {
    for (const onnx::AttributeProto& attribute : call.attribute()) given_[attribute.name()] = &attribute;
  }
  /// Null where neither the call nor the function says.
  const onnx::AttributeProto* Find(const std::string& name) const {
    if (const auto found = given_.find(name); found != given_.end()) return found->second;
    const auto found = defaults_.find(name);
    return found == defaults_.end() ? nullptr : &found->second;
  }

 private:
  const Defaults& defaults_;
  std::map<std::string_view, const onnx::AttributeProto*> given_;
};

/// Also in what the nodes run: a body's attributes are the function's.
void Bind(OnnxNodes& nodes, const Attributes& given) {
  for (onnx::NodeProto& node : nodes) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    attributes.Swap(node.mutable_attribute());
    for (onnx::AttributeProto& attribute : attributes) {
      if (attribute.has_g()) Bind(*attribute.mutable_g()->mutable_node(), given);
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = std::move(attribute);
      } else if (const onnx::AttributeProto* found = given.Find(attribute.ref_attr_name())) {
        onnx::AttributeProto& bound = *node.add_attribute();
        bound = *found;
        bound.set_name(attribute.name());
      }
    }
  }
}

void CountReferences(const OnnxNodes& nodes, std::map<std::string, size_t>& references) {
  for (const onnx::NodeProto& node : nodes) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CountReferences(attribute.g().node(), references);
      if (!attribute.ref_attr_name().empty()) ++references[attribute.ref_attr_name()];
    }
  }
}

/// What the constants in it become beyond their bytes in the file.
size_t Growth(const onnx::AttributeProto& attribute) {
  const auto of_tensor = [](const onnx::TensorProto& tensor) {
    return ImportedBytes(tensor) - tensor.ByteSizeLong();
  };
  size_t bytes = of_tensor(attribute.t());
  for (const onnx::TensorProto& tensor : attribute.g().initializer()) bytes += of_tensor(tensor);
  for (const onnx::NodeProto& node : attribute.g().node()) {
    for (const onnx::AttributeProto& inner : node.attribute()) bytes += Growth(inner);
  }
  return bytes;
}

}  // namespace

size_t ImportedBytes(const onnx::NodeProto& node) {
  size_t bytes = node.ByteSizeLong();
  for (const onnx::AttributeProto& attribute : node.attribute()) bytes += Growth(attribute);
  return bytes;
}

FunctionNodes::FunctionNodes(const onnx::FunctionProto& function)
    : function_(function), defaults_(ReadDefaults(function)) {
  CountReferences(function.node(), references_);
  for (const onnx::NodeProto& node : function.node()) bytes_ += ImportedBytes(node);
}

size_t FunctionNodes::BytesFor(const onnx::NodeProto& call) const {
  const Attributes given(call, defaults_);
  size_t bytes = bytes_;
  // In memory: numbers and short texts have many times the bytes that they have in the file.
  for (const auto& [name, count] : references_) {
    if (const onnx::AttributeProto* found = given.Find(name))
      bytes += count * (found->SpaceUsedLong() + Growth(*found));
  }
  return bytes;
}

OnnxNodes FunctionNodes::BoundTo(const onnx::NodeProto& call) const {
  OnnxNodes nodes = function_.node();
  Bind(nodes, Attributes(call, defaults_));
  return nodes;
}

std::string OverloadOf(const onnx::FunctionProto& function) { return ReadText(function, 13); }
std::string OverloadOf(const onnx::NodeProto& call) { return ReadText(call, 8); }

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
