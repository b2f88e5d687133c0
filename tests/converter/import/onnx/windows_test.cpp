// Windows over one and three axes, and the operators around them, where the ONNX node tests do not reach.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

/// Small whole numbers, so that sums are exact in any order.
TensorData Whole(const Shape& shape, int seed) {
  TensorData data(DType::kF32, shape);
  auto state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (int64_t i = 0; i < data.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    static_cast<float*>(data.mutable_data())[i] = static_cast<float>(static_cast<int>(state >> 28) - 8);
  }
  return data;
}

/// The axes in `open` have a name instead of a number.
void Open(onnx::ValueInfoProto* info, const std::vector<int>& open) {
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis : open) shape->mutable_dim(axis)->set_dim_param("d" + std::to_string(axis));
}

struct Volume {
  const TensorData& data;
  float At(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    const Shape& s = data.shape();
    if (d < 0 || h < 0 || w < 0 || d >= s[2] || h >= s[3] || w >= s[4]) return 0;
    return static_cast<const float*>(data.data())[(((n * s[1] + c) * s[2] + d) * s[3] + h) * s[4] + w];
  }
};

struct Window3d {
  std::vector<int64_t> strides, dilations, pads, output_pads;
  int64_t groups = 1;
};

constexpr int64_t kKernel[] = {3, 2, 2};

/// The definition: every input element adds its products to the output.
std::vector<float> TransposedByDefinition(const TensorData& x, const TensorData& w, const Window3d& window,
                                          Shape* out) {
  const int64_t per_group = w.shape()[1];
  *out = Shape{x.shape()[0], per_group * window.groups, 0, 0, 0};
  for (size_t i = 0; i < 3; ++i) {
    (*out)[static_cast<int>(2 + i)] = (x.shape()[static_cast<int>(2 + i)] - 1) * window.strides[i] +
                                      (kKernel[i] - 1) * window.dilations[i] + 1 - window.pads[i] -
                                      window.pads[3 + i] + window.output_pads[i];
  }
  std::vector<float> y(static_cast<size_t>(out->elements()), 0.0f);
  const Volume weights{w};
  const Volume input{x};
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    for (int64_t c = 0; c < x.shape()[1]; ++c)
      for (int64_t d = 0; d < x.shape()[2]; ++d)
        for (int64_t h = 0; h < x.shape()[3]; ++h)
          for (int64_t v = 0; v < x.shape()[4]; ++v)
            for (int64_t o = 0; o < per_group; ++o)
              for (int64_t t = 0; t < kKernel[0] * kKernel[1] * kKernel[2]; ++t) {
                const int64_t tap[] = {t / kKernel[2] / kKernel[1], t / kKernel[2] % kKernel[1],
                                       t % kKernel[2]};
                const int64_t in[] = {d, h, v};
                int64_t at = n * (*out)[1] + c / (x.shape()[1] / window.groups) * per_group + o;
                bool inside = true;
                for (size_t i = 0; i < 3; ++i) {
                  const int64_t p = in[i] * window.strides[i] - window.pads[i] + tap[i] * window.dilations[i];
                  inside = inside && p >= 0 && p < (*out)[static_cast<int>(2 + i)];
                  at = at * (*out)[static_cast<int>(2 + i)] + p;
                }
                if (inside) {
                  y[static_cast<size_t>(at)] +=
                      input.At(n, c, d, h, v) * weights.At(c, o, tap[0], tap[1], tap[2]);
                }
              }
  return y;
}

TEST(OnnxWindows, TransposedVolumesFollowTheDefinition) {
  const Window3d cases[] = {{{1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, 0}, 1},
                            {{2, 1, 2}, {1, 1, 1}, {1, 0, 1, 2, 0, 1}, {1, 0, 0}, 1},
                            {{3, 2, 1}, {2, 1, 2}, {4, 1, 0, 3, 0, 2}, {2, 1, 0}, 2},
                            {{2, 2, 2}, {1, 2, 1}, {0, 0, 0, 2, 1, 1}, {0, 0, 1}, 2}};
  for (const bool open : {false, true}) {
    for (const Window3d& window : cases) {
      const TensorData x = Whole({2, 4, 3, 4, 3}, 1);
      const TensorData w = Whole({4, 3, kKernel[0], kKernel[1], kKernel[2]}, 2);
      OnnxModel model;
      auto* info = model.AddInput("x", {2, 4, 3, 4, 3});
      if (open) Open(info, {0, 2, 3, 4});
      model.AddFloats("w", {4, 3, kKernel[0], kKernel[1], kKernel[2]}, AsFloats(w));
      auto* node = model.AddNode("ConvTranspose", {"x", "w"}, {"y"});
      SetInts(node, "strides", window.strides);
      SetInts(node, "dilations", window.dilations);
      SetInts(node, "pads", window.pads);
      SetInts(node, "output_padding", window.output_pads);
      SetInt(node, "group", window.groups);
      model.AddOutput("y");
      Shape shape;
      const std::vector<float> expected = TransposedByDefinition(x, w, window, &shape);
      const TensorData y = RunModel(model, {{"x", x}});
      EXPECT_TRUE(y.shape() == shape) << ShapeText(y.shape()).c_str();
      EXPECT_THAT(AsFloats(y), ElementsAreArray(expected));
    }
  }
}

TEST(OnnxWindows, VolumesWithOpenExtents) {
  const TensorData x = Whole({2, 2, 5, 4, 4}, 3);
  for (const char* auto_pad : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    std::vector<std::vector<float>> results;
    for (const bool open : {false, true}) {
      OnnxModel model;
      auto* info = model.AddInput("x", {2, 2, 5, 4, 4});
      if (open) Open(info, {0, 2, 3, 4});
      model.AddFloats("w", {2, 2, 3, 3, 2}, AsFloats(Whole({2, 2, 3, 3, 2}, 4)));
      model.AddFloats("bias", {2}, {100, -100});
      SetString(model.AddNode("Conv", {"x", "w", "bias"}, {"y"}), "auto_pad", auto_pad);
      model.AddOutput("y");
      results.push_back(AsFloats(RunModel(model, {{"x", x}})));
    }
    EXPECT_THAT(results[1], ElementsAreArray(results[0])) << auto_pad;
  }
}

OnnxModel MaxPoolWithIndices(const std::vector<int64_t>& extents, const std::vector<int64_t>& kernel,
                             int64_t storage_order = 0) {
  OnnxModel model;
  model.AddInput("x", extents);
  auto* node = model.AddNode("MaxPool", {"x"}, {"y", "indices"});
  SetInts(node, "kernel_shape", kernel);
  SetInts(node, "strides", std::vector<int64_t>(kernel.size(), 2));
  SetInt(node, "storage_order", storage_order);
  model.AddOutput("y");
  model.AddOutput("indices");
  return model;
}

/// Indices point at the pooled elements, whatever the rank.
TEST(OnnxWindows, IndicesOfMaximumPools) {
  const std::vector<std::vector<int64_t>> shapes = {{2, 3, 7}, {2, 3, 5, 4}, {2, 3, 5, 4, 6}};
  for (const std::vector<int64_t>& extents : shapes) {
    const TensorData x = Whole(Shape(extents.data(), static_cast<int>(extents.size())), 5);
    const std::vector<int64_t> kernel(extents.size() - 2, 3);
    const auto results = Evaluate(MaxPoolWithIndices(extents, kernel).Import(), {{"x", x}});
    const std::vector<float> y = AsFloats(results.at("y"));
    const std::vector<int64_t> indices = results.at("indices").ToInts();
    const std::vector<float> all = AsFloats(x);
    ASSERT_EQ(y.size(), indices.size());
    ASSERT_TRUE(results.at("y").shape() == results.at("indices").shape());
    const size_t plane = all.size() / 6;
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(all.at(static_cast<size_t>(indices[i])), y[i]);
      EXPECT_EQ(static_cast<size_t>(indices[i]) / plane, i / (y.size() / 6)) << "the channel";
    }
  }
}

TEST(OnnxWindows, IndicesByColumns) {
  const auto results =
      Evaluate(MaxPoolWithIndices({1, 2, 2, 4}, {2, 2}, 1).Import(), {{"x", Counting({1, 2, 2, 4})}});
  EXPECT_THAT(results.at("indices").ToInts(), ElementsAre(3, 7, 11, 15));
  const Error error = ImportError(MaxPoolWithIndices({1, 1, 2, 2, 2}, {2, 2, 2}, 1));
  EXPECT_THAT(error.what(), HasSubstr("by columns"));
}

TEST(OnnxWindows, AveragePoolOfVolumesCountsWhatIsInside) {
  for (const int64_t count_include_pad : {0, 1}) {
    OnnxModel model(19);
    Open(model.AddInput("x", {1, 1, 3, 3, 3}), {0, 2, 3, 4});
    auto* node = model.AddNode("AveragePool", {"x"}, {"y"});
    SetInts(node, "kernel_shape", {2, 2, 2});
    SetInts(node, "strides", {2, 2, 2});
    SetInts(node, "pads", {1, 1, 1, 0, 0, 0});
    SetInt(node, "count_include_pad", count_include_pad);
    model.AddOutput("y");
    const std::vector<float> y = AsFloats(RunModel(model, {{"x", Counting({1, 1, 3, 3, 3})}}));
    // The first window holds one element, the second one two, the last one eight.
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], count_include_pad == 1 ? 3 / 8.0f : 1.5f);
    EXPECT_EQ(y[7], 19.5f);
  }
}

TEST(OnnxWindows, LpPoolInCeilMode) {
  OnnxModel model(18);
  model.AddInput("x", {1, 1, 4});
  auto* node = model.AddNode("LpPool", {"x"}, {"y"});
  SetInts(node, "kernel_shape", {3});
  SetInts(node, "strides", {2});
  SetInt(node, "ceil_mode", 1);
  SetInt(node, "p", 1);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1, 1, 4}, {1, -2, 3, 4})}})), ElementsAre(6, 7));
  Open(model.proto.mutable_graph()->mutable_input(0), {2});
  EXPECT_THAT(ImportError(model).what(), HasSubstr("extents are open"));
}

TEST(OnnxWindows, LpPoolOfAnyPower) {
  OnnxModel model(18);
  Open(model.AddInput("x", {1, 1, 2, 2}), {2, 3});
  auto* node = model.AddNode("LpPool", {"x"}, {"y"});
  SetInts(node, "kernel_shape", {2, 2});
  SetInts(node, "pads", {1, 1, 0, 0});
  SetInt(node, "p", 3);
  model.AddOutput("y");
  const std::vector<float> expected = {1, std::cbrt(9.0f), std::cbrt(28.0f), std::cbrt(100.0f)};
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1, 1, 2, 2}, {1, -2, 3, -4})}})),
              Pointwise(FloatNear(1e-5f), expected));
}

/// As those of the other pools, a window that the end cuts off counts.
TEST(OnnxWindows, LpPoolWithoutPadsInCeilMode) {
  OnnxModel model(18);
  model.AddInput("x", {1, 1, 3});
  auto* node = model.AddNode("LpPool", {"x"}, {"y"});
  SetInts(node, "kernel_shape", {2});
  SetInts(node, "strides", {2});
  SetString(node, "auto_pad", "VALID");
  SetInt(node, "ceil_mode", 1);
  SetInt(node, "p", 1);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1, 1, 3}, {1, 2, 3})}})), ElementsAre(3, 3));
}

TEST(OnnxWindows, NormalisingZeros) {
  OnnxModel model;
  model.AddInput("x", {2, 2});
  model.AddNode("LpNormalization", {"x"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2, 2}, {0, 0, 3, -4})}})),
              Pointwise(FloatNear(1e-6f), {0.0f, 0.0f, 0.6f, -0.8f}));
}

struct Patches {
  std::vector<int64_t> image, block, strides, dilations, pads;
};

/// The definition: every element of a patch is added to its pixel. An infinity stays in one.
TEST(OnnxWindows, ColumnsFollowTheDefinition) {
  const Patches cases[] = {{{5, 6}, {3, 2}, {1, 2}, {1, 1}, {1, 0, 1, 1}},
                           {{6, 8}, {2, 2}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
                           {{9, 11}, {3, 4}, {2, 3}, {2, 2}, {2, 1, 0, 3}},
                           {{4, 6}, {4, 3}, {1 << 29, 1}, {1, 1}, {0, 0, 0, 0}}};
  for (const auto& [image, block, strides, dilations, pads] : cases) {
    std::vector<int64_t> patches;
    for (size_t i : {0, 1})
      patches.push_back((image[i] + pads[i] + pads[2 + i] - (block[i] - 1) * dilations[i] - 1) / strides[i] +
                        1);
    TensorData x = Counting({2, 3 * block[0] * block[1], patches[0] * patches[1]});
    static_cast<float*>(x.mutable_data())[x.elements() / 2] = std::numeric_limits<float>::infinity();
    std::vector<float> expected(static_cast<size_t>(6 * image[0] * image[1]), 0.0f);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int64_t tap = i / (patches[0] * patches[1]) % (block[0] * block[1]);
      const int64_t plane = i / (patches[0] * patches[1] * block[0] * block[1]);
      const int64_t row = i / patches[1] % patches[0] * strides[0] + tap / block[1] * dilations[0] - pads[0];
      const int64_t column = i % patches[1] * strides[1] + tap % block[1] * dilations[1] - pads[1];
      if (row < 0 || row >= image[0] || column < 0 || column >= image[1]) continue;
      expected[static_cast<size_t>((plane * image[0] + row) * image[1] + column)] +=
          static_cast<const float*>(x.data())[i];
    }
    OnnxModel model(18);
    Open(model.AddInput("x", {2, 1, 1}), {0, 1, 2});
    model.AddInts("image", image);
    model.AddInts("block", block);
    auto* node = model.AddNode("Col2Im", {"x", "image", "block"}, {"y"});
    SetInts(node, "strides", strides);
    SetInts(node, "dilations", dilations);
    SetInts(node, "pads", pads);
    model.AddOutput("y");
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}})), ElementsAreArray(expected));
  }
}

/// Without offsets, a deformable convolution is a convolution.
TEST(OnnxWindows, DeformConvWithoutOffsets) {
  const TensorData x = Whole({2, 4, 6, 7}, 7);
  const std::vector<float> w = AsFloats(Whole({4, 2, 3, 2}, 8));
  std::vector<std::vector<float>> results;
  for (const char* op : {"Conv", "DeformConv"}) {
    OnnxModel model(19);
    auto* info = model.AddInput("x", {2, 4, 6, 7});
    Open(info, {0, 2, 3});
    model.AddFloats("w", {4, 2, 3, 2}, w);
    model.AddFloats("offset", {2, 24, 3, 7}, std::vector<float>(2 * 24 * 3 * 7, 0.0f));
    model.AddFloats("bias", {4}, {1, 2, 3, 4});
    const bool deform = std::string(op) == "DeformConv";
    auto* node = deform ? model.AddNode(op, {"x", "w", "offset", "bias"}, {"y"})
                        : model.AddNode(op, {"x", "w", "bias"}, {"y"});
    SetInts(node, "strides", {2, 1});
    SetInts(node, "dilations", {1, 2});
    SetInts(node, "pads", {1, 1, 1, 1});
    SetInt(node, "group", 2);
    if (deform) SetInt(node, "offset_group", 2);
    model.AddOutput("y");
    results.push_back(AsFloats(RunModel(model, {{"x", x}})));
  }
  EXPECT_THAT(results[1], Pointwise(FloatNear(2e-4f), results[0]));
}

/// A volume that repeats one image is sampled as that image is, whatever the depth.
TEST(OnnxWindows, GridSampleOfRepeatedImages) {
  const std::vector<float> at = {-1.3f, -0.7f, -0.1f, 0.2f, 0.9f, 1.6f};
  const TensorData image = Whole({1, 2, 3, 4}, 9);
  std::vector<float> repeated;
  for (size_t c = 0; c < 2; ++c) {
    for (int d = 0; d < 3; ++d) {
      for (size_t i = 0; i < 12; ++i) repeated.push_back(AsFloats(image)[c * 12 + i]);
    }
  }
  std::vector<float> plane_grid;
  std::vector<float> volume_grid;
  for (float y : at) {
    for (float x : at) {
      plane_grid.insert(plane_grid.end(), {x, y});
      volume_grid.insert(volume_grid.end(), {x, y, x / 2});
    }
  }
  for (const char* mode : {"linear", "nearest"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int64_t align_corners : {0, 1}) {
        if (align_corners == 0 && std::string(padding) == "zeros") continue;  // The depth fades out, too.
        std::vector<std::vector<float>> results;
        for (const bool volume : {false, true}) {
          OnnxModel model(20);
          auto* info = volume ? model.AddInput("x", {1, 2, 3, 3, 4}) : model.AddInput("x", {1, 2, 3, 4});
          Open(info, {0, 2, 3});
          if (volume) {
            model.AddFloats("grid", {1, 1, 6, 6, 3}, volume_grid);
          } else {
            model.AddFloats("grid", {1, 6, 6, 2}, plane_grid);
          }
          auto* node = model.AddNode("GridSample", {"x", "grid"}, {"y"});
          SetString(node, "mode", mode);
          SetString(node, "padding_mode", padding);
          SetInt(node, "align_corners", align_corners);
          model.AddOutput("y");
          results.push_back(
              AsFloats(RunModel(model, {{"x", volume ? Floats({1, 2, 3, 3, 4}, repeated) : image}})));
        }
        EXPECT_THAT(results[1], Pointwise(FloatNear(1e-4f), results[0])) << mode << " " << padding;
      }
    }
  }
}

/// What takes no part does not reach the result, whatever it is.
TEST(OnnxWindows, GridSampleBesideInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  TensorData x = Counting({1, 1, 5, 5, 2});
  static_cast<float*>(x.mutable_data())[12] = kInfinity;
  std::vector<float> grid;
  std::vector<float> expected;
  for (const float plane : {0.0f, 1.0f, 2.0f, 3.0f, 4.0f}) {
    for (const float row : {0.0f, 1.0f, 2.0f, 3.0f, 4.0f}) {
      grid.insert(grid.end(), {-0.5f, row / 2 - 1, plane / 2 - 1});
      expected.push_back(plane == 1 && row == 1 ? kInfinity : 10 * plane + 2 * row + 0.25f);
    }
  }
  grid.insert(grid.end(), {kInfinity, 1, -kInfinity});
  expected.push_back(9);
  OnnxModel model(20);
  model.AddInput("x", {1, 1, 5, 5, 2});
  model.AddFloats("grid", {1, 1, 1, 26, 3}, grid);
  auto* node = model.AddNode("GridSample", {"x", "grid"}, {"y"});
  SetString(node, "padding_mode", "border");
  SetInt(node, "align_corners", 1);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}})), ElementsAreArray(expected));
}

/// Weights between 0 and 1 are no integers.
TEST(OnnxWindows, GridSampleOfIntegersTakesTheNearest) {
  for (const char* mode : {"nearest", "linear"}) {
    OnnxModel model(20);
    model.AddInput("x", {1, 1, 2, 2, 2}, onnx::TensorProto::BOOL);
    model.AddFloats("grid", {1, 1, 1, 2, 3}, {-0.5f, 0.5f, -0.5f, 9, 9, 9});
    SetString(model.AddNode("GridSample", {"x", "grid"}, {"y"}), "mode", mode);
    model.AddOutput("y");
    if (mode == std::string("linear")) {
      EXPECT_THAT(ImportError(model).what(), HasSubstr("interpolates between elements of bool"));
      continue;
    }
    const bool bits[] = {false, false, true, false, false, false, false, false};
    const TensorData y = RunModel(model, {{"x", TensorData(DType::kBool, {1, 1, 2, 2, 2}, bits)}});
    EXPECT_THAT(y.ToInts(), ElementsAre(1, 0));
  }
}

TEST(OnnxWindows, AffineGridOfOnePixel) {
  for (const int64_t align_corners : {0, 1}) {
    OnnxModel model(20);
    model.AddInput("theta", {1, 2, 3});
    model.AddInput("size", {4}, onnx::TensorProto::INT64);
    SetInt(model.AddNode("AffineGrid", {"theta", "size"}, {"y"}), "align_corners", align_corners);
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"theta", Floats({1, 2, 3}, {2, 0, 0.5f, 0, 3, 0})},
                                          {"size", TensorData::OfInts({1, 1, 1, 2})}});
    const float edge = align_corners == 1 ? 1.0f : 0.5f;
    EXPECT_THAT(AsFloats(y), ElementsAre(0.5f - 2 * edge, 0, 0.5f + 2 * edge, 0));
  }
}

}  // namespace
}  // namespace skiff
