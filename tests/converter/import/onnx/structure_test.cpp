// Names, sources, order, dimensions: what the importer makes of a graph's structure.
#include <gmock/gmock.h>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OnnxModel ConvModel() {
  OnnxModel model;
  model.AddInput("x", {1, 1, 3, 3});
  model.AddFloats("w", {1, 1, 2, 2}, {1, 2, 3, 4});
  model.AddNode("Conv", {"x", "w"}, {"y"}, "first");
  model.AddNode("Relu", {"y"}, {"z"});
  model.AddOutput("z");
  return model;
}

TEST(OnnxStructure, NodesCarryNameAndSource) {
  const Graph graph = ConvModel().Import();
  ASSERT_EQ(graph.sources().size(), 2u);
  EXPECT_EQ(graph.sources()[0].name, "first");
  EXPECT_EQ(graph.sources()[0].op, "Conv");
  EXPECT_EQ(graph.sources()[1].name, "Relu_1") << "an unnamed node is called after its operator and index";
  std::vector<std::string> names;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    names.push_back(graph.node(id).name);
    EXPECT_THAT(graph.node(id).sources, ElementsAre(id + 1 == graph.node_count() ? 1 : 0));
  }
  EXPECT_THAT(names, ElementsAre("first/nhwc", "first/weights", "first/conv", "first", "Relu_1"));
}

TEST(OnnxStructure, ValuesOfOnnxTensorsCarryTheirNames) {
  const Graph graph = ConvModel().Import();
  for (const char* tensor : {"x", "w", "y", "z"}) {
    const ValueId value = graph.FindValue(tensor);
    ASSERT_NE(value, kNoValue) << tensor;
    EXPECT_EQ(graph.value(value).source, tensor);
  }
  EXPECT_EQ(graph.value(graph.FindValue("y/conv")).source, "")
      << "a helper value holds no tensor of the file";
  ASSERT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.outputs()[0].name, "z");
}

TEST(OnnxStructure, InitializersThatAreAlsoInputsAreConstants) {
  OnnxModel model = ConvModel();
  model.AddInput("w", {1, 1, 2, 2});
  const Graph graph = model.Import();
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].name, "x");
}

TEST(OnnxStructure, NodesMayStandInAnyOrder) {
  OnnxModel model;
  model.AddInput("x", {2});
  model.AddNode("Neg", {"y"}, {"z"});
  model.AddNode("Abs", {"x"}, {"y"});
  model.AddOutput("z");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {-1, 2})}})), ElementsAre(-1, -2));
}

TEST(OnnxStructure, OpenDimensionsBecomeSymbols) {
  OnnxModel model;
  auto* a = model.AddInput("a", {})->mutable_type()->mutable_tensor_type()->mutable_shape();
  a->add_dim()->set_dim_param("batch");
  a->add_dim()->set_dim_param("?");
  a->add_dim();
  a->add_dim()->set_dim_value(-1);
  a->add_dim()->set_dim_value(4);
  auto* b = model.AddInput("b", {})->mutable_type()->mutable_tensor_type()->mutable_shape();
  b->add_dim()->set_dim_param("batch");
  b->add_dim()->set_dim_param("None");
  model.AddNode("Identity", {"a"}, {"y"});
  model.AddOutput("y");
  const Graph graph = model.Import();
  const auto name = [&](const char* input, size_t axis) {
    const Dim& dim = graph.value(graph.FindValue(input)).dims[axis];
    return dim.constant() ? std::to_string(dim.value)
                          : graph.symbols()[static_cast<size_t>(dim.symbol())].name;
  };
  EXPECT_EQ(name("a", 0), "batch");
  EXPECT_EQ(name("a", 1), "a#1");
  EXPECT_EQ(name("a", 2), "a#2");
  EXPECT_EQ(name("a", 3), "a#3");
  EXPECT_EQ(name("a", 4), "4");
  EXPECT_EQ(name("b", 0), "batch");
  EXPECT_EQ(name("b", 1), "b#1");
}

TEST(OnnxStructure, ConstantNodesBecomeConstants) {
  OnnxModel model;
  model.AddInput("x", {2, 3});
  SetInts(model.AddNode("Constant", {}, {"axes"}), "value_ints", {0});
  model.AddNode("Unsqueeze", {"x", "axes"}, {"y"});
  model.AddOutput("y");
  const Graph graph = model.Import();
  EXPECT_TRUE(graph.value(graph.FindValue("axes")).IsConstant());
  EXPECT_EQ(graph.node_count(), 1);
}

TEST(OnnxStructure, RanksThatInferenceCannotKnowComeFromTheFile) {
  OnnxModel model;
  model.AddInput("x", {2, 3, 4});
  model.AddInput("target", {}, onnx::TensorProto::INT64)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim();
  model.AddNode("Reshape", {"x", "target"}, {"y"}, "view");
  model.AddNode("GlobalAveragePool", {"y"}, {"z"}, "pool");
  model.AddOutput("z");
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("needs the rank of 'y'"));
  auto* info = model.proto.mutable_graph()->add_value_info();
  info->set_name("y");
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < 4; ++i) shape->add_dim();
  EXPECT_NO_THROW(model.Import());
}

}  // namespace
}  // namespace skiff
