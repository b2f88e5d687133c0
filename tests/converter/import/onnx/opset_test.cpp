// Operators whose form changed between opsets, and forms that the ONNX node tests do not reach.
#include <gmock/gmock.h>

#include "import/node_builder.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(OnnxOpsets, ClipByAttributesAndByInputs) {
  for (int64_t opset : {7, 10, 11, 13, 22}) {
    OnnxModel model(opset);
    model.AddInput("x", {3});
    if (opset < 11) {
      SetFloat(model.AddNode("Clip", {"x"}, {"y"}), "max", 1.0f);
    } else {
      model.AddFloats("top", {}, {1});
      model.AddNode("Clip", {"x", "", "top"}, {"y"});
    }
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({3}, {-9, 0, 9})}})), ElementsAre(-9, 0, 1))
        << "opset " << opset;
  }
}

TEST(OnnxOpsets, ClipOfIntegersByAttributesOutsideOfTheirType) {
  for (const auto& [max, clipped] : {std::pair{1e30f, 127}, std::pair{5.5f, 5}}) {
    OnnxModel model(7);
    model.AddInput("x", {3}, onnx::TensorProto::INT8);
    SetFloat(model.AddNode("Clip", {"x"}, {"y"}), "max", max);
    model.AddOutput("y");
    EXPECT_THAT(RunModel(model, {{"x", MakeConstant(DType::kI8, Shape{3}, {-128, 0, 127})}}).ToInts(),
                ElementsAre(-128, 0, clipped));
  }
}

/// "Clamped to [0, dims - 1] for negative stepping", as the specification of Slice has it.
TEST(OnnxOpsets, ABackwardSliceFromBeforeTheAxisHasItsFirstElement) {
  OnnxModel model(13);
  model.AddInput("x", {4});
  for (const auto& [name, number] :
       {std::pair("start", int64_t{-6}), {"end", int64_t{-1} << 62}, {"step", -1}})
    model.AddInts(name, {number});
  model.AddInts("axis", {0});
  model.AddNode("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({4})}})), ElementsAre(0));
}

TEST(OnnxOpsets, SliceByAttributesAndByInputs) {
  for (int64_t opset : {9, 10}) {
    OnnxModel model(opset);
    model.AddInput("x", {2, 4});
    if (opset == 9) {
      auto* node = model.AddNode("Slice", {"x"}, {"y"});
      SetInts(node, "starts", {1});
      SetInts(node, "ends", {-1});
      SetInts(node, "axes", {1});
    } else {
      model.AddInts("starts", {1});
      model.AddInts("ends", {-1});
      model.AddInts("axes", {1});
      model.AddNode("Slice", {"x", "starts", "ends", "axes"}, {"y"});
    }
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({2, 4})}})), ElementsAre(1, 2, 5, 6))
        << "opset " << opset;
  }
}

TEST(OnnxOpsets, PadByAttributesAndByInputs) {
  for (int64_t opset : {10, 11, 18}) {
    OnnxModel model(opset);
    model.AddInput("x", {1, 2});
    if (opset == 10) {
      auto* node = model.AddNode("Pad", {"x"}, {"y"});
      SetInts(node, "pads", {0, 1, 0, 2});
      SetFloat(node, "value", 7.0f);
    } else {
      model.AddInts("pads", opset == 18 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{0, 1, 0, 2});
      model.AddFloats("value", {}, {7});
      model.AddInts("axes", {1});
      std::vector<std::string> inputs = {"x", "pads", "value"};
      if (opset == 18) inputs.push_back("axes");
      model.AddNode("Pad", inputs, {"y"});
    }
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1, 2}, {1, 2})}})), ElementsAre(7, 1, 2, 7, 7))
        << "opset " << opset;
  }
}

TEST(OnnxOpsets, SoftmaxCoversAllLaterAxesBeforeOpset13) {
  const TensorData x = Counting({1, 2, 2});
  for (int64_t opset : {12, 13}) {
    OnnxModel model(opset);
    model.AddInput("x", {1, 2, 2});
    SetInt(model.AddNode("Softmax", {"x"}, {"y"}), "axis", 1);
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", x}});
    EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
    const float e = 2.718281828f;
    const float all = 1 + e + e * e + e * e * e;
    const std::vector<float> flattened = {1 / all, e / all, e * e / all, e * e * e / all};
    const float pair = 1 + e * e;
    const std::vector<float> along = {1 / pair, 1 / pair, e * e / pair, e * e / pair};
    EXPECT_THAT(AsFloats(y), Pointwise(FloatNear(1e-6f), opset == 12 ? flattened : along))
        << "opset " << opset;
  }
}

TEST(OnnxOpsets, ReductionAxesMoveToAnInput) {
  for (int64_t opset : {13, 18}) {
    OnnxModel model(opset);
    model.AddInput("x", {2, 3});
    model.AddInts("axes", {-1});
    auto* node = model.AddNode(
        "ReduceMax", opset == 13 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "axes"},
        {"y"});
    if (opset == 13) SetInts(node, "axes", {-1});
    SetInt(node, "keepdims", 0);
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", Counting({2, 3})}});
    EXPECT_EQ(y.shape(), Shape{2});
    EXPECT_THAT(AsFloats(y), ElementsAre(2, 5));
  }
}

TEST(OnnxOpsets, LogSumExpStaysFinite) {
  OnnxModel model;
  model.AddInput("x", {4});
  SetInt(model.AddNode("ReduceLogSumExp", {"x"}, {"y"}), "keepdims", 0);
  model.AddOutput("y");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_NEAR(AsFloats(RunModel(model, {{"x", Floats({4}, {1000, 1000, 1000, 1000})}}))[0], 1001.3863f,
              1e-3f);
  EXPECT_EQ(AsFloats(RunModel(model, {{"x", Floats({4}, {-inf, -inf, -inf, -inf})}}))[0], -inf);
  EXPECT_EQ(AsFloats(RunModel(model, {{"x", Floats({4}, {0, inf, 0, 0})}}))[0], inf);
}

TEST(OnnxOpsets, SplitInAllForms) {
  for (int64_t opset : {11, 13, 18}) {
    OnnxModel model(opset);
    model.AddInput("x", {5});
    model.AddInts("sizes", {3, 2});
    auto* node = model.AddNode(
        "Split", opset == 13 ? std::vector<std::string>{"x", "sizes"} : std::vector<std::string>{"x"},
        {"a", "b"});
    if (opset == 11) SetInts(node, "split", {3, 2});
    if (opset == 18) SetInt(node, "num_outputs", 2);
    model.AddOutput("b");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({5})}})), ElementsAre(3, 4)) << "opset " << opset;
  }
}

TEST(OnnxOpsets, UpsampleAndResizeByScales) {
  for (int64_t opset : {7, 9, 10, 11}) {
    OnnxModel model(opset);
    model.AddInput("x", {1, 1, 1, 2});
    model.AddFloats("scales", {4}, {1, 1, 2, 2});
    onnx::NodeProto* node = nullptr;
    if (opset == 7) SetFloats(node = model.AddNode("Upsample", {"x"}, {"y"}), "scales", {1, 1, 2, 2});
    if (opset == 9) node = model.AddNode("Upsample", {"x", "scales"}, {"y"});
    if (opset == 10) node = model.AddNode("Resize", {"x", "scales"}, {"y"});
    if (opset == 11) node = model.AddNode("Resize", {"x", "", "scales"}, {"y"});
    SetString(node, "mode", "nearest");
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", Floats({1, 1, 1, 2}, {5, 6})}});
    EXPECT_EQ(y.shape(), (Shape{1, 1, 2, 4}));
    EXPECT_THAT(AsFloats(y), ElementsAre(5, 5, 6, 6, 5, 5, 6, 6)) << "opset " << opset;
  }
}

TEST(OnnxOpsets, ResizeBySizesAxesAndLayout) {
  const auto run = [](int64_t opset, const std::vector<int64_t>& shape, const std::vector<int64_t>& sizes,
                      const std::vector<int64_t>& axes) {
    OnnxModel model(opset);
    model.AddInput("x", shape);
    model.AddInts("sizes", sizes);
    auto* node = model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
    if (!axes.empty()) SetInts(node, "axes", axes);
    model.AddOutput("y");
    return RunModel(model, {{"x", Counting(Shape(shape.data(), static_cast<int>(shape.size())))}});
  };
  EXPECT_EQ(run(13, {1, 2, 2, 3}, {1, 2, 4, 6}, {}).shape(), (Shape{1, 2, 4, 6}));
  EXPECT_EQ(run(18, {1, 2, 2, 3}, {4, 6}, {2, 3}).shape(), (Shape{1, 2, 4, 6}));
  EXPECT_EQ(run(18, {1, 2, 2, 3}, {6, 4}, {-1, 2}).shape(), (Shape{1, 2, 4, 6}));
  EXPECT_EQ(run(18, {1, 2, 2, 3}, {6}, {3}).shape(), (Shape{1, 2, 2, 6}));
  EXPECT_EQ(run(13, {1, 2, 2, 3}, {1, 4, 4, 3}, {}).shape(), (Shape{1, 4, 4, 3})) << "channels last";
  const TensorData line = run(13, {1, 2, 3}, {1, 2, 6}, {});
  EXPECT_EQ(line.shape(), (Shape{1, 2, 6}));
  EXPECT_THAT(AsFloats(line), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
}

TEST(OnnxOpsets, ResizeRefusesWhatItCannotDo) {
  const auto message = [](const char* attribute, const char* value) {
    OnnxModel model;
    model.AddInput("x", {1, 1, 2, 2});
    model.AddFloats("scales", {4}, {1, 1, 2, 2});
    SetString(model.AddNode("Resize", {"x", "", "scales"}, {"y"}), attribute, value);
    model.AddOutput("y");
    return std::string(ImportError(model).what());
  };
  EXPECT_THAT(message("coordinate_transformation_mode", "tf_crop_and_resize"),
              HasSubstr("tf_crop_and_resize"));
  EXPECT_THAT(message("mode", "area"), HasSubstr("area"));
}

TEST(OnnxOpsets, ConvolutionAlongOneAxis) {
  OnnxModel model;
  model.AddInput("x", {1, 1, 4});
  model.AddFloats("w", {1, 1, 2}, {1, 10});
  SetInts(model.AddNode("Conv", {"x", "w"}, {"y"}), "pads", {0, 1});
  model.AddOutput("y");
  const TensorData y = RunModel(model, {{"x", Counting({1, 1, 4})}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4}));
  EXPECT_THAT(AsFloats(y), ElementsAre(10, 21, 32, 3));
}

TEST(OnnxOpsets, TransposedConvolutionWithGroups) {
  OnnxModel model;
  model.AddInput("x", {1, 2, 1, 1});
  // Two groups of one input channel and two output channels each.
  model.AddFloats("w", {2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  SetInt(model.AddNode("ConvTranspose", {"x", "w"}, {"y"}), "group", 2);
  model.AddOutput("y");
  const TensorData y = RunModel(model, {{"x", Floats({1, 2, 1, 1}, {1, 10})}});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 1, 2}));
  EXPECT_THAT(AsFloats(y), ElementsAre(1, 2, 3, 4, 50, 60, 70, 80));
}

TEST(OnnxOpsets, GemmScalesAndBroadcastsItsBias) {
  OnnxModel model;
  model.AddInput("a", {2, 1});
  model.AddFloats("b", {2, 2}, {1, 2, 3, 4});
  model.AddFloats("c", {1}, {100});
  auto* node = model.AddNode("Gemm", {"a", "b", "c"}, {"y"});
  SetFloat(node, "alpha", 2.0f);
  SetFloat(node, "beta", 0.5f);
  SetInt(node, "transA", 1);
  SetInt(node, "transB", 1);
  model.AddOutput("y");
  // a' = [1, 10], b' = [[1, 3], [2, 4]].
  EXPECT_THAT(AsFloats(RunModel(model, {{"a", Floats({2, 1}, {1, 10})}})), ElementsAre(92, 136));
}

TEST(OnnxOpsets, IntegersTakeTheirOwnWay) {
  OnnxModel model;
  model.AddInput("x", {3}, onnx::TensorProto::INT32);
  model.AddNode("Relu", {"x"}, {"r"});
  model.AddFloats("half", {}, {0.5f});
  model.AddNode("Pow", {"r", "half"}, {"y"});
  model.AddOutput("y");
  const int32_t values[] = {-4, 9, 16};
  const TensorData y = RunModel(model, {{"x", TensorData(DType::kI32, Shape{3}, values)}});
  EXPECT_EQ(y.dtype(), DType::kI32);
  EXPECT_THAT(AsFloats(y), ElementsAre(0, 3, 4));
}

TEST(OnnxOpsets, GeluOfOpset20) {
  OnnxModel model(20);
  model.AddInput("x", {1});
  SetString(model.AddNode("Gelu", {"x"}, {"y"}), "approximate", "tanh");
  model.AddOutput("y");
  EXPECT_NEAR(AsFloats(RunModel(model, {{"x", Floats({1}, {1})}}))[0], 0.8411920f, 1e-6f);
  model.proto.mutable_opset_import(0)->set_version(19);
  EXPECT_THAT(ImportError(model).what(), HasSubstr("operator Gelu of ai.onnx opset 19"));
}

}  // namespace
}  // namespace skiff
