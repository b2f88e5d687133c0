// LSTM, GRU and RNN beside what the node suite has: directions that differ, parts left out, what is not
// supported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

void SetStrings(onnx::NodeProto* node, const std::string& name, const std::vector<std::string>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute->add_strings(value);
}

/// x [2, 1, 1], one unit in each direction.
OnnxModel TwoSteps(const std::string& op, int64_t directions, int64_t gates) {
  OnnxModel model(14);
  model.AddInput("x", {2, 1, 1});
  model.AddFloats("w", {directions, gates, 1},
                  std::vector<float>(static_cast<size_t>(directions * gates), 1.0f));
  model.AddFloats("r", {directions, gates, 1},
                  std::vector<float>(static_cast<size_t>(directions * gates), 0.5f));
  onnx::NodeProto* node = model.AddNode(op, {"x", "w", "r"}, {"y", "last"}, "layer");
  if (directions == 2) SetString(node, "direction", "bidirectional");
  model.AddOutput("y");
  return model;
}

onnx::NodeProto* Layer(OnnxModel& model) { return model.proto.mutable_graph()->mutable_node(0); }

TEST(OnnxRecurrent, EachDirectionHasItsActivation) {
  OnnxModel model = TwoSteps("RNN", 2, 1);
  SetStrings(Layer(model), "activations", {"Relu", "Tanh"});
  const TensorData y = RunModel(model, {{"x", Floats(Shape{2, 1, 1}, {1, 2})}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1, 1}));
  const float second = std::tanh(2.0f);
  EXPECT_THAT(AsFloats(y), ElementsAre(1, FloatEq(std::tanh(1 + second / 2)), 2.5f, FloatEq(second)));
}

TEST(OnnxRecurrent, SizesThatContradictEachOther) {
  for (const auto& [op, gates] : {std::pair<const char*, int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    OnnxModel stated = TwoSteps(op, 2, gates);
    SetInt(Layer(stated), "hidden_size", 1);
    EXPECT_NO_THROW(stated.Import());
    Layer(stated)->mutable_attribute(1)->set_i(7);
    const Error rows = ImportError(stated);
    EXPECT_EQ(rows.code(), StatusCode::kInvalidModel);
    EXPECT_THAT(rows.what(),
                HasSubstr(fmt::format("input 1 has {} rows; {} for each of the 7 of attribute 'hidden_size'",
                                      gates, gates)));
    for (const int64_t more : {-1, 0, 5}) {
      OnnxModel biased = TwoSteps(op, 1, gates);
      const int64_t biases = 2 * gates + more;
      biased.AddFloats("b", {1, biases}, std::vector<float>(static_cast<size_t>(biases), 1.0f));
      Layer(biased)->add_input("b");
      if (more == 0) {
        EXPECT_NO_THROW(biased.Import());
        continue;
      }
      EXPECT_THAT(ImportError(biased).what(),
                  HasSubstr(fmt::format("input 3 has {} biases; {} were expected", biases, 2 * gates)));
    }
  }
}

TEST(OnnxRecurrent, BatchFirstIsTheSameTransposed) {
  OnnxModel model = TwoSteps("GRU", 2, 3);
  const TensorData time_first = RunModel(model, {{"x", Floats(Shape{2, 1, 1}, {1, -2})}});
  SetInt(Layer(model), "layout", 1);
  auto* shape =
      model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_value(1);
  shape->mutable_dim(1)->set_dim_value(2);
  const TensorData batch_first = RunModel(model, {{"x", Floats(Shape{1, 2, 1}, {1, -2})}});
  EXPECT_EQ(batch_first.shape(), (Shape{1, 2, 2, 1}));
  EXPECT_EQ(AsFloats(batch_first), AsFloats(time_first));
}

TEST(OnnxRecurrent, OnlyTheLastStateMayBeWanted) {
  OnnxModel model = TwoSteps("LSTM", 1, 4);
  const std::vector<float> states = AsFloats(RunModel(model, {{"x", Floats(Shape{2, 1, 1}, {1, 2})}}));
  Layer(model)->set_output(0, "");
  model.proto.mutable_graph()->mutable_output(0)->set_name("last");
  const TensorData last = RunModel(model, {{"x", Floats(Shape{2, 1, 1}, {1, 2})}});
  EXPECT_EQ(last.shape(), (Shape{1, 1, 1}));
  EXPECT_THAT(AsFloats(last), ElementsAre(states[1]));
}

TEST(OnnxRecurrent, WhatIsNotSupportedIsNamed) {
  OnnxModel activation = TwoSteps("LSTM", 1, 4);
  SetStrings(Layer(activation), "activations", {"HardSigmoid", "Tanh", "Tanh"});
  EXPECT_THAT(ImportError(activation).what(), HasSubstr("activations HardSigmoid, Tanh, Tanh"));
  OnnxModel clip = TwoSteps("GRU", 1, 3);
  SetFloat(Layer(clip), "clip", 3);
  EXPECT_THAT(ImportError(clip).what(), HasSubstr("clip"));
  OnnxModel coupled = TwoSteps("LSTM", 1, 4);
  SetInt(Layer(coupled), "input_forget", 1);
  EXPECT_THAT(ImportError(coupled).what(), HasSubstr("input_forget"));
  OnnxModel direction = TwoSteps("RNN", 1, 1);
  SetString(Layer(direction), "direction", "sideways");
  EXPECT_THAT(ImportError(direction).what(), HasSubstr("'sideways'"));
  OnnxModel few = TwoSteps("RNN", 2, 1);
  SetStrings(Layer(few), "activations", {"Tanh"});
  EXPECT_THAT(ImportError(few).what(), HasSubstr("'activations' has 1 names"));
}

}  // namespace
}  // namespace skiff
