// Attention of ONNX Runtime's domain: mostly of queries that are 0, whose results are the means of the values
// that they see.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsNan;

using Values = std::vector<std::pair<std::string, TensorData>>;

/// A node of com.microsoft; of its outputs the one that is called "y" is the model's.
OnnxModel Node(const std::string& op, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs = {"y"}) {
  OnnxModel model;
  model.ImportMicrosoft();
  model.AddNode(op, inputs, outputs)->set_domain("com.microsoft");
  model.AddOutput("y");
  return model;
}
onnx::NodeProto* Last(OnnxModel& model) {
  auto* const graph = model.proto.mutable_graph();
  return graph->mutable_node(graph->node_size() - 1);
}

std::vector<float> ResultOf(OnnxModel model, const Values& values) {
  for (const auto& [name, value] : values) {
    std::vector<int64_t> extents;
    for (int axis = 0; axis < value.shape().rank(); ++axis) extents.push_back(value.shape()[axis]);
    model.AddInput(name, extents,
                   value.dtype() == DType::kI32 ? onnx::TensorProto::INT32 : onnx::TensorProto::FLOAT);
  }
  return AsFloats(RunModel(model, {values.begin(), values.end()}));
}

const TensorData kZeros = Floats({1, 2, 1}, {0, 0});
const TensorData kKeys = Floats({1, 2, 1}, {0, 1});
const TensorData kTens = Floats({1, 2, 1}, {10, 20});
TensorData Counts(const Shape& shape, const std::vector<int32_t>& counts) {
  return Integers<int32_t>(DType::kI32, shape, counts);
}

OnnxModel OneHead(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs = {"y"}) {
  OnnxModel model = Node("MultiHeadAttention", inputs, outputs);
  SetInt(Last(model), "num_heads", 1);
  return model;
}

TEST(OnnxMultiHeadAttention, MeetsKeysThatAreNotMasked) {
  const Values three = {{"q", kZeros}, {"k", kKeys}, {"v", kTens}};
  const auto masked = [&](const TensorData& mask) {
    Values values = three;
    values.emplace_back("mask", mask);
    return ResultOf(OneHead({"q", "k", "v", "", "mask"}), values);
  };
  EXPECT_THAT(ResultOf(OneHead({"q", "k", "v"}), three), ElementsAre(15, 15));
  EXPECT_THAT(masked(Counts({1, 2}, {0, 1})), ElementsAre(20, 20));
  EXPECT_THAT(masked(Counts({1}, {1})), ElementsAre(10, 10));
  EXPECT_THAT(masked(Counts({1, 2, 2}, {1, 1, 0, 1})), ElementsAre(15, 20));
}

TEST(OnnxMultiHeadAttention, AddsBiasesAndScales) {
  OnnxModel model = OneHead({"q", "k", "v", "b", "", "scores"});
  SetFloat(Last(model), "scale", 2);
  // The queries become ln 3 / 2; the second key counts three times as much.
  const TensorData biases = Floats({3}, {std::log(3.0f) / 2, 0, 5});
  const Values values = {{"q", kZeros}, {"k", kKeys}, {"v", kTens}, {"b", biases}};
  Values level = values;
  level.emplace_back("scores", Floats({1, 1, 1, 2}, {0, 0}));
  EXPECT_THAT(ResultOf(model, level), Each(FloatEq(17.5f + 5)));
  Values first = values;
  first.emplace_back("scores", Floats({1, 1, 1, 2}, {0, -1000}));
  EXPECT_THAT(ResultOf(model, first), ElementsAre(15, 15));
}

TEST(OnnxMultiHeadAttention, OneTensorMayHaveAllProjections) {
  // For each of two places query, key and value.
  EXPECT_THAT(ResultOf(OneHead({"q"}), {{"q", Floats({1, 2, 1, 3, 1}, {0, 7, 10, 0, 8, 20})}}),
              ElementsAre(15, 15));
  EXPECT_THAT(ResultOf(OneHead({"q", "k"}), {{"q", kZeros}, {"k", Floats({1, 2, 1, 2, 1}, {7, 10, 8, 20})}}),
              ElementsAre(15, 15));
  EXPECT_THAT(
      ResultOf(OneHead({"q", "k", "v"}),
               {{"q", kZeros}, {"k", Floats({1, 1, 2, 1}, {7, 8})}, {"v", Floats({1, 1, 2, 1}, {10, 20})}}),
      ElementsAre(15, 15));
}

TEST(OnnxMultiHeadAttention, KeepsThePast) {
  const auto run = [](const std::vector<std::string>& outputs) {
    OnnxModel model = OneHead({"q", "k", "v", "", "", "", "past_k", "past_v"}, outputs);
    SetInt(Last(model), "unidirectional", 1);
    return ResultOf(model, {{"q", kZeros},
                            {"k", kKeys},
                            {"v", kTens},
                            {"past_k", Floats({1, 1, 1, 1}, {5})},
                            {"past_v", Floats({1, 1, 1, 1}, {30})}});
  };
  EXPECT_THAT(run({"y"}), ElementsAre(FloatEq(20), FloatEq(20)));
  EXPECT_THAT(run({"context", "y"}), ElementsAre(5, 0, 1));
  EXPECT_THAT(run({"context", "", "y"}), ElementsAre(30, 10, 20));
}

TEST(OnnxMultiHeadAttention, RefusesWhatItDoesNotHave) {
  OnnxModel buffer = OneHead({"q", "k", "v", "", "", "", "", "", "n"});
  for (const char* name : {"q", "k", "v"}) buffer.AddInput(name, {1, 2, 1});
  buffer.AddInput("n", {1}, onnx::TensorProto::INT32);
  EXPECT_THAT(ImportError(buffer).what(), HasSubstr("keeps past and present in one buffer"));
  const auto error = [](const std::vector<std::vector<int64_t>>& inputs) {
    const char* const names[] = {"q", "k", "v", "b"};
    std::vector<std::string> used;
    for (size_t i = 0; i < inputs.size(); ++i) used.emplace_back(inputs[i].empty() ? "" : names[i]);
    OnnxModel model = OneHead(used);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].empty()) model.AddInput(names[i], inputs[i]);
    }
    return std::string(ImportError(model).what());
  };
  EXPECT_THAT(error({{1, 2, 1, 2, 1}}), HasSubstr("[batch, sequence, heads, 3, size] was expected"));
  EXPECT_THAT(error({{1, 2, 1}}), HasSubstr("a tensor of rank 3 is to hold 3 projections"));
  EXPECT_THAT(error({{1, 2, 1}, {1, 2, 1, 3, 1}}), HasSubstr("[batch, sequence, heads, 2, size]"));
  EXPECT_THAT(error({{1, 2, 1}, {1, 2, 1}, {1, 2, 1}, {4}}), HasSubstr("no vector of 3 numbers"));
  EXPECT_THAT(error({{1, 2, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}, {3}}), HasSubstr("sizes are not known"));
}

/// Two heads of two numbers that share one of keys; `keys`: how many the sample says to have, less one.
OnnxModel Decoder(const std::vector<std::string>& inputs = {"q", "k", "v", "past_k", "past_v", "last",
                                                            "total"},
                  const std::vector<std::string>& outputs = {"y"}) {
  OnnxModel model = Node("GroupQueryAttention", inputs, outputs);
  SetInt(Last(model), "num_heads", 2);
  SetInt(Last(model), "kv_num_heads", 1);
  return model;
}
Values Steps(int32_t last) {
  return {{"q", Floats({1, 2, 4}, {0, 0, 0, 0, 0, 0, 0, 0})},
          {"k", Floats({1, 2, 2}, {1, 0, 1, 0})},
          {"v", Floats({1, 2, 2}, {10, 1, 20, 2})},
          {"past_k", Floats({1, 1, 1, 2}, {3, 4})},
          {"past_v", Floats({1, 1, 1, 2}, {30, 3})},
          {"last", Counts({1}, {last})},
          {"total", Counts({1}, {3})}};
}

TEST(OnnxGroupQueryAttention, StepsSeeThePast) {
  EXPECT_THAT(ResultOf(Decoder(), Steps(2)), ElementsAre(20, 2, 20, 2, 20, 2, 20, 2));
  OnnxModel window = Decoder();
  SetInt(Last(window), "local_window_size", 1);
  EXPECT_THAT(ResultOf(window, Steps(2)), ElementsAre(10, 1, 10, 1, 20, 2, 20, 2));
  EXPECT_THAT(ResultOf(Decoder(), Steps(1)), Each(IsNan())) << "keys that are not one behind the other";
}

/// What lies behind a sample's end is behind all that its steps see.
TEST(OnnxGroupQueryAttention, FirstStepsMayBeOfDifferentLengths) {
  Values values = Steps(0);
  values[3].second = Floats({1, 1, 0, 2}, {});
  values[4].second = Floats({1, 1, 0, 2}, {});
  EXPECT_THAT(ResultOf(Decoder(), values), ElementsAre(10, 1, 10, 1, 15, 1.5f, 15, 1.5f));
}

TEST(OnnxGroupQueryAttention, TurnsKeysByTheirPlace) {
  const auto keys = [](const char* positions) {
    OnnxModel model = Decoder({"q", "k", "v", "past_k", "past_v", "last", "total", "cos", "sin", positions},
                              {"context", "y"});
    SetInt(Last(model), "do_rotary", 1);
    // A quarter of a turn from place to place.
    model.AddFloats("cos", {4, 1}, {1, 0, -1, 0});
    model.AddFloats("sin", {4, 1}, {0, 1, 0, -1});
    model.AddInts("places", {3, 0});
    model.proto.mutable_graph()->mutable_initializer(2)->clear_dims();
    for (const int64_t extent : {1, 2}) model.proto.mutable_graph()->mutable_initializer(2)->add_dims(extent);
    return ResultOf(model, Steps(2));
  };
  EXPECT_THAT(keys(""), ElementsAre(3, 4, 0, 1, -1, 0));
  EXPECT_THAT(keys("places"), ElementsAre(3, 4, 0, -1, 1, 0));
}

TEST(OnnxGroupQueryAttention, OneTensorMayHaveAllProjections) {
  Values values = Steps(2);
  values[0].second = Floats({1, 2, 8}, {0, 0, 0, 0, 1, 0, 10, 1, 0, 0, 0, 0, 1, 0, 20, 2});
  values.erase(values.begin() + 1, values.begin() + 3);
  EXPECT_THAT(ResultOf(Decoder({"q", "", "", "past_k", "past_v", "last", "total"}), values),
              ElementsAre(20, 2, 20, 2, 20, 2, 20, 2));
}

TEST(OnnxGroupQueryAttention, RefusesWhatItDoesNotHave) {
  OnnxModel sink = Decoder();
  SetInt(Last(sink), "smooth_softmax", 1);
  for (const auto& [name, value] : Steps(2)) {
    if (value.dtype() == DType::kI32)
      sink.AddInput(name, {1}, onnx::TensorProto::INT32);
    else
      sink.AddInput(name, {1, 2, value.shape().last()});
  }
  EXPECT_THAT(ImportError(sink).what(), HasSubstr("has a head sink"));
}

}  // namespace
}  // namespace skiff
