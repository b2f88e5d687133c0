#include "import/onnx/custom.h"

#include <flatbuffers/flexbuffers.h>

#include "graph/error.h"

namespace skiff {
namespace {

void Add(flexbuffers::Builder& map, const onnx::AttributeProto& attribute) {
  const char* name = attribute.name().c_str();
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return map.Int(name, attribute.i());
    case onnx::AttributeProto::FLOAT:
      return map.Float(name, attribute.f());
    case onnx::AttributeProto::STRING:
      map.Key(name);
      map.String(attribute.s());
      return;
    case onnx::AttributeProto::INTS:
      map.TypedVector(name, [&] {
        for (const int64_t number : attribute.ints()) map.Int(number);
      });
      return;
    case onnx::AttributeProto::FLOATS:
      map.TypedVector(name, [&] {
        for (const float number : attribute.floats()) map.Float(number);
      });
      return;
    case onnx::AttributeProto::STRINGS:
      map.Vector(name, [&] {
        for (const std::string& text : attribute.strings()) map.String(text);
      });
      return;
    default:
      Throw(StatusCode::kUnsupported,
            "has the attribute '{}', which is no number, text, or list of them; make it an input", name);
  }
}

}  // namespace

std::string CustomNameOfOnnx(const std::string& domain, const std::string& type) {
  return domain.empty() ? type : domain + "::" + type;
}

std::vector<uint8_t> CustomOptionsOfOnnx(const onnx::NodeProto& node) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    for (const onnx::AttributeProto& attribute : node.attribute()) Add(builder, attribute);
  });
  builder.Finish();
  return builder.GetBuffer();
}

}  // namespace skiff
