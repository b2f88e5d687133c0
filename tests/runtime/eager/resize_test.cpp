// Expected values are those of the examples in the specification of the ONNX operator Resize, where nothing
// else is said.
#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

Tensor Grid(int64_t height, int64_t width) { return Iota(DType::kF32, {1, height, width, 1}, 1); }

Tensor ResizeTo(const Tensor& x, int64_t height, int64_t width, const ResizeAttrs& attrs) {
  return RunOp(OpCode::kResize2d, {x, List({height, width})}, attrs);
}
Tensor ResizeBy(const Tensor& x, double height, double width, const ResizeAttrs& attrs) {
  return RunOp(OpCode::kResize2d, {x, Absent(), F32({2}, {height, width})}, attrs);
}

ResizeAttrs Mode(ResizeMode mode, ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  return attrs;
}
ResizeAttrs Nearest(ResizeCoordinates coordinates, ResizeNearest nearest) {
  ResizeAttrs attrs = Mode(ResizeMode::kNearest, coordinates);
  attrs.nearest = nearest;
  return attrs;
}

/// Rows of the result repeat as often as `rows` says.
std::vector<double> Rows(const std::vector<std::vector<double>>& lines, const std::vector<int>& rows) {
  std::vector<double> values;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (int j = 0; j < rows[i]; ++j) values.insert(values.end(), lines[i].begin(), lines[i].end());
  }
  return values;
}

std::vector<double> FirstRow(const Tensor& tensor) {
  const std::vector<double> values = Values(tensor);
  return {values.begin(), values.begin() + tensor.shape[2]};
}

void ExpectFirstRow(const Tensor& tensor, const std::vector<double>& expected) {
  ExpectValues(Make(DType::kF64, {tensor.shape[2]}, FirstRow(tensor)), expected, 1e-6);
}

TEST(Resize2d, NearestScales) {
  ExpectTensor(ResizeBy(Grid(2, 2), 2, 3, ResizeAttrs{}), {1, 4, 6, 1},
               Rows({{1, 1, 1, 2, 2, 2}, {3, 3, 3, 4, 4, 4}}, {2, 2}));
  ExpectTensor(ResizeBy(Grid(2, 4), 0.6, 0.6, ResizeAttrs{}), {1, 1, 2, 1}, {1, 3});
}

TEST(Resize2d, NearestSizes) {
  ExpectTensor(ResizeTo(Grid(4, 4), 8, 8, Nearest(ResizeCoordinates::kAlignCorners, ResizeNearest::kFloor)),
               {1, 8, 8, 1},
               Rows({{1, 1, 1, 2, 2, 3, 3, 4},
                     {5, 5, 5, 6, 6, 7, 7, 8},
                     {9, 9, 9, 10, 10, 11, 11, 12},
                     {13, 13, 13, 14, 14, 15, 15, 16}},
                    {3, 2, 2, 1}));
  ExpectTensor(ResizeTo(Grid(4, 4), 8, 8, Nearest(ResizeCoordinates::kHalfPixel, ResizeNearest::kCeil)),
               {1, 8, 8, 1},
               Rows({{1, 2, 2, 3, 3, 4, 4, 4},
                     {5, 6, 6, 7, 7, 8, 8, 8},
                     {9, 10, 10, 11, 11, 12, 12, 12},
                     {13, 14, 14, 15, 15, 16, 16, 16}},
                    {1, 2, 2, 3}));
  ExpectTensor(
      ResizeTo(Grid(4, 4), 8, 8, Nearest(ResizeCoordinates::kAsymmetric, ResizeNearest::kRoundPreferCeil)),
      {1, 8, 8, 1},
      Rows({{1, 2, 2, 3, 3, 4, 4, 4},
            {5, 6, 6, 7, 7, 8, 8, 8},
            {9, 10, 10, 11, 11, 12, 12, 12},
            {13, 14, 14, 15, 15, 16, 16, 16}},
           {1, 2, 2, 3}));
}

/// At 0.5 and 1.5 the two roundings part; worked out by hand.
TEST(Resize2d, NearestTies) {
  const Tensor x = Grid(1, 4);
  const auto row = [&](ResizeNearest nearest) { return Nearest(ResizeCoordinates::kAsymmetric, nearest); };
  ExpectValues(ResizeTo(x, 1, 8, row(ResizeNearest::kRoundPreferFloor)), {1, 1, 2, 2, 3, 3, 4, 4});
  ExpectValues(ResizeTo(x, 1, 8, row(ResizeNearest::kRoundPreferCeil)), {1, 2, 2, 3, 3, 4, 4, 4});
  ExpectValues(ResizeTo(x, 1, 8, row(ResizeNearest::kFloor)), {1, 1, 2, 2, 3, 3, 4, 4});
}

TEST(Resize2d, NearestMovesAnyDType) {
  ExpectTensor(ResizeTo(Make(DType::kI64, {1, 1, 2, 2}, {1, 2, 3, 4}), 1, 4, ResizeAttrs{}), {1, 1, 4, 2},
               {1, 2, 1, 2, 3, 4, 3, 4});
  EXPECT_EQ(
      Op(OpCode::kResize2d, {Make(DType::kU8, {1, 1, 2, 1}, {1, 2}), List({1, 4})}, Mode(ResizeMode::kLinear))
          .Run()
          .status.code(),
      StatusCode::kUnsupported);
}

TEST(Resize2d, Linear) {
  ExpectTensor(ResizeBy(Grid(2, 2), 2, 2, Mode(ResizeMode::kLinear)), {1, 4, 4, 1},
               {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  ExpectTensor(ResizeBy(Grid(2, 4), 0.6, 0.6, Mode(ResizeMode::kLinear)), {1, 1, 2, 1},
               {2.6666665, 4.3333331}, 1e-6);
  ExpectTensor(ResizeBy(Grid(2, 2), 2, 2, Mode(ResizeMode::kLinear, ResizeCoordinates::kAlignCorners)),
               {1, 4, 4, 1},
               {1, 1.33333333, 1.66666667, 2, 1.66666667, 2, 2.33333333, 2.66666667, 2.33333333, 2.66666667,
                3, 3.33333333, 3, 3.33333333, 3.66666667, 4},
               1e-6);
  ExpectTensor(ResizeTo(Grid(4, 4), 3, 1, Mode(ResizeMode::kLinear, ResizeCoordinates::kPytorchHalfPixel)),
               {1, 3, 1, 1}, {1.6666666, 7.0, 12.333333}, 2e-6);
}

TEST(Resize2d, Cubic) {
  ExpectFirstRow(ResizeBy(Grid(4, 4), 2, 2, Mode(ResizeMode::kCubic)),
                 {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375});
  ExpectFirstRow(ResizeBy(Grid(4, 4), 2, 2, Mode(ResizeMode::kCubic, ResizeCoordinates::kAlignCorners)),
                 {1.0, 1.34110787, 1.80029155, 2.32944606, 2.67055394, 3.19970845, 3.65889213, 4.0});
  ExpectFirstRow(ResizeBy(Grid(4, 4), 2, 2, Mode(ResizeMode::kCubic, ResizeCoordinates::kAsymmetric)),
                 {1.0, 1.40625, 2.0, 2.5, 3.0, 3.59375, 4.0, 4.09375});
  ExpectFirstRow(ResizeBy(Grid(4, 4), 0.8, 0.8, Mode(ResizeMode::kCubic)), {1.47119141, 2.78125, 4.08251953});
  ResizeAttrs attrs = Mode(ResizeMode::kCubic);
  attrs.cubic_coeff_a = -0.5f;
  attrs.exclude_outside = true;
  ExpectFirstRow(ResizeBy(Grid(4, 4), 2, 2, attrs), {0.55882353, 0.81494204, 1.35698249, 1.89705882,
                                                     2.39705882, 2.93713516, 3.47917561, 3.73529412});
}

/// The scale that was given counts, not the one that the rounded extent amounts to: x / 0.7 and not x * 4
/// / 2.
TEST(Resize2d, GivenScaleIsUsed) {
  const ResizeAttrs attrs = Mode(ResizeMode::kLinear, ResizeCoordinates::kAsymmetric);
  ExpectTensor(ResizeBy(Grid(1, 4), 1, 0.7, attrs), {1, 1, 2, 1}, {1, 1 + 1 / 0.7}, 1e-6);
  ExpectTensor(ResizeTo(Grid(1, 4), 1, 2, attrs), {1, 1, 2, 1}, {1, 3});
}

TEST(Resize2d, InfinityBesideAWeightOfZero) {
  const Tensor x = F32({1, 1, 2, 1}, {1, kInf});
  ExpectValues(ResizeTo(x, 1, 2, Mode(ResizeMode::kLinear)), {1, kInf});
}

TEST(Resize2d, ManyChannelsAndHalf) {
  const Tensor x = Iota(DType::kF16, {2, 1, 1, 300}, 0);
  const Tensor out = ResizeTo(x, 2, 1, Mode(ResizeMode::kLinear));
  std::vector<double> expected;
  for (int n = 0; n < 2; ++n) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int c = 0; c < 300; ++c) expected.push_back(n * 300 + c);
    }
  }
  ExpectTensor(out, {2, 2, 1, 300}, expected);
}

/// The values of the specification's examples.
TEST(Resize2d, Antialias) {
  ResizeAttrs attrs = Mode(ResizeMode::kLinear);
  attrs.antialias = true;
  ExpectTensor(ResizeBy(Grid(4, 4), 0.6, 0.6, attrs), {1, 2, 2, 1}, {2.875, 4.5, 9.375, 11.0}, 1e-6);
  ExpectTensor(ResizeTo(Grid(4, 4), 3, 3, attrs), {1, 3, 3, 1},
               {2.3636363, 3.590909, 4.818182, 7.2727275, 8.5, 9.727273, 12.181818, 13.409091, 14.636364},
               1e-6);
  attrs.mode = ResizeMode::kCubic;
  ExpectTensor(ResizeBy(Grid(4, 4), 0.6, 0.6, attrs), {1, 2, 2, 1},
               {2.5180721, 4.2858863, 9.589329, 11.357142}, 2e-6);
}

TEST(Resize2d, AntialiasChangesNothingWhereTheImageGrows) {
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    ResizeAttrs attrs = Mode(mode);
    const std::vector<double> plain = Values(ResizeTo(Grid(4, 4), 7, 9, attrs));
    attrs.antialias = true;
    ExpectValues(ResizeTo(Grid(4, 4), 7, 9, attrs), plain, 1e-5);
  }
}

TEST(Resize2d, CropAndResize) {
  ResizeAttrs attrs = Mode(ResizeMode::kLinear, ResizeCoordinates::kTfCropAndResize);
  attrs.roi_left = 1.0f / 3;
  attrs.roi_right = 5.0f / 3;
  attrs.extrapolation = 10;
  ExpectTensor(ResizeTo(Grid(1, 4), 1, 3, attrs), {1, 1, 3, 1}, {2, 4, 10}, 1e-5);
  attrs.mode = ResizeMode::kNearest;
  ExpectTensor(RunOp(OpCode::kResize2d, {Make(DType::kU8, {1, 1, 4, 1}, {1, 2, 3, 4}), List({1, 3})}, attrs),
               {1, 1, 3, 1}, {2, 4, 10});
  attrs.roi_left = -std::numeric_limits<float>::infinity();
  attrs.antialias = true;
  attrs.mode = ResizeMode::kCubic;
  for (const double value : Values(ResizeTo(Grid(1, 4), 1, 3, attrs))) EXPECT_EQ(value, 10);
}

/// Sizes decide the extent and scales the coordinates where both are there.
TEST(Resize2d, SizesAndScales) {
  const ResizeAttrs attrs = Mode(ResizeMode::kLinear, ResizeCoordinates::kAsymmetric);
  ExpectTensor(RunOp(OpCode::kResize2d, {Grid(1, 4), List({1, 3}), F32({2}, {1, 0.7})}, attrs), {1, 1, 3, 1},
               {1, 1 + 1 / 0.7, 1 + 2 / 0.7}, 1e-6);
  ExpectError(Op(OpCode::kResize2d, {Grid(1, 4), List({1, 3}), F32({1}, {1})}, attrs), "two f32");
}

TEST(Resize2d, SymmetricCentre) {
  const ResizeAttrs attrs = Mode(ResizeMode::kLinear, ResizeCoordinates::kHalfPixelSymmetric);
  ExpectTensor(ResizeBy(Grid(1, 4), 1, 0.6, attrs), {1, 1, 2, 1}, {2.5 - 0.5 / 0.6, 2.5 + 0.5 / 0.6}, 1e-6);
}

}  // namespace
}  // namespace skiff::test
