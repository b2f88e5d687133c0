// Model-local functions are expanded where they are called.
#include <gmock/gmock.h>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

onnx::FunctionProto* AddFunction(OnnxModel& model, const std::string& name,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  auto* function = model.proto.add_functions();
  function->set_domain("local");
  function->set_name(name);
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  auto* import = function->add_opset_import();
  import->set_version(17);
  return function;
}

onnx::NodeProto* CallFunction(OnnxModel& model, const std::string& name,
                              const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  auto* node = model.AddNode(name, inputs, outputs, "call_" + outputs[0]);
  node->set_domain("local");
  return node;
}

void Refer(onnx::NodeProto* node, const std::string& attribute, const std::string& parameter) {
  auto* reference = node->add_attribute();
  reference->set_name(attribute);
  reference->set_type(onnx::AttributeProto::FLOAT);
  reference->set_ref_attr_name(parameter);
}

/// scaled(x) = leaky(x; slope) + x
OnnxModel LeakyModel() {
  OnnxModel model;
  model.AddInput("x", {2});
  auto* function = AddFunction(model, "Scaled", {"a"}, {"b"});
  function->add_attribute("slope");
  Refer(OnnxModel::Fill(function->add_node(), "LeakyRelu", {"a"}, {"t"}, "leaky"), "alpha", "slope");
  OnnxModel::Fill(function->add_node(), "Add", {"t", "a"}, {"b"}, "sum");
  return model;
}

/// Each level calls the one below ten times.
TEST(OnnxFunctions, WhatGrowsWithEachLevelIsRefused) {
  OnnxModel model;
  model.AddInput("x", {2});
  OnnxModel::Fill(AddFunction(model, "Level0", {"a"}, {"b"})->add_node(), "Neg", {"a"}, {"b"}, "negated");
  for (int level = 1; level < 6; ++level) {
    auto* function = AddFunction(model, "Level" + std::to_string(level), {"a"}, {"b"});
    function->add_opset_import()->set_domain("local");
    for (int i = 0; i < 10; ++i) {
      auto* node = function->add_node();
      OnnxModel::Fill(node, "Level" + std::to_string(level - 1), {i == 0 ? "a" : "t" + std::to_string(i)},
                      {i == 9 ? "b" : "t" + std::to_string(i + 1)}, "call" + std::to_string(i));
      node->set_domain("local");
    }
  }
  CallFunction(model, "Level3", {"x"}, {"y"});
  model.AddOutput("y");
  EXPECT_EQ(model.Import().sources().size(), 1000u);
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("Level5");
  EXPECT_THAT(ImportError(model).what(), testing::AllOf(HasSubstr("loops expand to"), HasSubstr("50000")));
}

TEST(OnnxFunctions, AreExpandedUnderTheNameOfTheCall) {
  OnnxModel model = LeakyModel();
  SetFloat(CallFunction(model, "Scaled", {"x"}, {"y"}), "slope", 0.5f);
  SetFloat(CallFunction(model, "Scaled", {"y"}, {"z"}), "slope", 1.0f);
  model.AddOutput("z");
  const Graph graph = model.Import();
  EXPECT_THAT(AsFloats(Evaluate(graph, {{"x", Floats({2}, {-2, 3})}}).at("z")), ElementsAre(-6, 12));
  std::vector<std::string> names;
  for (const SourceNode& source : graph.sources()) names.push_back(source.name);
  EXPECT_THAT(names, ElementsAre("call_y/leaky", "call_y/sum", "call_z/leaky", "call_z/sum"));
  EXPECT_NE(graph.FindValue("y"), kNoValue) << "the caller's tensors keep their names";
  EXPECT_NE(graph.FindValue("call_y/t"), kNoValue);
}

/// A branch in a function refers to the function's attributes.
TEST(OnnxFunctions, BindAttributesOfBodies) {
  OnnxModel model;
  model.AddInput("c", {1}, onnx::TensorProto::BOOL);
  model.AddInput("x", {2});
  auto* function = AddFunction(model, "Chosen", {"c", "a"}, {"b"});
  function->add_attribute("slope");
  onnx::NodeProto* choice = OnnxModel::Fill(function->add_node(), "If", {"c"}, {"b"}, "choice");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto* body = AddBody(choice, branch);
    Refer(AddNode(body, "LeakyRelu", {"a"}, "t"), "alpha", "slope");
    body->add_output()->set_name("t");
  }
  SetFloat(CallFunction(model, "Chosen", {"c", "x"}, {"y"}), "slope", 0.5f);
  model.AddOutput("y");
  const bool yes = true;
  EXPECT_THAT(AsFloats(RunModel(
                  model, {{"c", TensorData(DType::kBool, Shape{1}, &yes)}, {"x", Floats({2}, {-2, 3})}})),
              ElementsAre(-1, 3));
}

TEST(OnnxFunctions, AttributesThatTheCallLeavesOutFallBack) {
  OnnxModel model = LeakyModel();
  CallFunction(model, "Scaled", {"x"}, {"y"});
  model.AddOutput("y");
  const TensorData x = Floats({2}, {-100, 1});
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}})), ElementsAre(-101, 2))
      << "the operator's own default, 0.01";
  // Field 11, attribute_proto: newer than the protobuf classes that this may be built with.
  onnx::AttributeProto fallback;
  fallback.set_name("slope");
  fallback.set_type(onnx::AttributeProto::FLOAT);
  fallback.set_f(2.0f);
  std::string bytes;
  model.proto.mutable_functions(0)->SerializeToString(&bytes);
  const std::string field = fallback.SerializeAsString();
  bytes += '\x5a';
  bytes += static_cast<char>(field.size());
  bytes += field;
  ASSERT_TRUE(model.proto.mutable_functions(0)->ParseFromString(bytes));
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}})), ElementsAre(-300, 2)) << "the function's default";
}

TEST(OnnxFunctions, MayCallFunctionsAndLeaveInputsOut) {
  OnnxModel model;
  model.AddInput("x", {3});
  auto* inner = AddFunction(model, "Bounded", {"v", "low", "high"}, {"w"});
  OnnxModel::Fill(inner->add_node(), "Clip", {"v", "low", "high"}, {"w"});
  auto* outer = AddFunction(model, "Outer", {"v", "high"}, {"w"});
  OnnxModel::Fill(outer->add_node(), "Bounded", {"v", "", "high"}, {"w"})->set_domain("local");
  model.AddFloats("top", {}, {1});
  CallFunction(model, "Outer", {"x", "top"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({3}, {-5, 0, 5})}})), ElementsAre(-5, 0, 1));
}

TEST(OnnxFunctions, EndlessRecursionIsAnError) {
  OnnxModel model;
  model.AddInput("x", {1});
  auto* function = AddFunction(model, "Self", {"a"}, {"b"});
  OnnxModel::Fill(function->add_node(), "Self", {"a"}, {"b"})->set_domain("local");
  CallFunction(model, "Self", {"x"}, {"y"});
  model.AddOutput("y");
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kInvalidModel);
  EXPECT_THAT(error.what(), HasSubstr("call itself"));
}

TEST(OnnxFunctions, UnsupportedOperatorsInsideAreListed) {
  OnnxModel model;
  model.AddInput("x", {1});
  auto* function = AddFunction(model, "Odd", {"a"}, {"b"});
  OnnxModel::Fill(function->add_node(), "StringNormalizer", {"a"}, {"b"}, "inner");
  CallFunction(model, "Odd", {"x"}, {"y"});
  CallFunction(model, "Odd", {"y"}, {"z"});
  model.AddOutput("z");
  EXPECT_THAT(
      ImportError(model).what(),
      HasSubstr("operator StringNormalizer of ai.onnx opset 17 (2 times: 'call_y/inner', 'call_z/inner')"));
}

/// Numbers have eight times the bytes in memory that these have in the file.
TEST(OnnxFunctions, AttributesCountWhereTheyAreReferredTo) {
  OnnxModel model;
  model.AddInput("x", {2});
  auto* function = AddFunction(model, "Many", {"a"}, {"b"});
  function->add_attribute("numbers");
  for (int i = 0; i < 400; ++i) {
    auto* reference =
        OnnxModel::Fill(function->add_node(), "Constant", {}, {fmt::format("c{}", i)})->add_attribute();
    reference->set_name("value_ints");
    reference->set_type(onnx::AttributeProto::INTS);
    reference->set_ref_attr_name("numbers");
  }
  OnnxModel::Fill(function->add_node(), "Neg", {"a"}, {"b"});
  SetInts(CallFunction(model, "Many", {"x"}, {"y"}), "numbers", std::vector<int64_t>(100'000, 1));
  model.AddOutput("y");
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("node 'call_y'"), HasSubstr("or 256 MiB")));
}

/// So have constants in the branches of a function, and codes of 4 bits as f32.
TEST(OnnxFunctions, ConstantsOfBranchesCountAsWhatTheyBecome) {
  constexpr int kCount = 1 << 20;
  constexpr int kFloat4 = 23;  // Which the protobuf classes may not have yet.
  for (const int type : {int{onnx::TensorProto::INT64}, kFloat4}) {
    OnnxModel model;
    model.AddInput("c", {1}, onnx::TensorProto::BOOL);
    auto* function = AddFunction(model, "Chosen", {"c"}, {"b"});
    onnx::NodeProto* choice = OnnxModel::Fill(function->add_node(), "If", {"c"}, {"b"}, "choice");
    for (const char* branch : {"then_branch", "else_branch"}) {
      onnx::GraphProto* body = AddBody(choice, branch);
      onnx::TensorProto* constant = body->add_initializer();
      constant->set_name("w");
      constant->set_data_type(type);
      constant->add_dims(kCount);
      if (type == onnx::TensorProto::INT64) {
        constant->mutable_int64_data()->Resize(kCount, 1);
      } else {
        constant->set_raw_data(std::string(kCount / 2, '\x11'));
      }
      body->add_output()->set_name("w");
    }
    for (int i = 0; i < 40; ++i) CallFunction(model, "Chosen", {"c"}, {fmt::format("y{}", i)});
    model.AddOutput("y0");
    const Error error = ImportError(model);
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("or 256 MiB"));
  }
}

/// What a function has beside its nodes costs each call something.
TEST(OnnxFunctions, InputsAndOpsetsCountAtEachCall) {
  for (const bool opsets : {false, true}) {
    OnnxModel model;
    model.AddInput("x", {2});
    auto* function = AddFunction(model, "Same", {"a"}, {"a"});
    for (int i = 0; i < 50'000; ++i) {
      if (opsets) {
        auto* import = function->add_opset_import();
        import->set_domain(fmt::format("{}", i));
        import->set_version(1);
      } else {
        function->add_input(fmt::format("a{}", i));
      }
    }
    for (int i = 0; i < 100; ++i) CallFunction(model, "Same", {"x"}, {fmt::format("y{}", i)});
    model.AddOutput("y0");
    const Error error = ImportError(model);
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("or 256 MiB"));
  }
}

/// Adds a text to what the protobuf classes may know no name of.
void SetText(google::protobuf::MessageLite* message, char tag, const std::string& text) {
  std::string bytes = message->SerializeAsString();
  bytes += tag;
  bytes += static_cast<char>(text.size());
  bytes += text;
  ASSERT_TRUE(message->ParseFromString(bytes));
}

TEST(OnnxFunctions, OverloadsAreToldApart) {
  constexpr char kOfFunction = 0x6a;  // Field 13.
  constexpr char kOfNode = 0x42;      // Field 8.
  OnnxModel model;
  model.AddInput("x", {2});
  OnnxModel::Fill(AddFunction(model, "F", {"a"}, {"b"})->add_node(), "Neg", {"a"}, {"b"});
  auto* doubled = AddFunction(model, "F", {"a"}, {"b"});
  OnnxModel::Fill(doubled->add_node(), "Add", {"a", "a"}, {"b"});
  EXPECT_THAT(ImportError(model).what(), HasSubstr("the function local.F is defined twice"));
  SetText(doubled, kOfFunction, "twice");
  CallFunction(model, "F", {"x"}, {"y"});
  SetText(CallFunction(model, "F", {"y"}, {"z"}), kOfNode, "twice");
  model.AddOutput("z");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {-2, 3})}})), ElementsAre(4, -6));
  SetText(CallFunction(model, "F", {"y"}, {"q"}), kOfNode, "thrice");
  EXPECT_THAT(ImportError(model).what(), HasSubstr("operator F of local opset 0 (overload 'thrice')"));
}

TEST(OnnxFunctions, TooManyArgumentsAndMissingResults) {
  OnnxModel many = LeakyModel();
  CallFunction(many, "Scaled", {"x", "x"}, {"y"});
  EXPECT_THAT(ImportError(many).what(), HasSubstr("2 inputs"));
  OnnxModel missing;
  missing.AddInput("x", {1});
  AddFunction(missing, "Empty", {"a"}, {"b"});
  CallFunction(missing, "Empty", {"x"}, {"y"});
  EXPECT_THAT(ImportError(missing).what(), HasSubstr("makes no output 'b'"));
}

}  // namespace
}  // namespace skiff
