// Operators that find, order and address elements, and losses: forms that the ONNX node tests do not reach.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "convert.h"
#include "state.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

TensorData Integers(const Shape& shape, const std::vector<int64_t>& values) {
  return TensorData(DType::kI64, shape, values.data());
}

TEST(OnnxIndex, TopKByAttributeAndByInput) {
  for (int64_t opset : {9, 10, 23}) {
    OnnxModel model(opset);
    model.AddInput("x", {4});
    model.AddInts("k", {2});
    auto* node = model.AddNode(
        "TopK", opset == 9 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "k"}, {"v", "i"});
    if (opset == 9) SetInt(node, "k", 2);
    model.AddOutput("i");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({4}, {3, 9, 1, 9})}})), ElementsAre(1, 3))
        << "opset " << opset;
  }
}

TEST(OnnxIndex, AGraphInputMaySayHowMany) {
  OnnxModel top;
  top.AddInput("x", {4});
  top.AddInput("k", {1}, onnx::TensorProto::INT64);
  top.AddNode("TopK", {"x", "k"}, {"v", "i"});
  top.AddNode("Relu", {"v"}, {"y"});  // Needs to know an element type.
  top.AddOutput("y");
  const TensorData x = Floats({4}, {3, 9, 1, 8});
  EXPECT_THAT(AsFloats(RunModel(top, {{"x", x}, {"k", Integers({1}, {1})}})), ElementsAre(9));
  EXPECT_THAT(AsFloats(RunModel(top, {{"x", x}, {"k", Integers({1}, {3})}})), ElementsAre(9, 8, 3));
  EXPECT_THROW(RunModel(top, {{"x", x}, {"k", Integers({1}, {5})}}), Error);

  OnnxModel hot;
  hot.AddInput("i", {}, onnx::TensorProto::INT64);
  hot.AddInput("depth", {1}, onnx::TensorProto::INT64);
  hot.AddFloats("values", {2}, {2, 5});
  hot.AddNode("OneHot", {"i", "depth", "values"}, {"y"});
  hot.AddOutput("y");
  const auto run = [&](int64_t i) {
    return AsFloats(RunModel(hot, {{"i", Integers({}, {i})}, {"depth", Integers({1}, {3})}}));
  };
  EXPECT_THAT(run(1), ElementsAre(2, 5, 2));
  EXPECT_THAT(run(-1), ElementsAre(2, 2, 5));
  EXPECT_THAT(run(3), ElementsAre(2, 2, 2));
  EXPECT_THAT(run(-4), ElementsAre(2, 2, 2));
}

TEST(OnnxIndex, HardmaxCoversAllLaterAxesBeforeOpset13) {
  for (int64_t opset : {12, 13}) {
    OnnxModel model(opset);
    model.AddInput("x", {1, 2, 2});
    SetInt(model.AddNode("Hardmax", {"x"}, {"y"}), "axis", 1);
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", Floats({1, 2, 2}, {4, 7, 7, 2})}});
    EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
    if (opset == 12) {
      EXPECT_THAT(AsFloats(y), ElementsAre(0, 1, 0, 0));
    } else {
      EXPECT_THAT(AsFloats(y), ElementsAre(0, 1, 1, 0));
    }
  }
}

TEST(OnnxIndex, ScatterOfOpset10) {
  OnnxModel model(10);
  model.AddInput("x", {3});
  model.AddInts("i", {-1});
  model.AddFloats("u", {1}, {5});
  model.AddNode("Scatter", {"x", "i", "u"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({3})}})), ElementsAre(0, 1, 5));
  model.proto.mutable_opset_import(0)->set_version(11);
  EXPECT_THAT(ImportError(model).what(), HasSubstr("operator Scatter of ai.onnx opset 11"));
}

TEST(OnnxIndex, EyeLikeTakesAnyDType) {
  OnnxModel model;
  model.AddInput("x", {2, 3});
  auto* node = model.AddNode("EyeLike", {"x"}, {"y"});
  SetInt(node, "dtype", onnx::TensorProto::UINT8);
  SetInt(node, "k", -1);
  model.AddOutput("y");
  const TensorData y = RunModel(model, {{"x", Counting({2, 3})}});
  EXPECT_EQ(y.dtype(), DType::kU8);
  EXPECT_THAT(AsFloats(y), ElementsAre(0, 0, 0, 1, 0, 0));
}

TEST(OnnxIndex, ShrinkKeepsFractionsForIntegers) {
  OnnxModel model;
  model.AddInput("x", {4}, onnx::TensorProto::UINT8);
  auto* node = model.AddNode("Shrink", {"x"}, {"y"});
  SetFloat(node, "lambd", 1.5f);
  SetFloat(node, "bias", 0.5f);
  model.AddOutput("y");
  const uint8_t values[] = {0, 1, 2, 200};
  const TensorData y = RunModel(model, {{"x", TensorData(DType::kU8, Shape{4}, values)}});
  EXPECT_EQ(y.dtype(), DType::kU8);
  EXPECT_THAT(AsFloats(y), ElementsAre(0, 0, 1, 199));
}

TEST(OnnxIndex, CeluKeepsPositiveNumbers) {
  OnnxModel model;
  model.AddInput("x", {2});
  SetFloat(model.AddNode("Celu", {"x"}, {"y"}), "alpha", 3.0f);
  model.AddOutput("y");
  const std::vector<float> y = AsFloats(RunModel(model, {{"x", Floats({2}, {0.7f, -3})}}));
  EXPECT_EQ(y[0], 0.7f);
  EXPECT_NEAR(y[1], 3 * std::expm1(-1.0f), 1e-6f);
}

TEST(OnnxIndex, TheMaskOfADropoutKeepsEverything) {
  for (int64_t opset : {9, 13}) {
    OnnxModel model(opset);
    model.AddInput("x", {2});
    model.AddNode("Dropout", {"x"}, {"y", "mask"});
    model.AddOutput("mask");
    const TensorData mask = RunModel(model, {{"x", Floats({2}, {0, 7})}});
    EXPECT_EQ(mask.dtype(), opset == 9 ? DType::kF32 : DType::kBool);
    EXPECT_EQ(mask.shape(), Shape{2});
    EXPECT_THAT(AsFloats(mask), ElementsAre(1, 1));
  }
}

TEST(OnnxIndex, AxesThatFollowFromARank) {
  OnnxModel model(18);
  model.AddInput("x", {2, 3});
  model.AddInts("minus_three", {-3});
  // The axis is (number of axes of x) - 3 = -1.
  model.AddNode("Shape", {"x"}, {"extents"});
  model.AddNode("Shape", {"extents"}, {"rank"});
  model.AddNode("Add", {"rank", "minus_three"}, {"axis"});
  SetInt(model.AddNode("ReduceSum", {"x", "axis"}, {"y"}), "keepdims", 0);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({2, 3})}})), ElementsAre(3, 12));

  OnnxModel open(18);
  open.AddInput("x", {2, 3});
  open.AddInput("axis", {1}, onnx::TensorProto::INT64);
  open.AddNode("ReduceSum", {"x", "axis"}, {"y"});
  open.AddOutput("y");
  EXPECT_THAT(ImportError(open).what(), HasSubstr("computes its axes at run time"));
}

/// The loss of two samples over three classes.
OnnxModel LossModel(const std::string& op, const std::string& reduction, bool weighted) {
  OnnxModel model;
  model.AddInput("x", {2, 3});
  model.AddInput("labels", {2}, onnx::TensorProto::INT64);
  model.AddFloats("weights", {3}, {1, 2, 4});
  auto* node = model.AddNode(op, {"x", "labels", weighted ? "weights" : ""}, {"y"});
  SetInt(node, "ignore_index", -100);
  SetString(node, "reduction", reduction);
  model.AddOutput("y");
  return model;
}

TEST(OnnxLoss, AnIgnoredLabelAddsNothing) {
  // The ignored sample's likelihood is infinite, which times 0 would be NaN.
  const TensorData x = Floats({2, 3}, {-1, -2, -3, -kInf, -kInf, -kInf});
  const TensorData labels = Integers({2}, {1, -100});
  const auto run = [&](const char* reduction, bool weighted) {
    const OnnxModel model = LossModel("NegativeLogLikelihoodLoss", reduction, weighted);
    return AsFloats(RunModel(model, {{"x", x}, {"labels", labels}}));
  };
  EXPECT_THAT(run("none", false), ElementsAre(2, 0));
  EXPECT_THAT(run("none", true), ElementsAre(4, 0));
  EXPECT_THAT(run("sum", true), ElementsAre(4));
  EXPECT_THAT(run("mean", true), ElementsAre(2));
  EXPECT_THAT(run("mean", false), ElementsAre(2));
}

/// A cache of ONNX's own operator is one that the Session updates where it lies, as a ring too.
TEST(OnnxIndex, TensorScatterUpdatesAVariableInPlace) {
  for (const char* mode : {"linear", "circular"}) {
    OnnxModel model(24);
    model.AddInput("cache", {1, 2, 4, 3});
    model.AddInput("row", {1, 2, 1, 3});
    model.AddInput("place", {1}, onnx::TensorProto::INT64);
    SetString(model.AddNode("TensorScatter", {"cache", "row", "place"}, {"next"}), "mode", mode);
    model.AddNode("ReduceSum", {"next"}, {"y"});
    model.AddOutput("y");
    model.AddOutput("next");
    Graph graph = model.Import();
    KeepStates(graph, {{"cache", "next"}});
    const auto planned = PlanGraph(graph);
    int written = 0;
    for (const TensorPlacement& placement : planned->draft.placements)
      written += placement.buffer != TensorPlacement::kRoot ? 1 : 0;
    EXPECT_EQ(written, 1) << mode;
  }
}

TEST(OnnxLoss, LabelsAreChecked) {
  const OnnxModel model = LossModel("SoftmaxCrossEntropyLoss", "mean", false);
  const TensorData x = Floats({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_NEAR(AsFloats(RunModel(model, {{"x", x}, {"labels", Integers({2}, {1, 2})}}))[0], std::log(3.0f),
              1e-6f);
  EXPECT_THROW(RunModel(model, {{"x", x}, {"labels", Integers({2}, {1, 3})}}), Error);
  EXPECT_THAT(ImportError(LossModel("SoftmaxCrossEntropyLoss", "median", false)).what(),
              HasSubstr("none, sum or mean"));
}

TEST(OnnxIndex, RangesOfSixteenBits) {
  OnnxModel model(17);
  model.AddInput("limit", {}, onnx::TensorProto::INT16);
  model.AddIntegers("start", onnx::TensorProto::INT16, {}, {1});
  model.AddIntegers("delta", onnx::TensorProto::INT16, {}, {2});
  model.AddNode("Range", {"start", "limit", "delta"}, {"y"});
  model.AddOutput("y");
  const int16_t limit = 6;
  const TensorData y = RunModel(model, {{"limit", TensorData(DType::kI16, Shape{}, &limit)}});
  EXPECT_EQ(y.dtype(), DType::kI16);
  EXPECT_EQ(y.ToInts(), (std::vector<int64_t>{1, 3, 5}));
}

/// Whether an exponent is even decides the sign; f32 does not hold this one.
TEST(OnnxIndex, ExponentsThatTheBaseDoesNotHold) {
  OnnxModel model(17);
  model.AddInput("x", {2});
  model.AddInput("e", {2}, onnx::TensorProto::INT32);
  model.AddNode("Pow", {"x", "e"}, {"y"});
  model.AddOutput("y");
  const int32_t exponents[] = {16777217, 16777216};
  const TensorData e(DType::kI32, Shape{2}, exponents);
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {-1, -1})}, {"e", e}})), ElementsAre(-1, 1));
}

}  // namespace
}  // namespace skiff
