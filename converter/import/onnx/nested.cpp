#include "import/onnx/nested.h"

#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Outputs without suffixes are the node's own.
std::vector<ValueId> Build(OnnxBuilder& b, const std::vector<std::string>& suffixes, std::string_view op,
                           int64_t opset, std::vector<ValueId> inputs, const OnnxAttributes& attributes,
                           QuantizationPtr sums) {
  const OnnxOp* row = FindOnnxOp("", op, opset);
  if (row == nullptr) Throw(StatusCode::kInternal, "no row imports {} of opset {}", op, opset);
  onnx::NodeProto node;
  node.set_op_type(b.node().op_type());
  for (const onnx::AttributeProto& attribute : attributes) *node.add_attribute() = attribute;
  OnnxBuilder nested = b.Nested(node, row->op, opset, std::move(inputs), suffixes);
  nested.RoundSums(std::move(sums));
  row->build(nested);
  if (suffixes.empty()) b.Adopt(nested);
  return nested.results();
}

}  // namespace

onnx::AttributeProto OnnxAttribute(const char* name, float value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

onnx::AttributeProto OnnxAttribute(const char* name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

OnnxAttributes NodeAttributes(const OnnxBuilder& b, const OnnxAttributes& defaults) {
  OnnxAttributes all(b.node().attribute().begin(), b.node().attribute().end());
  for (const onnx::AttributeProto& attribute : defaults) {
    if (!b.HasAttribute(attribute.name().c_str())) all.push_back(attribute);
  }
  return all;
}

ValueId EmitOnnx(OnnxBuilder& b, const char* suffix, std::string_view op, int64_t opset,
                 std::vector<ValueId> inputs, const OnnxAttributes& attributes) {
  const auto suffixes = suffix == nullptr ? std::vector<std::string>{} : std::vector<std::string>{suffix};
  return Build(b, suffixes, op, opset, std::move(inputs), attributes, nullptr)[0];
}

std::vector<ValueId> EmitAllOnnx(OnnxBuilder& b, const std::vector<std::string>& suffixes,
                                 std::string_view op, int64_t opset, std::vector<ValueId> inputs,
                                 const OnnxAttributes& attributes) {
  return Build(b, suffixes, op, opset, std::move(inputs), attributes, nullptr);
}

void BuildAs(OnnxBuilder& b, DType dtype, void (*build)(OnnxBuilder&)) {
  const ValueId x = b.Input(0);
  std::vector<ValueId> inputs{b.CastTo("wide", x, dtype)};
  for (size_t i = 1; i < b.input_count(); ++i) inputs.push_back(b.OptionalInput(i));
  OnnxBuilder nested = b.Nested(b.node(), b.op(), b.opset(), std::move(inputs), {"of_wide"});
  build(nested);
  b.Output(OpCode::kCast, {nested.results()[0]}, CastAttrs{static_cast<int64_t>(b.DTypeOf(x))});
}

ValueId EmitOnnxOfIntegers(OnnxBuilder& b, const char* suffix, std::string_view op, int64_t opset,
                           std::vector<ValueId> inputs) {
  return Build(b, {suffix}, op, opset, std::move(inputs), NodeAttributes(b), PerTensor(1))[0];
}

}  // namespace skiff
