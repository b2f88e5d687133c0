// Files that are wrong, and models that Skiff cannot import: one clear message each, never a crash.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void ExpectError(const OnnxModel& model, StatusCode code, const testing::Matcher<std::string>& message) {
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_THAT(std::string(error.what()), message);
}

OnnxModel Identity(int64_t opset = 17) {
  OnnxModel model(opset);
  model.AddInput("x", {2});
  model.AddNode("Identity", {"x"}, {"y"}, "same");
  model.AddOutput("y");
  return model;
}

TEST(OnnxErrors, AllUnsupportedOperatorsAreListedAtOnce) {
  OnnxModel model;
  model.AddInput("x", {1, 1, 4, 4});
  for (int i = 0; i < 5; ++i)
    model.AddNode("DeformConv", {"x"}, {"h" + std::to_string(i)}, "conv_" + std::to_string(i));
  model.AddNode("Relu", {"h0"}, {"r"}, "behind");
  model.AddNode("StringNormalizer", {"r"}, {"t"}, "places");
  SetString(model.AddNode("MaxPool", {"x"}, {"p"}, "pool"), "auto_pad", "VALID");
  SetInts(model.proto.mutable_graph()->mutable_node(7), "kernel_shape", {2, 2, 2, 2});
  model.AddNode("FusedPool", {"x"}, {"f"}, "fused")->set_domain("com.acme");
  model.AddOutput("t");
  ExpectError(
      model, StatusCode::kUnsupported,
      AllOf(
          HasSubstr("4 things"),
          HasSubstr(
              "operator DeformConv of ai.onnx opset 17 (5 times: 'conv_0', 'conv_1', 'conv_2' and 2 more)"),
          HasSubstr("operator StringNormalizer of ai.onnx opset 17 (1 time: 'places'). It works with texts"),
          HasSubstr("MaxPool of ai.onnx opset 17 works on 4 spatial axes"),
          HasSubstr("FusedPool of com.acme"), Not(HasSubstr("'behind'"))));
}

TEST(OnnxErrors, AMissingSubgraphIsNamed) {
  OnnxModel model = Identity();
  auto* node = model.AddNode("If", {"x"}, {"z"}, "branch");
  auto* attribute = node->add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->add_output()->set_name("x");
  ExpectError(model, StatusCode::kInvalidModel,
              HasSubstr("node 'branch' (If): attribute 'else_branch' is missing"));
}

TEST(OnnxErrors, WeightsWithoutAKernel) {
  const auto convolution = [](const char* op, const std::vector<int64_t>& weights) {
    OnnxModel model(17);
    model.AddInput("x", std::vector<int64_t>(weights.size(), 1));
    if (std::count(weights.begin(), weights.end(), 0) > 0) {
      model.AddFloats("w", weights, {});
    } else {
      auto* shape = model.AddInput("w", weights)->mutable_type()->mutable_tensor_type()->mutable_shape();
      for (auto& dim : *shape->mutable_dim())
        if (dim.dim_value() < 0) dim.set_dim_param("k");
    }
    model.AddNode(op, {"x", "w"}, {"y"});
    model.AddOutput("y");
    return model;
  };
  for (const char* op : {"Conv", "ConvTranspose"}) {
    ExpectError(convolution(op, {1, 1, 0, 1, 1}), StatusCode::kInvalidModel,
                HasSubstr("the weights have 0 elements along spatial axis 0; 1 to 1073741824 were expected"));
    ExpectError(convolution(op, {1, 1, 1, int64_t{1} << 40}), StatusCode::kInvalidModel,
                HasSubstr("the weights have 1099511627776 elements along spatial axis 1"));
    ExpectError(convolution(op, {1, 1, -1, 1, 1}), StatusCode::kUnsupported,
                HasSubstr("needs to know the depth of its kernel"));
  }
}

TEST(OnnxErrors, ARequiredInputBeforeAnotherOne) {
  for (const int missing : {1, 2}) {
    std::vector<std::string> inputs = {"g", "s", "s", "s"};
    inputs[static_cast<size_t>(missing)] = "";
    OnnxModel model(17);
    model.AddInput("x", {4, 4});
    model.AddInput("shape", {1}, onnx::TensorProto::INT64)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("rank");
    model.AddInts("s", {1});
    model.AddNode("Reshape", {"x", "shape"}, {"g"});  // Of a rank that only a run knows.
    model.AddNode("Slice", inputs, {"y"});
    model.AddOutput("y");
    ExpectError(model, StatusCode::kInvalidModel, HasSubstr(" is missing"));
  }
}

TEST(OnnxErrors, NotOnnx) {
  OnnxModel empty(17);
  empty.proto.clear_graph();
  ExpectError(empty, StatusCode::kInvalidModel, HasSubstr("it has no graph"));
  const std::string text = "this is a text file and no protobuf message";
  EXPECT_THROW(ImportOnnxBytes(text.data(), text.size(), ""), Error);
  EXPECT_THROW(ImportOnnxBytes("", 0, ""), Error);
}

TEST(OnnxErrors, EveryTruncationIsAnError) {
  OnnxModel model = Identity();
  model.AddFloats("w", {64}, std::vector<float>(64, 1.0f));
  model.AddNode("Neg", {"w"}, {"n"});
  model.AddOutput("n");
  const std::string bytes = model.Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    try {
      const Graph graph = ImportOnnxBytes(bytes.data(), size, "");
      // A cut between two fields can leave a smaller but complete model behind; it must not be the whole one.
      EXPECT_LT(graph.outputs().size() + graph.sources().size(), 4u) << "truncated to " << size;
    } catch (const Error& error) {
      EXPECT_NE(error.what(), std::string());
    }
  }
}

TEST(OnnxErrors, MissingAndUnreadableFiles) {
  TemporaryFolder folder;
  const auto code = [](const std::string& path) {
    try {
      ImportOnnx(path);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
      return error.code();
    }
    return StatusCode::kOk;
  };
  EXPECT_EQ(code((folder.path() / "none.onnx").string()), StatusCode::kIo);
  EXPECT_EQ(code(folder.path().string()), StatusCode::kIo);
  EXPECT_EQ(code(folder.Write("text.onnx", "no model")), StatusCode::kInvalidModel);
  EXPECT_EQ(code(folder.Write("good.onnx", Identity().Bytes())), StatusCode::kOk);
}

TEST(OnnxErrors, OpsetsOutsideTheTable) {
  ExpectError(Identity(99), StatusCode::kUnsupported,
              AllOf(HasSubstr("opset 99"), HasSubstr("opset_version=")));
  ExpectError(Identity(3), StatusCode::kUnsupported, HasSubstr("opset 3"));
  OnnxModel none = Identity();
  none.proto.clear_opset_import();
  ExpectError(none, StatusCode::kInvalidModel, HasSubstr("opset_import"));
  OnnxModel twice = Identity();
  twice.proto.add_opset_import()->set_version(17);
  EXPECT_NO_THROW(twice.Import()) << "the same opset named twice is harmless";
  twice.proto.mutable_opset_import(1)->set_version(16);
  ExpectError(twice, StatusCode::kInvalidModel, HasSubstr("two opsets"));
}

/// PyTorch's tracer names the outputs of a net that returns a tensor twice after the tensor.
TEST(OnnxErrors, AnOutputThatIsThereTwiceGetsANameOfItsOwn) {
  OnnxModel model = Identity();
  const std::string name = model.proto.graph().output(0).name();
  model.AddOutput(name);
  model.AddOutput(name);
  const Graph graph = model.Import();
  ASSERT_EQ(graph.outputs().size(), 3u);
  EXPECT_EQ(graph.outputs()[1].name, name + ".1");
  EXPECT_EQ(graph.outputs()[2].name, name + ".2");
  EXPECT_THAT(graph.left_out, testing::Contains(HasSubstr("more than once")));
}

TEST(OnnxErrors, UndefinedRepeatedAndCyclicTensors) {
  OnnxModel undefined = Identity();
  undefined.AddNode("Neg", {"nowhere"}, {"z"}, "lost");
  ExpectError(undefined, StatusCode::kInvalidModel, AllOf(HasSubstr("'lost' (Neg)"), HasSubstr("'nowhere'")));

  OnnxModel repeated = Identity();
  repeated.AddNode("Neg", {"x"}, {"y"}, "again");
  ExpectError(repeated, StatusCode::kInvalidModel, AllOf(HasSubstr("'again'"), HasSubstr("defined already")));

  OnnxModel over_input = Identity();
  over_input.AddNode("Neg", {"y"}, {"x"}, "over");
  ExpectError(over_input, StatusCode::kInvalidModel, HasSubstr("defined already"));

  OnnxModel cyclic = Identity();
  cyclic.AddNode("Add", {"x", "b"}, {"a"}, "one");
  cyclic.AddNode("Neg", {"a"}, {"b"}, "two");
  ExpectError(cyclic, StatusCode::kInvalidModel, AllOf(HasSubstr("cycle"), HasSubstr("'one' (Add)")));

  OnnxModel output = Identity();
  output.AddOutput("missing");
  ExpectError(output, StatusCode::kInvalidModel, AllOf(HasSubstr("'missing'"), HasSubstr("made by no node")));
}

TEST(OnnxErrors, ElementTypes) {
  OnnxModel text;
  text.AddInput("words", {2}, onnx::TensorProto::STRING);
  text.AddNode("Identity", {"words"}, {"y"});
  text.AddOutput("y");
  ExpectError(text, StatusCode::kUnsupported, AllOf(HasSubstr("string"), HasSubstr("'words'")));
  OnnxModel weights = Identity();
  weights.AddFloats("w", {1}, {1})->set_data_type(onnx::TensorProto::COMPLEX64);
  ExpectError(weights, StatusCode::kUnsupported, AllOf(HasSubstr("complex64"), HasSubstr("'w'")));
  OnnxModel small;
  small.AddInput("x", {2}, onnx::TensorProto::COMPLEX128);
  small.AddNode("Identity", {"x"}, {"y"});
  small.AddOutput("y");
  ExpectError(small, StatusCode::kUnsupported, AllOf(HasSubstr("complex128"), HasSubstr("'x'")));
}

TEST(OnnxErrors, Extents) {
  OnnxModel negative;
  negative.AddInput("x", {-7});
  ExpectError(negative, StatusCode::kInvalidModel, HasSubstr("-7"));
  OnnxModel huge;
  huge.AddInput("x", {int64_t{1} << 40, int64_t{1} << 40});
  ExpectError(huge, StatusCode::kInvalidModel, HasSubstr("overflow"));
  OnnxModel deep;
  deep.AddInput("x", {1, 1, 1, 1, 1, 1, 1, 1, 1});
  ExpectError(deep, StatusCode::kUnsupported, HasSubstr("rank 9"));
  OnnxModel shapeless;
  shapeless.AddInput("x", {})->mutable_type()->mutable_tensor_type()->clear_shape();
  ExpectError(shapeless, StatusCode::kUnsupported, HasSubstr("rank"));
}

TEST(OnnxErrors, TensorsThatContradictThemselves) {
  OnnxModel few = Identity();
  few.AddFloats("w", {4}, {1, 2, 3});
  ExpectError(few, StatusCode::kInvalidModel, AllOf(HasSubstr("'w'"), HasSubstr("truncated")));
  OnnxModel claims = Identity();
  claims.AddFloats("w", {int64_t{1} << 40}, {});
  ExpectError(claims, StatusCode::kInvalidModel, HasSubstr("'w'"));
  OnnxModel overflow = Identity();
  overflow.AddFloats("w", {0, int64_t{1} << 62, int64_t{1} << 62}, {});
  ExpectError(overflow, StatusCode::kInvalidModel, HasSubstr("overflow"));
  OnnxModel raw = Identity();
  raw.AddFloats("w", {4}, {})->set_raw_data("12345");
  ExpectError(raw, StatusCode::kInvalidModel, HasSubstr("needs 16 bytes, but 5"));
}

TEST(OnnxErrors, ElementsThatTheirTypeDoesNotHold) {
  const auto stored = [](int type, int32_t element) {
    OnnxModel model = Identity();
    model.AddIntegers("w", type, {1}, {element});
    return model;
  };
  for (const auto& [type, element] : {std::pair{onnx::TensorProto::FLOAT16, 70'000},
                                      {onnx::TensorProto::BFLOAT16, 70'000},
                                      {onnx::TensorProto::UINT8, 256},
                                      {onnx::TensorProto::INT8, -129},
                                      {onnx::TensorProto::INT16, 65'536}}) {
    ExpectError(stored(type, element), StatusCode::kInvalidModel,
                AllOf(HasSubstr("'w'"), HasSubstr(fmt::format("stores the element {}, which", element))));
  }
  // Bits of the type, whatever their sign.
  for (const auto& [type, element] : {std::pair{onnx::TensorProto::FLOAT16, 65'535},
                                      {onnx::TensorProto::UINT8, -1},
                                      {onnx::TensorProto::INT8, 255},
                                      {onnx::TensorProto::INT16, -32'768}})
    EXPECT_NO_THROW(stored(type, element).Import());
  OnnxModel wide = Identity();
  auto* tensor = wide.proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::UINT32);
  tensor->add_dims(2);
  tensor->add_uint64_data(UINT32_MAX);
  tensor->add_uint64_data(uint64_t{1} << 32);
  ExpectError(wide, StatusCode::kInvalidModel, HasSubstr("'w'"));
}

TEST(OnnxErrors, FlagsWhoseLowestByteIsZeroAreTrue) {
  OnnxModel model;
  model.AddInput("x", {3});
  model.AddIntegers("w", onnx::TensorProto::BOOL, {3}, {0, -256, 5});
  model.AddNode("Where", {"w", "x", "zero"}, {"y"});
  model.AddFloats("zero", {}, {0});
  model.AddOutput("y");
  EXPECT_EQ(AsFloats(RunModel(model, {{"x", Floats({3}, {1, 2, 3})}})), (std::vector<float>{0, 2, 3}));
}

TEST(OnnxErrors, Attributes) {
  OnnxModel type = Identity();
  SetFloat(type.AddNode("Concat", {"x"}, {"z"}, "join"), "axis", 0.0f);
  ExpectError(type, StatusCode::kInvalidModel,
              AllOf(HasSubstr("'join' (Concat)"), HasSubstr("'axis' must be INT, not FLOAT")));
  OnnxModel missing = Identity();
  missing.AddNode("Concat", {"x"}, {"z"}, "join");
  ExpectError(missing, StatusCode::kInvalidModel, HasSubstr("attribute 'axis' is missing"));
  OnnxModel inputs = Identity();
  inputs.AddNode("Add", {"x"}, {"z"}, "sum");
  ExpectError(inputs, StatusCode::kInvalidModel,
              AllOf(HasSubstr("'sum' (Add)"), HasSubstr("input 1 is missing")));
  OnnxModel outputs = Identity();
  outputs.AddNode("Neg", {"x"}, {}, "nothing");
  ExpectError(outputs, StatusCode::kInvalidModel, HasSubstr("no outputs"));
  OnnxModel shapes = Identity();
  shapes.AddFloats("three", {3}, {1, 2, 3});
  shapes.AddNode("Add", {"x", "three"}, {"z"}, "sum");
  ExpectError(shapes, StatusCode::kInvalidModel, AllOf(HasSubstr("'sum' (Add)"), HasSubstr("broadcast")));
}

/// The one after an axis does not fit 32 bits, or would be another one there.
TEST(OnnxErrors, AxesOfOldSoftmaxes) {
  for (const int64_t axis : {int64_t{INT32_MAX}, (int64_t{1} << 32) + 1, INT64_MAX}) {
    OnnxModel model(11);
    model.AddInput("x", {2, 3});
    SetInt(model.AddNode("Softmax", {"x"}, {"y"}, "soft"), "axis", axis);
    model.AddOutput("y");
    ExpectError(model, StatusCode::kInvalidModel, HasSubstr("'soft' (Softmax)"));
  }
}

TEST(OnnxErrors, FramesOfALengthGivenAtRunTime) {
  OnnxModel model;
  model.AddInput("x", {1, 20, 1});
  model.AddInput("length", {}, onnx::TensorProto::INT64);
  model.AddInts("step", {2});
  model.AddNode("STFT", {"x", "step", "", "length"}, {"y"}, "frames");
  model.AddOutput("y");
  ExpectError(model, StatusCode::kUnsupported,
              AllOf(HasSubstr("'frames'"), HasSubstr("length of its frames at run time")));
}

TEST(OnnxErrors, OutputsThatNobodyCanMake) {
  OnnxModel model;
  model.AddInput("x", {1, 1});
  model.AddFloats("c", {1}, {1});
  model.AddNode("BatchNormalization", {"x", "c", "c", "c", "c"}, {"y", "running"}, "norm");
  model.AddOutput("y");
  EXPECT_NO_THROW(model.Import()) << "an output that nobody reads does not matter";
  model.AddOutput("running");
  ExpectError(model, StatusCode::kUnsupported,
              AllOf(HasSubstr("norm"), HasSubstr("output 1 of operator BatchNormalization")));
}

}  // namespace
}  // namespace skiff
