// Sequences and optionals: what they hold is known at conversion, so that only tensors are left of them.
#include <gmock/gmock.h>

#include "graph/verify.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph ImportSet(const OnnxModel& model, const FixedInputs& fixed) {
  const std::string bytes = model.Bytes();
  return ImportOnnxBytes(bytes.data(), bytes.size(), "", fixed);
}

/// The first output, which the passes leave as it is.
TensorData RunBoth(const OnnxModel& model, const std::map<std::string, TensorData>& inputs,
                   const FixedInputs& fixed = {}) {
  Graph graph = ImportSet(model, fixed);
  const TensorData eager = Evaluate(graph, inputs).at(graph.outputs()[0].name);
  PipelineOptions options;
  options.verify = true;
  RunPipeline(graph, options);
  EXPECT_EQ(AsFloats(Evaluate(graph, inputs).at(graph.outputs()[0].name)), AsFloats(eager));
  return eager;
}

std::string ErrorOf(const OnnxModel& model, StatusCode code) {
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), code) << error.what();
  return error.what();
}

void AddSequenceInput(OnnxModel& model, const std::string& name, bool optional = false) {
  auto* input = model.proto.mutable_graph()->add_input();
  input->set_name(name);
  auto* type = input->mutable_type();
  if (optional) type = type->mutable_optional_type()->mutable_elem_type();
  auto* tensor = type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim();
}

/// Three tensors of two elements: s.
OnnxModel Three() {
  OnnxModel model;
  for (const char* input : {"a", "b", "c"}) model.AddInput(input, {2});
  model.AddNode("SequenceConstruct", {"a", "b", "c"}, {"s"}, "three");
  return model;
}

const std::map<std::string, TensorData>& ThreeInputs() {
  static const std::map<std::string, TensorData> inputs = {
      {"a", Floats({2}, {1, 2})}, {"b", Floats({2}, {3, 4})}, {"c", Floats({2}, {5, 6})}};
  return inputs;
}

std::vector<float> ElementAt(int64_t position) {
  OnnxModel model = Three();
  model.AddInts("p", {position});
  model.AddNode("SequenceAt", {"s", "p"}, {"y"}, "pick");
  model.AddOutput("y");
  return AsFloats(RunBoth(model, ThreeInputs()));
}

TEST(OnnxSequence, PositionsMayCountFromTheEnd) {
  EXPECT_THAT(ElementAt(0), ElementsAre(1, 2));
  EXPECT_THAT(ElementAt(2), ElementsAre(5, 6));
  EXPECT_THAT(ElementAt(-1), ElementsAre(5, 6));
  EXPECT_THAT(ElementAt(-3), ElementsAre(1, 2));
}

TEST(OnnxSequence, PositionsOutsideAreErrors) {
  for (const int64_t position : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    for (const char* op : {"SequenceAt", "SequenceErase"}) {
      OnnxModel model = Three();
      model.AddInts("p", {position});
      model.AddNode(op, {"s", "p"}, {"y"}, "pick");
      model.AddOutput("y");
      EXPECT_THAT(ErrorOf(model, StatusCode::kInvalidModel),
                  AllOf(HasSubstr("'pick'"), HasSubstr(std::to_string(position)), HasSubstr("'s'"),
                        HasSubstr("3 tensors")));
    }
  }
  OnnxModel model = Three();
  model.AddInts("p", {4});
  model.AddNode("SequenceInsert", {"s", "a", "p"}, {"t"}, "put");
  model.AddNode("SequenceLength", {"t"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(ErrorOf(model, StatusCode::kInvalidModel), AllOf(HasSubstr("'put'"), HasSubstr("position 4")));
}

TEST(OnnxSequence, InsertsAndErases) {
  OnnxModel model = Three();
  model.AddInts("p", {-2});
  model.AddInts("q", {3});
  model.AddNode("SequenceInsert", {"s", "c", "p"}, {"t"});  // a c b c
  model.AddNode("SequenceErase", {"t"}, {"u"});             // a c b
  model.AddNode("SequenceInsert", {"u", "a", "q"}, {"v"});  // a c b a
  model.AddNode("Identity", {"v"}, {"w"});
  SetInt(model.AddNode("ConcatFromSequence", {"w"}, {"y"}), "axis", 0);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunBoth(model, ThreeInputs())), ElementsAre(1, 2, 5, 6, 3, 4, 1, 2));
}

TEST(OnnxSequence, StacksAlongANewAxis) {
  for (const int64_t axis : {-1, 1}) {
    OnnxModel model = Three();
    onnx::NodeProto* node = model.AddNode("ConcatFromSequence", {"s"}, {"y"});
    SetInt(node, "axis", axis);
    SetInt(node, "new_axis", 1);
    model.AddOutput("y");
    const TensorData y = RunBoth(model, ThreeInputs());
    EXPECT_EQ(y.shape(), Shape({2, 3}));
    EXPECT_THAT(AsFloats(y), ElementsAre(1, 3, 5, 2, 4, 6));
  }
}

TEST(OnnxSequence, APositionThatIsComputedPicksAmongEqualTensors) {
  OnnxModel model = Three();
  model.AddInput("p", {}, onnx::TensorProto::INT64);
  model.AddNode("SequenceAt", {"s", "p"}, {"y"}, "pick");
  model.AddOutput("y");
  for (const int64_t position : {1, -2}) {
    std::map<std::string, TensorData> inputs = ThreeInputs();
    inputs.emplace("p", TensorData(DType::kI64, Shape{}, &position));
    EXPECT_THAT(AsFloats(RunBoth(model, inputs)), ElementsAre(3, 4));
  }
  model.AddInput("other", {3});
  model.proto.mutable_graph()->mutable_node(0)->set_input(1, "other");
  EXPECT_THAT(ErrorOf(model, StatusCode::kUnsupported),
              AllOf(HasSubstr("'s' at a position that is computed at run time"), HasSubstr("equally large")));
}

TEST(OnnxSequence, WhatOnlyTheRunKnowsIsRefused) {
  OnnxModel model = Three();
  model.AddInput("p", {}, onnx::TensorProto::INT64);
  model.AddNode("SequenceErase", {"s", "p"}, {"t"}, "drop");
  model.AddNode("SequenceLength", {"t"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(ErrorOf(model, StatusCode::kUnsupported),
              AllOf(HasSubstr("erases from a position that is computed at run time"), HasSubstr("'drop'")));
}

/// x, of open length, cut along its first axis into `parts`.
OnnxModel Split(const std::vector<int64_t>& parts, bool one_size, int64_t extent) {
  OnnxModel model;
  auto* shape = model.AddInput("x", {0, 2})->mutable_type()->mutable_tensor_type()->mutable_shape();
  if (extent > 0) shape->mutable_dim(0)->set_dim_value(extent);
  if (!parts.empty()) {
    model.AddInts("parts", parts);
    if (one_size) model.proto.mutable_graph()->mutable_initializer(0)->clear_dims();
  }
  model.AddNode("SplitToSequence", {"x", parts.empty() ? "" : "parts"}, {"s"}, "cut");
  return model;
}

TEST(OnnxSequence, SplitsIntoParts) {
  const auto lengths = [](OnnxModel model, int64_t position) {
    model.AddInts("p", {position});
    model.AddNode("SequenceAt", {"s", "p"}, {"y"});
    model.AddOutput("y");
    return AsFloats(RunBoth(model, {{"x", Counting({5, 2})}}));
  };
  EXPECT_THAT(lengths(Split({2}, true, 5), -1), ElementsAre(8, 9));
  EXPECT_THAT(lengths(Split({2}, true, 5), 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(lengths(Split({INT64_MAX}, true, 5), 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(lengths(Split({4, 1}, false, 0), 1), ElementsAre(8, 9)) << "the extent need not be known";
  EXPECT_THAT(lengths(Split({}, false, 0), 3), ElementsAre(6, 7));
  EXPECT_THAT(lengths(Split({}, false, 0), -2), ElementsAre(6, 7));
  OnnxModel open = Split({2}, true, 0);
  open.AddNode("SequenceLength", {"s"}, {"y"});
  open.AddOutput("y");
  EXPECT_THAT(ErrorOf(open, StatusCode::kUnsupported),
              AllOf(HasSubstr("'cut'"), HasSubstr("parts of 2 along axis 0"), HasSubstr("--dim")));
}

TEST(OnnxSequence, SlicesOfOpenLengthAreJoinedAgain) {
  for (const bool stacks : {false, true}) {
    OnnxModel model = Split({}, false, 0);
    SetInt(model.proto.mutable_graph()->mutable_node(0), "keepdims", stacks ? 0 : 1);
    onnx::NodeProto* node = model.AddNode("ConcatFromSequence", {"s"}, {"y"});
    SetInt(node, "axis", 1);
    SetInt(node, "new_axis", stacks ? 1 : 0);
    model.AddOutput("y");
    const TensorData y = RunBoth(model, {{"x", Counting({3, 2})}});
    EXPECT_EQ(y.shape(), stacks ? Shape({2, 3}) : Shape({1, 6}));
    EXPECT_THAT(AsFloats(y), stacks ? ElementsAre(0, 2, 4, 1, 3, 5) : ElementsAre(0, 1, 2, 3, 4, 5));
  }
  OnnxModel length = Split({}, false, 0);
  length.AddNode("SequenceLength", {"s"}, {"y"});
  length.AddOutput("y");
  EXPECT_THAT(RunBoth(length, {{"x", Counting({4, 2})}}).ToInts(), ElementsAre(4));
}

TEST(OnnxSequence, AMapHasItsBodyForEachTensor) {
  OnnxModel model = Three();
  model.AddFloats("w", {2}, {10, 20});
  onnx::NodeProto* node = model.AddNode("SequenceMap", {"s", "w"}, {"t"}, "map");
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"e", "f"}) body->add_input()->set_name(input);
  AddNode(body, "Mul", {"e", "f"}, "m");
  AddNode(body, "Add", {"m", "c"}, "n");  // Read from around it.
  body->add_output()->set_name("n");
  SetInt(model.AddNode("ConcatFromSequence", {"t"}, {"y"}), "axis", 0);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunBoth(model, ThreeInputs())), ElementsAre(15, 46, 35, 86, 55, 126));
}

/// x * 2 or x * 2, -x, depending on an input.
OnnxModel Choice(bool as_many) {
  OnnxModel model;
  model.AddInput("go", {1}, onnx::TensorProto::BOOL);
  model.AddInput("x", {2});
  onnx::NodeProto* node = model.AddNode("If", {"go"}, {"s"}, "choice");
  onnx::GraphProto* then_branch = AddBody(node, "then_branch");
  AddNode(then_branch, "Add", {"x", "x"}, "t");
  AddNode(then_branch, "SequenceConstruct", {"t"}, "ts");
  then_branch->add_output()->set_name("ts");
  onnx::GraphProto* else_branch = AddBody(node, "else_branch");
  AddNode(else_branch, "Neg", {"x"}, "e");
  if (as_many) {
    AddNode(else_branch, "SequenceConstruct", {"e"}, "es");
  } else {
    AddNode(else_branch, "SequenceConstruct", {"e", "x"}, "es");
  }
  else_branch->add_output()->set_name("es");
  SetInt(model.AddNode("ConcatFromSequence", {"s"}, {"y"}), "axis", 0);
  model.AddOutput("y");
  return model;
}

TEST(OnnxSequence, BranchesReturnEquallyMany) {
  const TensorData x = Floats({2}, {1, 2});
  for (const bool go : {false, true}) {
    const TensorData y = RunBoth(Choice(true), {{"go", TensorData(DType::kBool, {1}, &go)}, {"x", x}});
    EXPECT_THAT(AsFloats(y), go ? ElementsAre(2, 4) : ElementsAre(-1, -2));
  }
  EXPECT_THAT(
      ErrorOf(Choice(false), StatusCode::kUnsupported),
      AllOf(HasSubstr("'choice'"), HasSubstr("'s' a sequence of 1 tensors from one branch and a sequence "
                                             "of 2 tensors from the other")));
  EXPECT_THAT(AsFloats(RunBoth(Choice(false), {{"x", x}}, {{"go", 0}})), ElementsAre(-1, -2, 1, 2));
}

/// Appends x * iteration to a sequence; `twice` also x. Then y is what the sequence holds, joined.
OnnxModel Collect(const std::string& trips, bool twice = false) {
  OnnxModel model;
  model.AddInput("x", {2});
  if (trips == "trips") model.AddInput(trips, {}, onnx::TensorProto::INT64);
  model.AddNode("SequenceConstruct", {"x"}, {"start"});
  onnx::NodeProto* node = model.AddNode("Loop", {trips, "", "start"}, {"s"}, "loop");
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"i", "go", "before"}) body->add_input()->set_name(input);
  SetInt(AddNode(body, "Cast", {"i"}, "number"), "to", onnx::TensorProto::FLOAT);
  AddNode(body, "Mul", {"x", "number"}, "row");
  AddNode(body, "SequenceInsert", {"before", "row"}, twice ? "between" : "after");
  if (twice) AddNode(body, "SequenceInsert", {"between", "x"}, "after");
  AddNode(body, "Identity", {"go"}, "on");
  for (const char* output : {"on", "after"}) body->add_output()->set_name(output);
  SetInt(model.AddNode("ConcatFromSequence", {"s"}, {"y"}, "join"), "axis", 0);
  model.AddOutput("y");
  return model;
}

TEST(OnnxSequence, ALoopCollectsWhatItAppends) {
  const auto run = [](const OnnxModel& model, int64_t trips) {
    return AsFloats(
        RunBoth(model, {{"x", Floats({2}, {1, 10})}, {"trips", TensorData(DType::kI64, Shape{}, &trips)}}));
  };
  EXPECT_THAT(run(Collect("trips"), 3), ElementsAre(1, 10, 0, 0, 1, 10, 2, 20));
  EXPECT_THAT(run(Collect("trips"), 0), ElementsAre(1, 10));
  EXPECT_THAT(run(Collect("trips", true), 2), ElementsAre(1, 10, 0, 0, 1, 10, 1, 10, 1, 10));
  const Graph graph = Collect("trips").Import();
  EXPECT_TRUE(std::any_of(graph.inputs().begin(), graph.inputs().end(),
                          [](const GraphPort& port) { return port.name == "trips"; }));
}

size_t CountOf(const Graph& graph, OpCode op) {
  size_t count = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id)
    count += graph.node(id).op == op && !graph.node(id).removed ? 1 : 0;
  return count;
}

TEST(OnnxSequence, ALoopOfFewTripsIsUnrolled) {
  OnnxModel model = Collect("count");
  model.AddInts("count", {2});
  EXPECT_EQ(CountOf(model.Import(), OpCode::kWhile), 0u);
  EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats({2}, {1, 10})}})), ElementsAre(1, 10, 0, 0, 1, 10));
  OnnxModel many = Collect("count");
  many.AddInts("count", {100});
  EXPECT_EQ(CountOf(many.Import(), OpCode::kWhile), 1u);
  EXPECT_EQ(RunBoth(many, {{"x", Floats({2}, {1, 10})}}).elements(), 202);
}

TEST(OnnxSequence, WhatALoopDoesBesideAppendingNeedsItsTripCount) {
  OnnxModel model = Collect("trips");
  onnx::GraphProto* body = model.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  AddNode(body, "SequenceLength", {"before"}, "length");
  body->mutable_node(0)->set_input(0, "length");
  EXPECT_THAT(
      ErrorOf(model, StatusCode::kUnsupported),
      AllOf(HasSubstr("reads the sequence 'before' while a loop adds to it"), HasSubstr("at most 64")));
  model.AddInts("trips", {2});
  EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats({2}, {1, 10})}})), ElementsAre(1, 10, 1, 10, 2, 20));

  OnnxModel erases = Collect("trips");
  body = erases.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  *body->mutable_node(2) = onnx::NodeProto();
  OnnxModel::Fill(body->mutable_node(2), "SequenceConstruct", {"row"}, {"after"});
  EXPECT_THAT(ErrorOf(erases, StatusCode::kUnsupported),
              AllOf(HasSubstr("'start'"), HasSubstr("does more than to add tensors at its end")));
}

TEST(OnnxSequence, WhatNoTripCountBoundsIsRefused) {
  EXPECT_THAT(ErrorOf(Collect(""), StatusCode::kUnsupported), HasSubstr("nothing says how many iterations"));
}

TEST(OnnxSequence, OptionalsAreWhatTheyHold) {
  for (const bool given : {false, true}) {
    OnnxModel model;
    model.AddInput("x", {2});
    model.AddNode("Optional", {given ? "x" : ""}, {"o"});
    model.AddNode("OptionalHasElement", {"o"}, {"has"});
    onnx::NodeProto* node = model.AddNode("If", {"has"}, {"y"});
    onnx::GraphProto* then_branch = AddBody(node, "then_branch");
    AddNode(then_branch, "OptionalGetElement", {"o"}, "t");
    then_branch->add_output()->set_name("t");
    onnx::GraphProto* else_branch = AddBody(node, "else_branch");
    AddNode(else_branch, "Neg", {"x"}, "e");
    else_branch->add_output()->set_name("e");
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats({2}, {1, 2})}})),
                given ? ElementsAre(1, 2) : ElementsAre(-1, -2));
  }
}

TEST(OnnxSequence, TheElementOfNothingIsAnError) {
  OnnxModel model;
  model.AddNode("Optional", {}, {"o"});
  model.AddNode("OptionalGetElement", {"o"}, {"y"}, "take");
  model.AddOutput("y");
  EXPECT_THAT(ErrorOf(model, StatusCode::kInvalidModel),
              AllOf(HasSubstr("'take'"), HasSubstr("holds nothing")));
}

TEST(OnnxSequence, InputsAndOutputsAreTheTensors) {
  OnnxModel model;
  AddSequenceInput(model, "s");
  model.AddNode("Identity", {"s"}, {"t"});
  model.AddOutput("t");
  EXPECT_THAT(ErrorOf(model, StatusCode::kUnsupported),
              AllOf(HasSubstr("sequences of any length"), HasSubstr("'s'"), HasSubstr("--set NAME=COUNT")));
  const Graph graph = ImportSet(model, {{"s", 2}});
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[1].name, "t.1");
  const auto results = Evaluate(graph, {{"s.0", Floats({1}, {7})}, {"s.1", Floats({2}, {8, 9})}});
  EXPECT_THAT(AsFloats(results.at("t.0")), ElementsAre(7));
  EXPECT_THAT(AsFloats(results.at("t.1")), ElementsAre(8, 9)) << "each tensor has its own extents";
  for (const double count : {-1.0, 0.5, 1e9}) {
    try {
      ImportSet(model, {{"s", count}});
      ADD_FAILURE() << count;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("'s'"), HasSubstr("holds 0 to 4096 tensors")));
    }
  }
}

TEST(OnnxSequence, OptionalInputsAreGivenOrNot) {
  OnnxModel model;
  AddSequenceInput(model, "s", true);
  model.AddNode("OptionalHasElement", {"s"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(ImportSet(model, {{"s", 0}}).outputs().size(), 1u);
  EXPECT_THAT(Evaluate(ImportSet(model, {{"s", 0}}), {}).at("y").ToInts(), ElementsAre(0));
  EXPECT_THAT(Evaluate(ImportSet(model, {{"s", 1}}), {{"s.0", Floats({1}, {1})}}).at("y").ToInts(),
              ElementsAre(1));
}

TEST(OnnxSequence, AnOutputOfOpenLengthIsRefused) {
  OnnxModel model = Split({}, false, 0);
  model.AddOutput("s");
  EXPECT_THAT(ErrorOf(model, StatusCode::kUnsupported),
              AllOf(HasSubstr("output 's'"), HasSubstr("only the run knows")));
}

TEST(OnnxSequence, SequencesAndTensorsAreToldApart) {
  OnnxModel tensor = Three();
  tensor.AddInts("p", {0});
  tensor.AddNode("SequenceAt", {"a", "p"}, {"y"}, "pick");
  tensor.AddOutput("y");
  EXPECT_THAT(
      ErrorOf(tensor, StatusCode::kInvalidModel),
      AllOf(HasSubstr("'pick' (SequenceAt)"), HasSubstr("'a', is a tensor; a sequence was expected")));

  const char* const takes_tensors[] = {"Relu", "Concat", "If", "SequenceConstruct", "SplitToSequence",
                                       "Scan"};
  for (const char* op : takes_tensors) {
    OnnxModel model = Three();
    model.AddNode(op, {"s"}, {"y"}, "odd");
    model.AddOutput("y");
    EXPECT_THAT(ErrorOf(model, StatusCode::kInvalidModel),
                AllOf(HasSubstr("node 'odd'"), HasSubstr("'s', is a sequence; a tensor was expected")))
        << op;
  }
  OnnxModel position = Three();
  position.AddNode("SequenceAt", {"s", "s"}, {"y"}, "odd");
  position.AddOutput("y");
  EXPECT_THAT(ErrorOf(position, StatusCode::kInvalidModel), HasSubstr("input 1, 's', is a sequence"));

  OnnxModel loop = Collect("trips");
  onnx::GraphProto* body = loop.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  body->mutable_output(1)->set_name("row");
  EXPECT_THAT(ErrorOf(loop, StatusCode::kInvalidModel),
              AllOf(HasSubstr("'loop' (Loop)"), HasSubstr("returns a tensor"), HasSubstr("'start'")));
  body->mutable_output(0)->set_name("after");
  EXPECT_THAT(ErrorOf(loop, StatusCode::kInvalidModel), HasSubstr("as its condition, returns a sequence"));

  OnnxModel empty;
  empty.AddNode("SequenceEmpty", {}, {"s"});
  SetInt(empty.AddNode("ConcatFromSequence", {"s"}, {"y"}, "join"), "axis", 0);
  empty.AddOutput("y");
  EXPECT_THAT(ErrorOf(empty, StatusCode::kInvalidModel),
              AllOf(HasSubstr("'join'"), HasSubstr("holds nothing")));
}

TEST(OnnxSequence, SequencesThatGrowWithoutEndAreRefused) {
  OnnxModel model = Three();
  std::string last = "s";
  for (int i = 0; i < 4000; ++i) {
    const std::string next = fmt::format("s{}", i);
    model.AddNode("SequenceInsert", {last, "a"}, {next});
    last = next;
  }
  model.AddNode("SequenceLength", {last}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(ErrorOf(model, StatusCode::kUnsupported), HasSubstr("too many sequences"));
}

}  // namespace
}  // namespace skiff
