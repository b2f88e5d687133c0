// What the importer knows of shapes and small values while it builds: all that the shape rules can tell.
#include <gmock/gmock.h>

#include "convert.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using ::testing::HasSubstr;

onnx::TensorShapeProto* ShapeOf(onnx::ValueInfoProto* info) {
  return info->mutable_type()->mutable_tensor_type()->mutable_shape();
}

/// Extents that are numbers, or names of Symbols.
void AddOpenInput(OnnxModel& model, const std::string& name, const std::vector<std::string>& extents,
                  int type = onnx::TensorProto::FLOAT) {
  auto* shape = ShapeOf(model.AddInput(name, {}, type));
  for (const std::string& extent : extents) {
    auto* dim = shape->add_dim();
    if (std::isdigit(static_cast<unsigned char>(extent[0])) != 0) {
      dim->set_dim_value(std::stoll(extent));
    } else {
      dim->set_dim_param(extent);
    }
  }
}

size_t CountNodes(const Graph& graph, OpCode op) {
  size_t count = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id) count += graph.node(id).op == op ? 1 : 0;
  return count;
}

TEST(OnnxShapes, ExtentsBehindAnOpenBatchAreKnown) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "3", "9", "9"});
  model.AddFloats("w", {2, 3, 3, 3}, std::vector<float>(54, 1.0f));
  SetInts(model.AddNode("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  auto* pool = model.AddNode("LpPool", {"c"}, {"y"});  // Its pads are made from its input's extents.
  SetInts(pool, "kernel_shape", {2, 2});
  SetInts(pool, "strides", {2, 2});
  SetInt(pool, "ceil_mode", 1);
  model.AddOutput("y");
  EXPECT_EQ(RunModel(model, {{"x", Counting({2, 3, 9, 9})}}).shape(), (Shape{2, 2, 5, 5}));
}

TEST(OnnxShapes, OneKnownExtentAmongOpenOnesCanBeAnAxis) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "1", "5"});
  model.AddInts("middle", {1});
  model.AddNode("Shape", {"x"}, {"shape"});
  model.AddNode("Gather", {"shape", "middle"}, {"axes"});
  model.AddNode("Squeeze", {"x", "axes"}, {"y"});
  model.AddOutput("y");
  EXPECT_EQ(RunModel(model, {{"x", Counting({2, 1, 5})}}).shape(), (Shape{2, 5}));
}

TEST(OnnxShapes, EqualOpenExtentsAreKnownToBeEqual) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "width"});
  AddOpenInput(model, "scale", {"width"});
  model.AddNode("LayerNormalization", {"x", "scale"}, {"y"});
  model.AddOutput("y");
  EXPECT_EQ(CountNodes(model.Import(), OpCode::kLayerNorm), 1u);
}

TEST(OnnxShapes, TheImportedGraphHasTheTypesOfItsInputsAlone) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "4"});
  AddOpenInput(model, "target", {"2"}, onnx::TensorProto::INT64);
  model.AddNode("Reshape", {"x", "target"}, {"y"});
  model.AddNode("Neg", {"y"}, {"z"});
  model.AddOutput("z");
  const Graph graph = model.Import();
  ASSERT_EQ(graph.symbols().size(), 1u) << "what inference adds holds for one contract";
  EXPECT_EQ(graph.symbols()[0].name, "batch");
  EXPECT_FALSE(graph.value(graph.FindValue("z")).has_shape);
  EXPECT_EQ(graph.value(graph.FindValue("target")).elements, nullptr);
  Graph typed = graph;
  InferShapes(typed);
  const Value& once = typed.value(typed.FindValue("z"));
  ASSERT_EQ(once.dims.size(), 2u);
  const auto nodes = typed.node_count();
  InferShapes(typed);
  EXPECT_EQ(typed.node_count(), nodes);
  EXPECT_EQ(typed.value(typed.FindValue("z")).dims.size(), 2u);
}

TEST(OnnxShapes, AnErrorOfARuleIsToldWhereTheTypeIsNeeded) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "3", "8", "8"});
  model.AddFloats("w", {2, 4, 3, 3}, std::vector<float>(72, 1.0f));
  model.AddNode("Conv", {"x", "w"}, {"c"}, "first");
  model.AddNode("Abs", {"c"}, {"d"});
  model.AddNode("GlobalAveragePool", {"d"}, {"y"}, "pool");
  model.AddOutput("y");
  const Error error = ImportError(model);
  EXPECT_THAT(error.what(), HasSubstr("needs the rank of 'd', which is not known: node 'first' (Conv): the "
                                      "input has 3 channels, the weights expect 4"));
}

/// Sizes that are known before the import are known to what is built on them.
TEST(OnnxShapes, AFixedSizeIsKnownWhileBuilding) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "3", "height", "9"});
  auto* pool = model.AddNode("LpPool", {"x"}, {"y"});
  SetInts(pool, "kernel_shape", {2, 2});
  SetInts(pool, "strides", {2, 2});
  SetInt(pool, "ceil_mode", 1);
  model.AddOutput("y");
  EXPECT_THAT(ImportError(model).what(), HasSubstr("although its input's extents are open"));
  const std::string bytes = model.Bytes();
  ShapeContract contract;
  contract.dims["height"] = 5;
  const Graph graph = ImportOnnxBytes(bytes.data(), bytes.size(), "", {},
                                      [&](Graph& inputs) { FixShapes(inputs, contract); });
  EXPECT_EQ(Evaluate(graph, {{"x", Counting({2, 3, 5, 9})}}).at("y").shape(), (Shape{2, 3, 3, 5}));
}

/// Of an If whose condition is open, only what both branches agree in is known behind it.
TEST(OnnxShapes, BranchesTellWhatTheyAgreeIn) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "3", "8", "8"});
  model.AddInput("c", {}, onnx::TensorProto::BOOL);
  auto* node = model.AddNode("If", {"c"}, {"y"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    OnnxModel::Fill(attribute->mutable_g()->add_node(), name[0] == 't' ? "Abs" : "Neg", {"x"}, {name});
    attribute->mutable_g()->add_output()->set_name(name);
  }
  auto* pool = model.AddNode("LpPool", {"y"}, {"z"});
  SetInts(pool, "kernel_shape", {3, 3});
  SetInts(pool, "strides", {2, 2});
  SetInt(pool, "ceil_mode", 1);
  model.AddOutput("z");
  const bool yes = true;
  EXPECT_EQ(
      RunModel(model, {{"x", Counting({1, 3, 8, 8})}, {"c", TensorData(DType::kBool, {}, &yes)}}).shape(),
      (Shape{1, 3, 4, 4}));
}

/// Exporters write a branch for each rank or size; the sizes that will occur may rule one out.
TEST(OnnxShapes, ABranchThatTheSizesRuleOutIsNotImported) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "4"});
  model.AddInts("first", {0});
  model.AddInts("one", {1});
  model.AddNode("Shape", {"x"}, {"shape"});
  model.AddNode("Gather", {"shape", "first"}, {"size"});
  model.AddNode("Equal", {"size", "one"}, {"single"});
  auto* node = model.AddNode("If", {"single"}, {"y"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    OnnxModel::Fill(attribute->mutable_g()->add_node(), name[0] == 't' ? "StringNormalizer" : "Neg", {"x"},
                    {name});
    attribute->mutable_g()->add_output()->set_name(name);
  }
  model.AddOutput("y");
  EXPECT_THAT(ImportError(model).what(), HasSubstr("operator StringNormalizer"));
  const std::string bytes = model.Bytes();
  const auto import = [&](const DimRange& batch) {
    const ShapeContract contract{{}, {{"batch", batch}}};
    return ImportOnnxBytes(bytes.data(), bytes.size(), "", {},
                           [&](Graph& inputs) { FixShapes(inputs, contract); });
  };
  EXPECT_EQ(Evaluate(import(3), {{"x", Counting({3, 4})}}).at("y").shape(), (Shape{3, 4}));
  EXPECT_EQ(Evaluate(import({2, 8}), {{"x", Counting({2, 4})}}).at("y").shape(), (Shape{2, 4}));
  EXPECT_THROW(import({1, 8}), Error);
}

/// Sizes at which an operand would be repeated along a size that is open, where the specification has it the
/// other way round, are refused, by eager mode and by the plans.
struct Guarded {
  const char* op;
  int64_t opset;
  std::vector<std::string> x;  ///< Extents.
  std::vector<std::vector<int64_t>> factors;
  std::string equation;
  Shape taken;
  Shape refused;
};

class OnnxGuards : public ::testing::TestWithParam<Guarded> {};

TEST_P(OnnxGuards, RefuseOtherSizes) {
  const Guarded& guarded = GetParam();
  OnnxModel model(guarded.opset);
  AddOpenInput(model, "x", guarded.x);
  std::vector<std::string> inputs{"x"};
  for (const auto& extents : guarded.factors) {
    inputs.push_back("factor" + std::to_string(inputs.size()));
    int64_t count = 1;
    for (int64_t extent : extents) count *= extent;
    model.AddFloats(inputs.back(), extents, std::vector<float>(static_cast<size_t>(count), 1.0f));
  }
  auto* node = model.AddNode(guarded.op, inputs, {"y"}, "guarded");
  if (!guarded.equation.empty()) SetString(node, "equation", guarded.equation);
  if (std::string(guarded.op) == "GroupNormalization") SetInt(node, "num_groups", 1);
  model.AddOutput("y");
  for (const bool passes : {false, true}) {
    Graph graph = model.Import();
    if (passes) {
      FixShapes(graph, {});
      PipelineOptions options;
      options.verify = true;
      RunPipeline(graph, options);
    }
    EXPECT_NO_THROW(Evaluate(graph, {{"x", Counting(guarded.taken)}})) << passes;
    EXPECT_THROW(Evaluate(graph, {{"x", Counting(guarded.refused)}}), Error) << passes;
  }
}

const Guarded kGuarded[] = {
    {"InstanceNormalization", 17, {"2", "c", "5"}, {{3}, {3}}, "", {2, 3, 5}, {2, 1, 5}},
    {"GroupNormalization", 21, {"2", "c", "5"}, {{3}, {3}}, "", {2, 3, 5}, {2, 1, 5}},
    {"RMSNormalization", 23, {"2", "d"}, {{4}}, "", {2, 4}, {2, 1}},
    {"LayerNormalization", 17, {"n", "d"}, {{2, 4}, {4}}, "", {2, 4}, {2, 1}},
    {"PRelu", 17, {"n", "c", "2"}, {{3, 1}}, "", {2, 3, 2}, {2, 1, 2}},
    {"Einsum", 17, {"i", "j"}, {}, "ii->i", {3, 3}, {3, 2}},
    {"Einsum", 17, {"i", "j"}, {{3, 2}}, "ij,ij->", {3, 2}, {2, 3}},
};

INSTANTIATE_TEST_SUITE_P(Operators, OnnxGuards, ::testing::ValuesIn(kGuarded),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.op, info.index); });

TEST(OnnxShapes, AFactorWithoutAxesIsRefused) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "c", "4"});
  model.AddFloats("scale", {}, {1});
  model.AddNode("InstanceNormalization", {"x", "scale", "scale"}, {"y"}, "normal");
  model.AddOutput("y");
  EXPECT_THAT(ImportError(model).what(),
              HasSubstr("node 'normal' (InstanceNormalization): an operand has rank 0"));
}

TEST(OnnxShapes, SqueezeWithoutAxesSaysWhatToDo) {
  OnnxModel model;
  AddOpenInput(model, "x", {"batch", "1", "4"});
  model.AddNode("Squeeze", {"x"}, {"y"}, "drop");
  model.AddNode("Neg", {"y"}, {"z"});
  model.AddOutput("z");
  const auto convert = [&](const ShapeContract& contract) {
    const std::string bytes = model.Bytes();
    return ConvertGraph(ImportOnnxBytes(bytes.data(), bytes.size(), "", {},
                                        [&](Graph& inputs) { FixShapes(inputs, contract); }));
  };
  try {
    convert({});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'drop' (Squeeze)"));
    EXPECT_THAT(error.what(), HasSubstr("name the axes to remove, or fix that size (--dim NAME=1)"));
  }
  EXPECT_NO_THROW(convert({{}, {{"batch", DimRange(2, Symbol::kUnbounded)}}}));
  EXPECT_NO_THROW(convert({{}, {{"batch", 1}}}));
}

TEST(OnnxShapes, BatchNormalizationOfABatchAlone) {
  OnnxModel model(15);
  AddOpenInput(model, "x", {"batch"});
  for (const auto& [name, number] : {std::pair("scale", 2.0f), {"bias", 1.0f}, {"mean", 3.0f}, {"var", 4.0f}})
    model.AddFloats(name, {1}, {number});
  SetFloat(model.AddNode("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}), "epsilon", 0);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({3}, {1, 3, 7})}})), testing::ElementsAre(-1, 1, 5));
}

/// How nets standardise their weights at inference: by the statistics of what is normalised.
TEST(OnnxShapes, BatchNormalizationByTheBatchItself) {
  OnnxModel model(15);
  AddOpenInput(model, "x", {"batch", "2", "n"});
  model.AddFloats("scale", {2}, {2, 1});
  model.AddFloats("bias", {2}, {0, 10});
  model.AddFloats("unused", {2}, {7, 7});
  auto* node = model.AddNode("BatchNormalization", {"x", "scale", "bias", "unused", "unused"},
                             {"y", "mean", "variance"});
  SetFloat(node, "epsilon", 0);
  SetInt(node, "training_mode", 1);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2, 2, 1}, {1, 4, 3, 8})}})),
              testing::ElementsAre(-2, 9, 2, 11));
  model.AddOutput("variance");
  EXPECT_THAT(ImportError(model).what(), HasSubstr("its running statistics are used"));
}

/// Factors are not repeated along anything.
TEST(OnnxShapes, BatchNormalizationHasAFactorForEachChannel) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 1, 4}, {3}, {}}) {
    OnnxModel model(15);
    model.AddInput("x", shape);
    model.AddFloats("factors", {3}, {1, 2, 3});
    auto* node =
        model.AddNode("BatchNormalization", {"x", "factors", "factors", "factors", "factors"}, {"y"});
    SetInt(node, "training_mode", 1);
    model.AddOutput("y");
    EXPECT_EQ(ImportError(model).code(), StatusCode::kInvalidModel) << shape.size();
  }
}

/// No extent is left for a Reshape to tell, which it cannot where there are no elements.
TEST(OnnxShapes, BlocksOfNoElements) {
  for (const bool to_space : {true, false}) {
    OnnxModel model;
    auto* shape = model.AddInput("x", {})->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const char* extent : {"n", "c", "h", "w"}) shape->add_dim()->set_dim_param(extent);
    SetInt(model.AddNode(to_space ? "DepthToSpace" : "SpaceToDepth", {"x"}, {"y"}), "blocksize", 2);
    model.AddOutput("y");
    for (const Shape& x : {Shape{0, 8, 4, 6}, Shape{1, 8, 0, 6}, Shape{1, 8, 4, 6}}) {
      EXPECT_EQ(RunModel(model, {{"x", TensorData(DType::kF32, x)}}).shape(),
                to_space ? Shape({x[0], 2, 2 * x[2], 12}) : Shape({x[0], 32, x[2] / 2, 3}));
    }
  }
}

/// Of zeros of this shape at x, as imported and after the passes, to which all sizes from 0 on are open.
void ExpectShape(const OnnxModel& model, const Shape& x, const Shape& y) {
  Graph graph = model.Import();
  const std::map<std::string, TensorData> inputs = {{"x", TensorData(DType::kF32, x)}};
  EXPECT_EQ(Evaluate(graph, inputs).at("y").shape(), y);
  ShapeContract contract;
  for (const Symbol& symbol : graph.symbols()) contract.dims[symbol.name] = DimRange(0, Symbol::kUnbounded);
  FixShapes(graph, contract);
  RunPipeline(graph, {});
  EXPECT_EQ(Evaluate(graph, inputs).at("y").shape(), y);
}

TEST(OnnxShapes, PoolsOfVolumesOfNoElements) {
  for (const char* op : {"AveragePool", "MaxPool", "LpPool"}) {
    OnnxModel model(18);
    AddOpenInput(model, "x", {"n", "c", "d", "h", "w"});
    SetInts(model.AddNode(op, {"x"}, {"y"}), "kernel_shape", {2, 2, 2});
    model.AddOutput("y");
    for (const Shape& x : {Shape{0, 0, 4, 5, 6}, Shape{2, 0, 4, 5, 6}, Shape{0, 2, 4, 5, 6}})
      ExpectShape(model, x, {x[0], x[1], 3, 4, 5});
  }
}

TEST(OnnxShapes, ColumnsOfNoElements) {
  OnnxModel model(18);
  AddOpenInput(model, "x", {"n", "c", "l"});
  model.AddInts("image", {4, 2});
  model.AddInts("block", {3, 2});
  model.AddNode("Col2Im", {"x", "image", "block"}, {"y"});
  model.AddOutput("y");
  ExpectShape(model, {0, 12, 2}, {0, 2, 4, 2});
  ExpectShape(model, {3, 0, 2}, {3, 0, 4, 2});
}

/// Along the axes that keep their extents.
TEST(OnnxShapes, ResizedVolumesOfNoElements) {
  OnnxModel model(13);
  AddOpenInput(model, "x", {"n", "c", "d", "h", "w"});
  model.AddFloats("scales", {5}, {1, 1, 3, 2, 1});
  model.AddNode("Resize", {"x", "", "scales"}, {"y"});
  model.AddOutput("y");
  for (const Shape& x : {Shape{2, 0, 2, 1, 6}, Shape{2, 1, 2, 1, 0}})
    ExpectShape(model, x, {2, x[1], 6, 2, x[4]});
}

TEST(OnnxShapes, VolumesSampledNowhere) {
  OnnxModel model(20);
  AddOpenInput(model, "x", {"n", "d", "h", "w", "3"});
  model.AddFloats("volume", {2, 2, 1, 2, 1}, std::vector<float>(8, 1.0f));
  model.AddNode("GridSample", {"volume", "x"}, {"y"});
  model.AddOutput("y");
  ExpectShape(model, {2, 3, 4, 0, 3}, {2, 2, 3, 4, 0});
}

}  // namespace
}  // namespace skiff
