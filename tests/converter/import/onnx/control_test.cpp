#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/verify.h"
#include "passes/passes.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorData Bool(bool value) { return TensorData(DType::kBool, Shape{1}, &value); }

/// Through the passes, too.
TensorData RunBoth(const OnnxModel& model, const std::map<std::string, TensorData>& inputs) {
  TensorData eager = RunModel(model, inputs);
  Graph graph = model.Import();
  PipelineOptions options;
  options.verify = true;
  RunPipeline(graph, options);
  EXPECT_EQ(AsFloats(Evaluate(graph, inputs).begin()->second), AsFloats(eager));
  return eager;
}

void NameExtent(OnnxModel& model, int input, const char* name) {
  auto* type = model.proto.mutable_graph()->mutable_input(input)->mutable_type();
  type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(name);
}

/// x * w if the condition holds, else w + h, where h is made around the branches.
OnnxModel Choice() {
  OnnxModel model;
  model.AddInput("c", {1}, onnx::TensorProto::BOOL);
  model.AddInput("x", {2});
  model.AddFloats("w", {2}, {10, 20});
  onnx::NodeProto* node = model.AddNode("If", {"c"}, {"y"}, "choice");
  onnx::GraphProto* then_branch = AddBody(node, "then_branch");
  AddNode(then_branch, "Mul", {"x", "w"}, "t");
  then_branch->add_output()->set_name("t");
  onnx::GraphProto* else_branch = AddBody(node, "else_branch");
  AddNode(else_branch, "Add", {"w", "h"}, "e");
  else_branch->add_output()->set_name("e");
  model.AddNode("Neg", {"x"}, {"h"});  // Behind the node that reads it: the order is the importer's business.
  model.AddOutput("y");
  return model;
}

TEST(OnnxControl, BranchesReadWhatIsAroundThem) {
  const TensorData x = Floats(Shape{2}, {1, 2});
  EXPECT_THAT(AsFloats(RunBoth(Choice(), {{"c", Bool(true)}, {"x", x}})), ElementsAre(10, 40));
  EXPECT_THAT(AsFloats(RunBoth(Choice(), {{"c", Bool(false)}, {"x", x}})), ElementsAre(9, 18));
}

/// A net with a branch for each sampling rate, as voice detectors are: the one for 8000 Hz cannot take the
/// input.
OnnxModel TwoRates() {
  OnnxModel model;
  model.AddInput("x", {1, 512});
  model.AddInput("sr", {}, onnx::TensorProto::INT64);
  model.AddInts("wide", {16000});
  model.AddNode("Equal", {"sr", "wide"}, {"is_wide"});
  onnx::NodeProto* node = model.AddNode("If", {"is_wide"}, {"y"}, "rate");
  onnx::GraphProto* then_branch = AddBody(node, "then_branch");
  AddNode(then_branch, "ReduceSum", {"x"}, "t");
  then_branch->add_output()->set_name("t");
  onnx::GraphProto* else_branch = AddBody(node, "else_branch");
  model.AddFloats("narrow", {256, 1}, std::vector<float>(256, 1.0f));
  AddNode(else_branch, "MatMul", {"x", "narrow"}, "e");
  else_branch->add_output()->set_name("e");
  model.AddOutput("y");
  return model;
}

TEST(OnnxControl, AnInputThatIsFixedChoosesTheBranch) {
  const std::string bytes = TwoRates().Bytes();
  const Graph graph = ImportOnnxBytes(bytes.data(), bytes.size(), "", {{"sr", 16000}});
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].name, "x");
  const TensorData ones = Floats(Shape{1, 512}, std::vector<float>(512, 1.0f));
  EXPECT_THAT(AsFloats(Evaluate(graph, {{"x", ones}}).at("y")), ElementsAre(512));
}

TEST(OnnxControl, WhatCannotBeFixedIsNamed) {
  const std::string bytes = TwoRates().Bytes();
  const auto message = [&](const FixedInputs& fixed) -> std::string {
    try {
      ImportOnnxBytes(bytes.data(), bytes.size(), "", fixed);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({{"rate", 1}}), HasSubstr("no input 'rate'; its inputs are 'x', 'sr'"));
  EXPECT_THAT(message({{"x", 1}}), HasSubstr("not a tensor of one element"));
  EXPECT_THAT(message({{"sr", 0.5}}), HasSubstr("0.5 is no i64"));
}

TEST(OnnxControl, ABranchThatIsNeverTakenMayBeWrong) {
  OnnxModel model;
  model.AddInput("x", {2, 1});
  const bool yes = true;
  auto* condition = model.proto.mutable_graph()->add_initializer();
  condition->set_name("c");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->set_raw_data(&yes, 1);
  onnx::NodeProto* node = model.AddNode("If", {"c"}, {"y"});
  onnx::GraphProto* then_branch = AddBody(node, "then_branch");
  AddNode(then_branch, "Exp", {"x"}, "t");
  then_branch->add_output()->set_name("t");
  onnx::GraphProto* else_branch = AddBody(node, "else_branch");
  SetInts(OnnxModel::Fill(else_branch->add_node(), "Transpose", {"x"}, {"e"}), "perm", {0, 1, 2});
  else_branch->add_output()->set_name("e");
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats(Shape{2, 1}, {0, 0})}})), ElementsAre(1, 1));
}

/// What 64 bits, or 32, make of a size is what a condition on it sees, also where it is known for all sizes
/// that a larger number would fulfil it.
TEST(OnnxControl, SizesWrapAroundAsIntegersDo) {
  const auto negates = [](const char* op, int64_t number, int64_t factor, int type) {
    OnnxModel model;
    model.AddInput("x", {0});
    NameExtent(model, 0, "n");
    model.AddInts("number", {number});
    model.AddInts("factor", {factor});
    model.AddIntegers("zero", onnx::TensorProto::INT32, {1}, {0});
    model.AddNode("Shape", {"x"}, {"size"});
    model.AddNode(op, {"size", "number"}, {"some"});
    model.AddNode("Mul", {"some", "factor"}, {"more"});
    SetInt(model.AddNode("Cast", {"more"}, {"cast"}), "to", type);
    SetInt(model.AddNode("Cast", {"zero"}, {"none"}), "to", type);
    model.AddNode("Less", {"cast", "none"}, {"negative"});
    onnx::NodeProto* node = model.AddNode("If", {"negative"}, {"y"});
    for (const auto& [branch, of] : {std::pair("then_branch", "Neg"), std::pair("else_branch", "Identity")}) {
      onnx::GraphProto* body = AddBody(node, branch);
      AddNode(body, of, {"x"}, "result");
      body->add_output()->set_name("result");
    }
    model.AddOutput("y");
    return AsFloats(RunBoth(model, {{"x", Floats(Shape{3}, {1, 1, 1})}}))[0] < 0;
  };
  constexpr int kI64 = onnx::TensorProto::INT64;
  constexpr int kI32 = onnx::TensorProto::INT32;
  EXPECT_TRUE(negates("Add", INT64_MAX, 1, kI64));
  EXPECT_TRUE(negates("Mul", int64_t{1} << 62, 1, kI64));  // 3 * 2^62 is -2^62.
  EXPECT_FALSE(negates("Mul", int64_t{1} << 62, 4, kI64));
  EXPECT_TRUE(negates("Mul", int64_t{1} << 31, 1, kI32));
  EXPECT_FALSE(negates("Mul", int64_t{1} << 31, 1, kI64));
  EXPECT_TRUE(negates("Sub", INT64_MAX, 1, kI64));
  EXPECT_TRUE(negates("Sub", INT64_MIN, 1, kI64));
}

/// Adds w to x at most `trips` times, as long as the sum's first element is less than 100.
OnnxModel Repeat(bool with_trips, bool with_condition) {
  OnnxModel model;
  model.AddInput("trips", {1}, onnx::TensorProto::INT64);
  model.AddInput("c", {}, onnx::TensorProto::BOOL);
  model.AddInput("x", {1});
  model.AddFloats("w", {1}, {30});
  model.AddFloats("most", {1}, {100});
  onnx::NodeProto* node =
      model.AddNode("Loop", {with_trips ? "trips" : "", with_condition ? "c" : "", "x"}, {"y"}, "loop");
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"i", "go", "sum"}) body->add_input()->set_name(input);
  AddNode(body, "Add", {"sum", "w"}, "next");
  AddNode(body, "Less", {"next", "most"}, "more");
  body->add_output()->set_name("more");
  body->add_output()->set_name("next");
  model.AddOutput("y");
  return model;
}

TEST(OnnxControl, LoopsCountAndAsk) {
  const auto run = [](bool with_trips, bool with_condition, int64_t trips, bool condition) {
    return RunBoth(Repeat(with_trips, with_condition), {{"trips", TensorData(DType::kI64, Shape{1}, &trips)},
                                                        {"c", TensorData(DType::kBool, Shape{}, &condition)},
                                                        {"x", Floats(Shape{1}, {1})}})
        .ToDoubles()[0];
  };
  EXPECT_EQ(run(true, true, 2, true), 61);
  EXPECT_EQ(run(true, true, 9, true), 121);
  EXPECT_EQ(run(true, true, 9, false), 1);
  EXPECT_EQ(run(true, true, 0, true), 1);
  EXPECT_EQ(run(true, false, 3, false), 91);
  EXPECT_EQ(run(false, true, 0, true), 121);
  EXPECT_EQ(run(false, true, 0, false), 1);
}

/// Running sums of each sample of x, which opset 8 goes through with its batch axis.
OnnxModel BatchedScan(const std::vector<int64_t>& lengths) {
  OnnxModel model(8);
  model.AddInput("start", {2, 1});
  model.AddInput("x", {2, 3, 1});
  if (!lengths.empty()) model.AddInts("lengths", lengths);
  onnx::NodeProto* node =
      model.AddNode("Scan", {lengths.empty() ? "" : "lengths", "start", "x"}, {"last", "sums"}, "scan");
  SetInt(node, "num_scan_inputs", 1);
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"before", "next"}) body->add_input()->set_name(input);
  AddNode(body, "Add", {"before", "next"}, "after");
  AddNode(body, "Identity", {"after"}, "row");
  for (const char* output : {"after", "row"}) body->add_output()->set_name(output);
  model.AddOutput("sums");
  model.AddOutput("last");
  return model;
}

TEST(OnnxControl, AScanOfOpset8GoesThroughEachSample) {
  const std::map<std::string, TensorData> inputs = {{"start", Floats(Shape{2, 1}, {0, 100})},
                                                    {"x", Floats(Shape{2, 3, 1}, {1, 2, 3, 4, 5, 6})}};
  const auto run = [&](const OnnxModel& model, const char* output) {
    const TensorData data = Evaluate(model.Import(), inputs).at(output);
    EXPECT_EQ(data.shape(), output == std::string("sums") ? Shape({2, 3, 1}) : Shape({2, 1}));
    return AsFloats(data);
  };
  EXPECT_THAT(run(BatchedScan({}), "sums"), ElementsAre(1, 3, 6, 104, 109, 115));
  EXPECT_THAT(run(BatchedScan({}), "last"), ElementsAre(6, 115));
  EXPECT_THAT(run(BatchedScan({3, 1}), "sums"), ElementsAre(1, 3, 6, 104, 0, 0));
  EXPECT_THAT(run(BatchedScan({3, 1}), "last"), ElementsAre(6, 104));
  OnnxModel backwards = BatchedScan({});
  SetInts(backwards.proto.mutable_graph()->mutable_node(0), "directions", {1});
  EXPECT_THAT(run(backwards, "sums"), ElementsAre(3, 5, 6, 106, 111, 115));
}

TEST(OnnxControl, WhatAScanOfOpset8MustKnow) {
  const Error lengths = ImportError(BatchedScan({3, 4}));
  EXPECT_EQ(lengths.code(), StatusCode::kInvalidModel);
  EXPECT_THAT(lengths.what(), HasSubstr("input 0 holds 4; 0 to 3 was expected"));
  const Error few = ImportError(BatchedScan({3}));
  EXPECT_THAT(few.what(), HasSubstr("1 lengths for a batch of 2"));
  OnnxModel open = BatchedScan({});
  for (auto& input : *open.proto.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  const Error error = ImportError(open);
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("must be known and at most 64"));
}

/// Sums of the rows of x and z.
OnnxModel ScanOfTwo(const std::vector<int64_t>& x, const std::vector<int64_t>& z) {
  OnnxModel model;
  model.AddInput("x", x);
  model.AddInput("z", z);
  onnx::NodeProto* scan = model.AddNode("Scan", {"x", "z"}, {"y"});
  SetInt(scan, "num_scan_inputs", 2);
  onnx::GraphProto* body = AddBody(scan, "body");
  for (const char* input : {"a", "b"}) body->add_input()->set_name(input);
  AddNode(body, "Add", {"a", "b"}, "sum");
  body->add_output()->set_name("sum");
  model.AddOutput("y");
  return model;
}

TEST(OnnxControl, AScanGoesThroughInputsOfOneLength) {
  EXPECT_THAT(ImportError(ScanOfTwo({3, 1}, {5, 1})).what(),
              HasSubstr("scans 3 steps of input 0 and 5 of input 1"));
  OnnxModel open = ScanOfTwo({0, 1}, {0, 1});
  NameExtent(open, 0, "n");
  NameExtent(open, 1, "m");
  const TensorData three = Floats(Shape{3, 1}, {1, 2, 3});
  EXPECT_THAT(AsFloats(RunBoth(open, {{"x", three}, {"z", three}})), ElementsAre(2, 4, 6));
  EXPECT_THROW(RunBoth(open, {{"x", three}, {"z", Floats(Shape{5, 1}, {1, 2, 3, 4, 5})}}), Error);
}

/// A list that begins empty: its first element is x[0], each other one the last and x[i].
TEST(OnnxControl, ABranchOfTheFirstIterationIsNotThatOfAll) {
  OnnxModel model;
  model.AddInput("x", {1});
  NameExtent(model, 0, "n");
  model.AddFloats("empty", {0}, {});
  model.AddInts("zero", {0});
  model.AddInts("last", {-1});
  model.AddInts("end", {1 << 30});
  model.AddNode("Shape", {"x"}, {"trips"});
  onnx::NodeProto* node = model.AddNode("Loop", {"trips", "", "empty"}, {"sums"});
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"i", "go", "list"}) body->add_input()->set_name(input);
  AddNode(body, "Unsqueeze", {"i", "zero"}, "place");
  AddNode(body, "Gather", {"x", "place"}, "next");
  AddNode(body, "Shape", {"list"}, "length");
  AddNode(body, "Equal", {"length", "zero"}, "begins");
  onnx::NodeProto* choice = AddNode(body, "If", {"begins"}, "longer");
  onnx::GraphProto* first = AddBody(choice, "then_branch");
  AddNode(first, "Identity", {"next"}, "one");
  first->add_output()->set_name("one");
  onnx::GraphProto* others = AddBody(choice, "else_branch");
  AddNode(others, "Slice", {"list", "last", "end", "zero"}, "before");
  AddNode(others, "Add", {"before", "next"}, "sum");
  SetInt(AddNode(others, "Concat", {"list", "sum"}, "more"), "axis", 0);
  others->add_output()->set_name("more");
  for (const char* output : {"go", "longer"}) body->add_output()->set_name(output);
  model.AddOutput("sums");
  EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats(Shape{4}, {1, 2, 3, 4})}})), ElementsAre(1, 3, 6, 10));
}

/// The sum of the first half of a list that each iteration makes longer, and how long it is in the end.
TEST(OnnxControl, ALengthOfTheFirstIterationIsNotThatOfAll) {
  OnnxModel model(18);
  model.AddInput("x", {3});
  model.AddInts("trips", {3});
  model.AddFloats("nothing", {1}, {0});
  model.AddFloats("half", {1}, {0.5f});
  model.AddInts("zero", {0});
  model.AddInts("two", {2});
  onnx::NodeProto* node = model.AddNode("Loop", {"trips", "", "x", "nothing"}, {"list", "sum"});
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"i", "go", "l", "s"}) body->add_input()->set_name(input);
  AddNode(body, "Shape", {"l"}, "length");
  AddNode(body, "Div", {"length", "two"}, "middle");
  AddNode(body, "Slice", {"l", "zero", "middle", "zero"}, "front");
  AddNode(body, "ReduceSum", {"front"}, "of_front");
  AddNode(body, "Add", {"s", "of_front"}, "t");
  SetInt(AddNode(body, "Concat", {"l", "half"}, "longer"), "axis", 0);
  for (const char* output : {"go", "longer", "t"}) body->add_output()->set_name(output);
  model.AddNode("Shape", {"list"}, {"count"});
  SetInt(model.AddNode("Cast", {"count"}, {"number"}), "to", onnx::TensorProto::FLOAT);
  model.AddNode("Add", {"sum", "number"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunBoth(model, {{"x", Floats(Shape{3}, {1, 2, 3})}})), ElementsAre(1 + 3 + 3 + 6));
}

/// A loop in another one finds out what its iterations change once, however often its body is imported.
TEST(OnnxControl, LoopsInLoopsAreImportedOnce) {
  OnnxModel model;
  model.AddInput("x", {1});
  model.AddInts("trips", {2});
  model.AddFloats("half", {1}, {0.5f});
  onnx::NodeProto* node = model.AddNode("Loop", {"trips", "", "x"}, {"y"});
  for (int level = 0; level < 10; ++level) {
    onnx::GraphProto* body = AddBody(node, "body");
    for (const char* input : {"i", "go", "l"}) body->add_input()->set_name(input);
    for (const char* output : {"go", "longer"}) body->add_output()->set_name(output);
    if (level < 9) {
      node = AddNode(body, "Loop", {"trips", "", "l"}, "longer");
      node->set_name(fmt::format("level_{}", level));
    } else {
      SetInt(AddNode(body, "Concat", {"l", "half"}, "longer"), "axis", 0);
    }
  }
  model.AddOutput("y");
  EXPECT_EQ(RunModel(model, {{"x", Floats(Shape{1}, {1})}}).elements(), 1 + (1 << 10));
}

TEST(OnnxControl, ALoopOfFewerThanNoTripsCollectsNothing) {
  OnnxModel model;
  model.AddInput("trips", {1}, onnx::TensorProto::INT64);
  model.AddInput("x", {1});
  onnx::NodeProto* node = model.AddNode("Loop", {"trips", "", "x"}, {"last", "y"});
  onnx::GraphProto* body = AddBody(node, "body");
  for (const char* input : {"i", "go", "before"}) body->add_input()->set_name(input);
  AddNode(body, "Add", {"before", "x"}, "after");
  AddNode(body, "Neg", {"after"}, "row");
  for (const char* output : {"go", "after", "row"}) body->add_output()->set_name(output);
  model.AddOutput("y");
  const auto rows = [&](int64_t trips) {
    return AsFloats(
        RunBoth(model, {{"trips", TensorData(DType::kI64, Shape{1}, &trips)}, {"x", Floats(Shape{1}, {1})}}));
  };
  EXPECT_THAT(rows(2), ElementsAre(-2, -3));
  EXPECT_THAT(rows(0), ElementsAre());
  EXPECT_THAT(rows(-2), ElementsAre());
}

TEST(OnnxControl, WhatCannotBeImportedIsListed) {
  OnnxModel model = Choice();
  onnx::GraphProto* branch = model.proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  branch->mutable_node(0)->set_op_type("StringNormalizer");
  branch->mutable_node(0)->mutable_input()->RemoveLast();
  onnx::NodeProto* loop = model.AddNode("Loop", {"", "c"}, {"all"}, "collect");
  onnx::GraphProto* body = AddBody(loop, "body");
  for (const char* input : {"i", "go"}) body->add_input()->set_name(input);
  AddNode(body, "Exp", {"x"}, "one");
  body->add_output()->set_name("go");
  body->add_output()->set_name("one");
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("uses 2 things"));
  EXPECT_THAT(error.what(), HasSubstr("operator StringNormalizer"));
  EXPECT_THAT(error.what(),
              HasSubstr("operator Loop of ai.onnx opset 17 collects a value of each iteration"));
}

}  // namespace
}  // namespace skiff
