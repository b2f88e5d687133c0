#include "tests/converter/cli/onnx_models.h"

namespace skiff::testing {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;

ModelProto EmptyModel() {
  ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(13);
  model.mutable_graph()->set_name("small");
  return model;
}

void SetType(onnx::ValueInfoProto& info, const std::string& name, int32_t dtype,
             const std::vector<int64_t>& shape) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(dtype);
  tensor->mutable_shape();
  for (const int64_t extent : shape) tensor->mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

onnx::NodeProto* AddNode(ModelProto& model, const std::string& op, const std::string& name,
                         const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

ModelProto ProductModel() {
  ModelProto model = EmptyModel();
  SetType(*model.mutable_graph()->add_input(), "x", TensorProto::FLOAT, {1, 4});
  SetType(*model.mutable_graph()->add_output(), "y", TensorProto::FLOAT, {1, 3});
  TensorProto* weights = model.mutable_graph()->add_initializer();
  weights->set_name("w");
  weights->set_data_type(TensorProto::FLOAT);
  weights->add_dims(4);
  weights->add_dims(3);
  for (int i = 0; i < 12; ++i) weights->add_float_data(static_cast<float>(i) * 0.25f);
  AddNode(model, "MatMul", "product", {"x", "w"}, {"y"});
  return model;
}

ModelProto OpenProductModel() {
  ModelProto model = ProductModel();
  for (auto* port : {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    port->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  }
  return model;
}

ModelProto PictureModel() {
  ModelProto model = EmptyModel();
  SetType(*model.mutable_graph()->add_input(), "x", TensorProto::FLOAT, {1, 3, 4, 4});
  SetType(*model.mutable_graph()->add_output(), "y", TensorProto::FLOAT, {1, 3, 4, 4});
  AddNode(model, "Add", "twice", {"x", "x"}, {"y"});
  return model;
}

ModelProto OpenPictureModel() {
  ModelProto model = PictureModel();
  for (auto* port : {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    auto* shape = port->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(2)->set_dim_param("height");
    shape->mutable_dim(3)->set_dim_param("width");
  }
  return model;
}

ModelProto TwoInputModel() {
  ModelProto model = EmptyModel();
  SetType(*model.mutable_graph()->add_input(), "a", TensorProto::INT64, {2});
  SetType(*model.mutable_graph()->add_input(), "b", TensorProto::INT64, {2});
  SetType(*model.mutable_graph()->add_output(), "z", TensorProto::INT64, {2});
  AddNode(model, "Sub", "difference", {"a", "b"}, {"z"});
  return model;
}

std::string Serialized(ModelProto model, const std::function<void(ModelProto&)>& change) {
  if (change) change(model);
  return model.SerializeAsString();
}

}  // namespace skiff::testing
