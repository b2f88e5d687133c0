// Resize over any axes, and by scales and sizes that are computed.
#include <gmock/gmock.h>

#include "ops/op_codes.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

using testing::HasSubstr;

/// Element at these indices of a row-major tensor that holds its own positions.
float Position(const std::vector<int64_t>& extents, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t i = 0; i < extents.size(); ++i) at = at * extents[i] + index[i];
  return static_cast<float>(at);
}

TEST(OnnxResize, AnyAxesOfAnyRank) {
  const std::vector<int64_t> extents = {2, 1, 2, 3, 2};
  const std::vector<std::vector<float>> all_scales = {
      {1, 1, 2, 2, 2}, {1, 1, 2, 1, 3}, {2, 1, 1, 1, 1}, {1, 3, 1, 2, 1}, {1, 1, 1, 1, 1}};
  for (const std::vector<float>& scales : all_scales) {
    OnnxModel model(13);
    auto* info = model.AddInput("x", extents);
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(3)->set_dim_param("h");
    model.AddFloats("scales", {5}, scales);
    model.AddNode("Resize", {"x", "", "scales"}, {"y"});
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", Counting({2, 1, 2, 3, 2})}});
    std::vector<float> expected;
    std::vector<int64_t> index(5, 0);
    for (int64_t i = 0; i < y.elements(); ++i) {
      int64_t rest = i;
      for (int axis = 4; axis >= 0; --axis) {
        const auto a = static_cast<size_t>(axis);
        const auto scale = static_cast<int64_t>(scales[a]);
        EXPECT_EQ(y.shape()[axis], extents[a] * scale);
        index[a] = rest % (extents[a] * scale) / scale;
        rest /= extents[a] * scale;
      }
      expected.push_back(Position(extents, index));
    }
    EXPECT_THAT(AsFloats(y), ElementsAreArray(expected));
  }
}

TEST(OnnxResize, LinearAlongAVector) {
  OnnxModel model(13);
  model.AddInput("x", {2});
  model.AddFloats("scales", {1}, {2});
  SetString(model.AddNode("Resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {0, 4})}})), ElementsAre(0, 1, 3, 4));
}

/// In f64, the f32 next to 0.7 is less than that, and ten rows would become six; that next to 1 / 41 makes no
/// row of 41 either way.
TEST(OnnxResize, ExtentsAreProductsOfF32) {
  const auto rows_of = [](float scale, int64_t rows, bool open) {
    OnnxModel model(13);
    auto* info = model.AddInput("x", {1, 1, rows, 2});
    if (open)
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->set_dim_param("h");
    model.AddFloats("scales", {4}, {1, 1, scale, 1});
    model.AddNode("Resize", {"x", "", "scales"}, {"y"});
    model.AddOutput("y");
    return RunModel(model, {{"x", Counting({1, 1, rows, 2})}}).shape()[2];
  };
  for (const bool open : {false, true}) {
    EXPECT_EQ(rows_of(0.7F, 10, open), 7);
    EXPECT_EQ(rows_of(1.1F, 10, open), 11);
    EXPECT_EQ(rows_of(0.2F, 10, open), 2);
    EXPECT_EQ(rows_of(1.0F / 41, 82, open), 1);
  }
}

TEST(OnnxResize, ScalesAndSizesAsInputs) {
  const std::vector<float> expected = {0, 0, 1, 1, 2, 2, 3, 3};
  for (const bool by_scales : {true, false}) {
    OnnxModel model(13);
    model.AddInput("x", {1, 1, 2, 2});
    if (by_scales) {
      model.AddInput("target", {4});
    } else {
      model.AddInput("target", {4}, onnx::TensorProto::INT64);
    }
    by_scales ? model.AddNode("Resize", {"x", "", "target"}, {"y"})
              : model.AddNode("Resize", {"x", "", "", "target"}, {"y"});
    model.AddOutput("y");
    const TensorData target = by_scales ? Floats({4}, {1, 1, 1, 2}) : TensorData::OfInts({1, 1, 2, 4});
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({1, 1, 2, 2})}, {"target", target}})),
                ElementsAreArray(expected));
  }
}

TEST(OnnxResize, UpsampleByAnInput) {
  OnnxModel model(9);
  model.AddInput("x", {1, 1, 1, 2});
  model.AddInput("scales", {4});
  model.AddNode("Upsample", {"x", "scales"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(
      AsFloats(RunModel(model, {{"x", Floats({1, 1, 1, 2}, {7, 9})}, {"scales", Floats({4}, {1, 1, 1, 2})}})),
      ElementsAre(7, 7, 9, 9));
}

/// Batch and channels are axes as others; exporters copy their sizes, but nothing says that a caller does.
TEST(OnnxResize, EveryAxisFollowsComputedSizes) {
  for (const Shape& target : {Shape{3, 4, 4}, Shape{6, 2, 1}}) {
    OnnxModel model(13);
    model.AddInput("x", {3, 2, 2});
    model.AddInput("sizes", {3}, onnx::TensorProto::INT64);
    model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
    model.AddOutput("y");
    const TensorData sizes = TensorData::OfInts({target[0], target[1], target[2]});
    EXPECT_EQ(RunModel(model, {{"x", Counting({3, 2, 2})}, {"sizes", sizes}}).shape(), target);
  }
}

TEST(OnnxResize, AnOpenAxisFollowsAConstantSize) {
  OnnxModel model(13);
  auto* info = model.AddInput("x", {2, 0, 2});
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("c");
  model.AddInts("sizes", {2, 4, 2});
  model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({2, 2, 2})}})),
              ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7));
}

/// As exporters write them: the sizes of the first axes are those of x, the others are computed with floats.
TEST(OnnxResize, CopiedSizesLeaveTheirAxesAlone) {
  OnnxModel model(13);
  auto* info = model.AddInput("x", {0, 3, 4, 4});
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("n");
  model.AddInput("target", {2});
  model.AddInts("zero", {0});
  model.AddInts("two", {2});
  model.AddNode("Shape", {"x"}, {"shape"});
  model.AddNode("Slice", {"shape", "zero", "two"}, {"kept"});
  auto* cast = model.AddNode("Cast", {"target"}, {"whole"});
  SetInt(cast, "to", onnx::TensorProto::INT64);
  SetInt(model.AddNode("Concat", {"kept", "whole"}, {"sizes"}), "axis", 0);
  model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
  model.AddOutput("y");
  const Graph graph = model.Import();
  int resizes = 0;
  for (const NodeId id : graph.TopologicalOrder()) resizes += graph.node(id).op == OpCode::kResize2d ? 1 : 0;
  EXPECT_EQ(resizes, 1);
}

/// Also where only the run knows the scales.
TEST(OnnxResize, BeforeOpset11ShrinkingTakesTheNextPixel) {
  for (const auto& [scales, expected] :
       {std::pair<std::vector<float>, std::vector<float>>{{1, 1, 0.6f, 0.6f}, {0, 2}},
        {{1, 1, 1, 0.6f}, {0, 2, 4, 6}},
        {{1, 1, 2, 0.6f}, {0, 2, 0, 2, 4, 6, 4, 6}}}) {
    OnnxModel model(10);
    model.AddInput("x", {1, 1, 2, 4});
    model.AddFloats("scales", {4}, scales);
    model.AddNode("Resize", {"x", "scales"}, {"y"});
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({1, 1, 2, 4})}})), ElementsAreArray(expected));
    model.proto.mutable_graph()->clear_initializer();
    model.AddInput("scales", {4});
    const TensorData y = RunModel(model, {{"x", Counting({1, 1, 2, 4})}, {"scales", Floats({4}, scales)}});
    EXPECT_THAT(AsFloats(y), ElementsAreArray(expected));
  }
}

/// What onnxruntime computes.
TEST(OnnxResize, BetweenIntegersTheWholePartIsTaken) {
  OnnxModel model(13);
  model.AddInput("x", {1, 1, 2, 2}, onnx::TensorProto::UINT8);
  model.AddFloats("scales", {4}, {1, 1, 2, 2});
  SetString(model.AddNode("Resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
  model.AddOutput("y");
  const TensorData x = Integers<uint8_t>(DType::kU8, {1, 1, 2, 2}, {0, 100, 200, 50});
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}})),
              ElementsAre(0, 25, 75, 100, 50, 59, 78, 87, 150, 128, 84, 62, 200, 162, 87, 50));
}

/// 1 is 7 / 2 - 5 / 2, which floating point misses by a rounding.
TEST(OnnxResize, PlacesThatAreWholeStayWhole) {
  OnnxModel model(19);
  model.AddInput("x", {1, 1, 1, 7});
  model.AddFloats("scales", {4}, {1, 1, 1, 0.5f});
  auto* node = model.AddNode("Resize", {"x", "", "scales"}, {"y"});
  SetString(node, "nearest_mode", "ceil");
  SetString(node, "coordinate_transformation_mode", "half_pixel_symmetric");
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({1, 1, 1, 7})}})), ElementsAre(1, 3, 5));
}

TEST(OnnxResize, KeepsTheRatioOfComputedSizes) {
  for (const auto& [policy, height, width] :
       {std::tuple("not_larger", 4, 6), std::tuple("not_smaller", 6, 9)}) {
    OnnxModel model(18);
    model.AddInput("x", {1, 1, 2, 3});
    model.AddInput("sizes", {2}, onnx::TensorProto::INT64);
    auto* node = model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
    SetInts(node, "axes", {-2, -1});
    SetString(node, "keep_aspect_ratio_policy", policy);
    model.AddOutput("y");
    const TensorData y =
        RunModel(model, {{"x", Counting({1, 1, 2, 3})}, {"sizes", TensorData::OfInts({6, 6})}});
    EXPECT_TRUE(y.shape() == (Shape{1, 1, height, width})) << ShapeText(y.shape()).c_str();
  }
}

TEST(OnnxResize, SaysWhatIsWrong) {
  const auto with_axes = [](const std::vector<int64_t>& axes) {
    OnnxModel model(18);
    model.AddInput("x", {1, 1, 2, 3});
    model.AddInts("sizes", {6, 6});
    SetInts(model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"}), "axes", axes);
    model.AddOutput("y");
    return std::string(ImportError(model).what());
  };
  EXPECT_THAT(with_axes({2, -2}), HasSubstr("named twice"));
  EXPECT_THAT(with_axes({2, 4}), HasSubstr("outside an input of rank 4"));
  EXPECT_THAT(with_axes({2}), HasSubstr("vector of 1 values"));
}

/// The loader takes two types of integers for sizes; the converter took all, and wrote what did not open.
TEST(OnnxResize, SizesOfOtherIntegersAreRefused) {
  OnnxModel model(18);
  model.AddInput("x", {1, 1, 2, 3});
  model.AddIntegers("sizes", onnx::TensorProto::INT16, {4}, {1, 1, 6, 6});
  model.AddNode("Resize", {"x", "", "", "sizes"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(ImportError(model).what(), HasSubstr("(the sizes) must be a list of i64 or i32, not i16"));
}

}  // namespace
}  // namespace skiff
