// Small files that ask for much: each limit is told, with the node that meets it.
#include <gmock/gmock.h>

#include <set>

#include "import/node_builder.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Refusal(const OnnxModel& model) {
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  return error.what();
}

TEST(OnnxLimits, ConstantsOfTheImportersAreOneBudget) {
  OnnxModel model;
  model.AddInput("x", {3}, onnx::TensorProto::INT64);
  for (int i = 0; i < 100; ++i) {
    MakeLargeTable(
        model.AddNode("TfIdfVectorizer", {"x"}, {fmt::format("y{}", i)}, fmt::format("count{}", i)));
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("(TfIdfVectorizer): it needs a constant of 32 MiB"),
                                    HasSubstr("more than 256 MiB beside 4 times the size of the file")));
}

/// Each result has the scales of its axis with it.
TEST(OnnxLimits, ScalesOfManyResultsAreOfTheSameBudget) {
  constexpr int64_t kChannels = 1 << 18;
  OnnxModel model(18);
  model.AddInput("x", {1, kChannels}, onnx::TensorProto::INT8);
  model.AddFloats("scales", {kChannels}, std::vector<float>(kChannels, 0.5f));
  for (int i = 0; i < 200; ++i) {
    model.AddNode("DequantizeLinear", {"x", "scales"}, {fmt::format("y{}", i)}, fmt::format("real{}", i));
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("(DequantizeLinear): it needs a constant of 2 MiB"),
                                    HasSubstr("more than 256 MiB beside 4 times the size of the file")));
}

TEST(OnnxLimits, TheElementsOfABlockBecomeNodes) {
  OnnxModel model(18);
  model.AddInput("x", {1, 1024, 1});
  model.AddInts("image", {1024});
  for (int i = 0; i < 50; ++i) {
    model.AddNode("Col2Im", {"x", "image", "image"}, {fmt::format("y{}", i)}, fmt::format("fold{}", i));
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model), HasSubstr("(Col2Im): with it the model becomes more than 131072 nodes"));
}

TEST(OnnxLimits, WhatCouldBeComputedAheadIsLeftToTheDevice) {
  OnnxModel model(20);
  model.AddInput("x", {1, 2, 1});
  model.AddIntegers("axis", onnx::TensorProto::INT64, {}, {});
  model.proto.mutable_graph()->mutable_initializer(0)->add_int64_data(1);
  for (int i = 0; i < 8; ++i) {
    const std::string length = fmt::format("l{}", i);
    model.AddInts(length, {(1 << 21) - 1 - i});
    model.AddNode("DFT", {"x", length, "axis"}, {fmt::format("y{}", i)});
    model.AddOutput(fmt::format("y{}", i));
  }
  const Graph graph = model.Import();
  int64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) bytes += static_cast<int64_t>(graph.value(id).constant->size_bytes());
  }
  EXPECT_GT(bytes, int64_t{64} << 20) << "the first matrix is there";
  EXPECT_LT(bytes, int64_t{400} << 20) << "not all are";
}

TEST(OnnxLimits, SequencesTensorByTensorBecomeSoManyNodes) {
  OnnxModel model;
  model.AddInput("x", {4096, 2});
  model.AddInts("p", {0});
  model.AddNode("SplitToSequence", {"x"}, {"s"});
  for (int i = 0; i < 60; ++i) {
    model.AddNode("SequenceErase", {"s", "p"}, {fmt::format("t{}", i)}, fmt::format("erase{}", i));
    model.AddNode("SequenceAt", {fmt::format("t{}", i), "p"}, {fmt::format("y{}", i)});
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model),
              AllOf(HasSubstr("(SequenceErase): with it the model becomes more than 131072 nodes"),
                    HasSubstr("beside 8 for each node of the file")));
}

TEST(OnnxLimits, ManyOutputsOfOneSequence) {
  OnnxModel model;
  model.AddInput("x", {4096, 2});
  for (int i = 0; i < 40; ++i) {
    model.AddNode("SplitToSequence", {"x"}, {fmt::format("s{}", i)});
    model.AddOutput(fmt::format("s{}", i));
  }
  EXPECT_THAT(Refusal(model), HasSubstr("(output): with it the model becomes more than 131072 nodes"));
}

/// Each becomes dozens of nodes: a file of one MB would become millions.
TEST(OnnxLimits, ManyNodesThatBecomeManyEach) {
  OnnxModel model(20);
  model.AddInput("x", {1, 2, 1});
  for (int i = 0; i < 8000; ++i) {
    model.AddNode("DFT", {"x"}, {fmt::format("y{}", i)}, fmt::format("dft{}", i));
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("(DFT): with it the model becomes more than 131072 nodes"),
                                    HasSubstr("beside 8 for each node of the file")));
}

/// So many texts, which a chain of nodes moves to so many outputs.
OnnxModel MovedTexts(int count, const std::string& text, int outputs) {
  OnnxModel model;
  auto* texts = model.proto.mutable_graph()->add_initializer();
  texts->set_name("y");
  texts->set_data_type(onnx::TensorProto::STRING);
  texts->add_dims(count);
  for (int i = 0; i < count; ++i) texts->add_string_data(text);
  for (int i = 0; i < outputs; ++i) {
    model.AddNode("Identity", {i == 0 ? "y" : fmt::format("y{}", i - 1)}, {fmt::format("y{}", i)});
    model.AddOutput(fmt::format("y{}", i));
  }
  return model;
}

size_t LabelledOutputs(const Graph& graph) {
  size_t count = 0;
  for (const GraphPort& port : graph.outputs()) count += port.notes.value_labels.empty() ? 0 : 1;
  return count;
}

TEST(OnnxLimits, LabelsOfAllOutputsTogether) {
  const Graph few = MovedTexts(3, "a", 300).Import();
  EXPECT_TRUE(few.left_out.empty());
  EXPECT_EQ(LabelledOutputs(few), 300u);
  EXPECT_EQ(few.outputs()[299].notes.value_labels, std::vector<std::string>(3, "a"));
  const Graph many = MovedTexts(10'001, "", 300).Import();
  EXPECT_THAT(many.left_out,
              testing::ElementsAre(AllOf(HasSubstr("left out the labels of output 'y99'"),
                                         HasSubstr("more than 1000000, or more than 16777216"))));
  EXPECT_EQ(LabelledOutputs(many), 99u);
  const Graph long_ones = MovedTexts(1, std::string(5 << 20, 'a'), 300).Import();
  EXPECT_THAT(long_ones.left_out, testing::ElementsAre(HasSubstr("left out the labels of output 'y3'")));
  EXPECT_EQ(LabelledOutputs(long_ones), 3u);
}

TEST(OnnxLimits, LongNamesBeginTheNamesOfHelpersInPart) {
  OnnxModel model;
  model.AddInput("x", {2, 3});
  const std::string name(100'000, 'q');
  auto* function = model.proto.add_functions();
  function->set_domain("mine");
  function->set_name("Twice");
  function->add_input("a");
  function->add_output("c");
  function->add_opset_import()->set_version(17);
  OnnxModel::Fill(function->add_node(), "Neg", {"a"}, {"b"});
  OnnxModel::Fill(function->add_node(), "HardSwish", {"b"}, {"c"});
  auto* import = model.proto.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  for (const char* y : {"y", "z"}) {
    model.AddNode("Twice", {"x"}, {y}, name)->set_domain("mine");
    model.AddOutput(y);
  }
  const Graph graph = model.Import();
  std::set<std::string> names;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const std::string& of_value = graph.value(id).name;
    EXPECT_LT(of_value.size(), 2200u);
    EXPECT_TRUE(names.insert(of_value).second) << of_value;
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) EXPECT_LT(graph.node(id).name.size(), 2200u);
}

TEST(OnnxLimits, PrefixesEndBetweenCharacters) {
  const std::string umlauts = [] {
    std::string text = "x";
    for (int i = 0; i < 3000; ++i) text += "\xC3\xA4";
    return text;
  }();
  EXPECT_EQ(PrefixOf(umlauts), umlauts.substr(0, 2047));
  EXPECT_EQ(PrefixOf("short"), "short");
}

/// Ifs in each other, as deep as is said.
OnnxModel Nested(int depth) {
  OnnxModel model;
  model.AddInput("c", {1}, onnx::TensorProto::BOOL);
  model.AddInput("x", {2});
  onnx::GraphProto* graph = model.proto.mutable_graph();
  for (int level = 0; level < depth; ++level) {
    const std::string result = fmt::format("w{}", level);
    onnx::NodeProto* node =
        OnnxModel::Fill(graph->add_node(), "If", {"c"}, {result}, fmt::format("if{}", level));
    if (level == 0) {
      model.AddOutput(result);
    } else {
      graph->add_output()->set_name(result);
    }
    onnx::GraphProto* other = AddBody(node, "else_branch");
    AddNode(other, "Sin", {"x"}, fmt::format("z{}", level));
    other->add_output()->set_name(fmt::format("z{}", level));
    graph = AddBody(node, "then_branch");
  }
  AddNode(graph, "Neg", {"x"}, "last");
  graph->add_output()->set_name("last");
  return model;
}

TEST(OnnxLimits, BodiesLieAsDeepAsFilesMay) {
  EXPECT_NO_THROW(Nested(16).Import());
  EXPECT_THAT(Refusal(Nested(17)),
              AllOf(HasSubstr("operator If of ai.onnx opset 17 has a sub-graph that lies in 16 others"),
                    HasSubstr("/if16'")));
}

TEST(OnnxLimits, BodiesTimesOpenSizes) {
  OnnxModel model;
  model.AddInput("c", {1}, onnx::TensorProto::BOOL);
  for (int i = 0; i < 500; ++i) {
    auto* shape =
        model.AddInput(fmt::format("x{}", i), {})->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < 8; ++axis) shape->add_dim()->set_dim_param(fmt::format("d{}_{}", i, axis));
  }
  for (int i = 0; i < 140; ++i) {
    onnx::NodeProto* node = model.AddNode("If", {"c"}, {fmt::format("y{}", i)}, fmt::format("if{}", i));
    for (const char* branch : {"then_branch", "else_branch"}) {
      onnx::GraphProto* body = AddBody(node, branch);
      AddNode(body, "Neg", {"x0"}, "n");
      body->add_output()->set_name("n");
    }
    model.AddOutput(fmt::format("y{}", i));
  }
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("node 'if131': the bodies of loops and branches"),
                                    HasSubstr("more than 1048576 open sizes together")));
}

/// Each sample of a batch has a copy of the body.
TEST(OnnxLimits, BodiesOfABatchedScan) {
  OnnxModel model(8);
  model.AddInput("x", {64, 1, 2});
  onnx::NodeProto* node = model.AddNode("Scan", {"", "x"}, {"y"}, "scan");
  SetInt(node, "num_scan_inputs", 1);
  onnx::GraphProto* body = AddBody(node, "body");
  body->add_input()->set_name("t0");
  for (int i = 0; i < 1000; ++i) AddNode(body, "Neg", {fmt::format("t{}", i)}, fmt::format("t{}", i + 1));
  body->add_output()->set_name("t1000");
  model.AddOutput("y");
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("node 'scan'"), HasSubstr("more than 50000 nodes")));
}

TEST(OnnxLimits, OutputsOfASequenceMap) {
  OnnxModel model;
  model.AddInput("x", {4096});
  SetInt(model.AddNode("SplitToSequence", {"x"}, {"s"}), "keepdims", 0);
  std::vector<std::string> outputs(20'000);
  outputs[0] = "t";
  // Refused before the body is looked at, which returns nothing.
  AddBody(model.AddNode("SequenceMap", {"s"}, outputs, "map"), "body")->add_input()->set_name("e");
  SetInt(model.AddNode("ConcatFromSequence", {"t"}, {"y"}), "new_axis", 1);
  SetInt(model.proto.mutable_graph()->mutable_node(2), "axis", 0);
  model.AddOutput("y");
  EXPECT_THAT(Refusal(model), AllOf(HasSubstr("SequenceMap"), HasSubstr("more than 4194304 tensors")));
}

TEST(OnnxLimits, ProductsOfManyOpenSizes) {
  OnnxModel model(18);
  std::vector<std::string> parts;
  model.AddInts("one", {1});
  for (int i = 0; i < 5; ++i) {
    const std::string x = fmt::format("x{}", i);
    auto* shape = model.AddInput(x, {})->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < 8; ++axis) shape->add_dim()->set_dim_param(fmt::format("d{}_{}", i, axis));
    model.AddNode("Shape", {x}, {x + "_shape"});
    model.AddNode("Add", {x + "_shape", "one"}, {x + "_more"});
    parts.push_back(x + "_more");
  }
  SetInt(model.AddNode("Concat", parts, {"all"}), "axis", 0);
  model.AddNode("ReduceProd", {"all"}, {"y"});
  model.AddOutput("y");
  EXPECT_NO_THROW(model.Import());
}

TEST(OnnxLimits, ConcatenatedPoolsOfOpenSizes) {
  OnnxModel model;
  std::vector<std::string> pools;
  for (int i = 0; i < 40; ++i) {
    const std::string x = fmt::format("x{}", i);
    auto* shape = model.AddInput(x, {1, 1})->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->add_dim()->set_dim_param("n" + x);
    shape->add_dim()->set_dim_value(4);
    onnx::NodeProto* pool = model.AddNode("MaxPool", {x}, {x + "_pool"});
    SetInts(pool, "kernel_shape", {2, 1});
    SetInts(pool, "strides", {2, 1});
    pools.push_back(x + "_pool");
  }
  SetInt(model.AddNode("Concat", pools, {"y"}), "axis", 2);
  model.AddOutput("y");
  EXPECT_NO_THROW(model.Import());
}

}  // namespace
}  // namespace skiff
