#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

GridSampleAttrs Grid(GridSampleMode mode, GridSamplePadding padding = GridSamplePadding::kZeros,
                     bool align_corners = false) {
  GridSampleAttrs attrs;
  attrs.mode = mode;
  attrs.padding = padding;
  attrs.align_corners = align_corners;
  return attrs;
}

/// Samples the row 1, 2, 3, 4 at grid coordinates along x.
Tensor SampleRow(const std::vector<double>& at, const GridSampleAttrs& attrs, DType dtype = DType::kF32) {
  std::vector<double> grid;
  for (double x : at) grid.insert(grid.end(), {x, 0.0});
  return RunOp(OpCode::kGridSample2d,
               {Iota(dtype, {1, 1, 4, 1}, 1), F32({1, 1, static_cast<int64_t>(at.size()), 2}, grid)}, attrs);
}

TEST(GridSample2d, CoordinatesAndPadding) {
  constexpr auto kLinear = GridSampleMode::kLinear;
  // The centres of the pixels lie at -3/4, -1/4, 1/4, 3/4; the edges at -1 and 1.
  ExpectValues(SampleRow({-0.75, -0.5, 0, 0.75, 1, 3}, Grid(kLinear)), {1, 1.5, 2.5, 4, 2, 0});
  ExpectValues(SampleRow({-1, -1.0 / 3, 1}, Grid(kLinear, GridSamplePadding::kZeros, true)), {1, 2, 4}, 1e-6);
  ExpectValues(SampleRow({-3, -1, 1, 9}, Grid(kLinear, GridSamplePadding::kBorder)), {1, 1, 4, 4});
  // Mirrored at the edges: -1.25 is where -0.75 is.
  ExpectValues(SampleRow({-1.25, 1.5, 2.75}, Grid(kLinear, GridSamplePadding::kReflection)), {1, 3.5, 1});
  ExpectValues(SampleRow({-1.0 - 2.0 / 3, 3}, Grid(kLinear, GridSamplePadding::kReflection, true)), {2, 1},
               1e-5);
}

TEST(GridSample2d, NearestTakesAnyDType) {
  const GridSampleAttrs attrs = Grid(GridSampleMode::kNearest);
  ExpectValues(SampleRow({-0.6, 0.2, 2, kNan}, attrs, DType::kU8), {1, 3, 0, 0});
  const GridSampleAttrs border = Grid(GridSampleMode::kNearest, GridSamplePadding::kBorder);
  ExpectValues(SampleRow({-kInf, kInf, 1e30}, border, DType::kI64), {1, 4, 4});
  EXPECT_EQ(Op(OpCode::kGridSample2d, {Make(DType::kI32, {1, 1, 1, 1}, {1}), F32({1, 1, 1, 2}, {0, 0})},
               Grid(GridSampleMode::kLinear))
                .Run()
                .status.code(),
            StatusCode::kUnsupported);
}

TEST(GridSample2d, CubicKeepsPixelsAndNumbers) {
  for (const auto padding :
       {GridSamplePadding::kZeros, GridSamplePadding::kBorder, GridSamplePadding::kReflection}) {
    const GridSampleAttrs attrs = Grid(GridSampleMode::kCubic, padding);
    ExpectValues(SampleRow({-0.75, 0.25}, attrs), {1, 3}, 1e-6);
    ExpectValues(SampleRow({kNan}, attrs), {kNan});
    for (double value : Values(SampleRow({kInf, -kInf, 1e38}, attrs))) EXPECT_FALSE(std::isnan(value));
  }
  // Keys' kernel with a = -0.75, half way between the second and the third pixel.
  ExpectValues(SampleRow({0}, Grid(GridSampleMode::kCubic)), {-0.09375 * (1 + 4) + 0.59375 * (2 + 3)}, 1e-6);
}

TEST(GridSample2d, HostileShapes) {
  const Tensor x = F32({1, 2, 2, 1}, {1, 2, 3, 4});
  ExpectError(Op(OpCode::kGridSample2d, {x, F32({1, 1, 1, 3}, {0, 0, 0})}, GridSampleAttrs{}),
              "height, width");
  ExpectError(Op(OpCode::kGridSample2d, {x, F32({2, 1, 1, 2}, {0, 0, 0, 0})}, GridSampleAttrs{}), "2 images");
  ExpectError(Op(OpCode::kGridSample2d, {x, I64({1, 1, 1, 2}, {0, 0})}, GridSampleAttrs{}), "floats");
  ExpectError(
      Op(OpCode::kGridSample2d, {F32({1, 0, 2, 1}, {}), F32({1, 1, 1, 2}, {0, 0})}, GridSampleAttrs{}),
      "at least 1");
}

/// Boxes of many classes that were moved apart, as detectors have them, and one class of all: what is taken
/// is what a comparison with each would take.
TEST(NonMaxSuppression, TakesWhatComparingWithEachWould) {
  uint32_t state = 1;
  const auto random = [&](double most) {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / (1 << 24) * most;
  };
  for (const double apart : {0.0, 50.0, 1000.0}) {
    constexpr int kBoxes = 400;
    std::vector<double> boxes;
    std::vector<double> scores;
    for (int i = 0; i < kBoxes; ++i) {
      const double moved = apart * (i % 40);
      const double x = static_cast<float>(random(40) + moved);
      const double y = static_cast<float>(random(40) + moved);
      boxes.insert(boxes.end(),
                   {y, x, static_cast<float>(y + random(12)), static_cast<float>(x + random(12))});
      scores.push_back(i * 37 % kBoxes);
    }
    const auto outcome = Op(OpCode::kNonMaxSuppression,
                            {F32({1, kBoxes, 4}, boxes), F32({1, 1, kBoxes}, scores), I64({}, {kBoxes}),
                             F32({}, {0.3}), F32({}, {-1})},
                            SuppressionAttrs{}, /*output_count=*/3)
                             .Run();
    ASSERT_EQ(outcome.status.code(), StatusCode::kOk);
    std::vector<int> expected;
    for (int score = kBoxes - 1; score >= 0; --score) {
      int box = 0;
      while (static_cast<int>(scores[static_cast<size_t>(box)]) != score) ++box;
      const auto side = [&](int of, size_t i) {
        return static_cast<float>(boxes[static_cast<size_t>(of) * 4 + i]);
      };
      const auto covers = [&](int other) {
        const float width = std::min(side(box, 3), side(other, 3)) - std::max(side(box, 1), side(other, 1));
        const float height = std::min(side(box, 2), side(other, 2)) - std::max(side(box, 0), side(other, 0));
        const auto area = [&](int of) { return (side(of, 3) - side(of, 1)) * (side(of, 2) - side(of, 0)); };
        const float common = width * height;
        return width > 0 && height > 0 && common / (area(box) + area(other) - common) > 0.3f;
      };
      if (std::none_of(expected.begin(), expected.end(), covers)) expected.push_back(box);
    }
    const std::vector<double> taken = Values(outcome.outputs[0]);
    ASSERT_EQ(Values(outcome.outputs[1])[0], static_cast<double>(expected.size())) << apart;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(taken[i * 3 + 2], expected[i]) << apart;
  }
}

RoiAlignAttrs Cells(int64_t height, int64_t width, int64_t ratio, bool half_pixel = true) {
  RoiAlignAttrs attrs;
  attrs.height = height;
  attrs.width = width;
  attrs.sampling_ratio = ratio;
  attrs.half_pixel = half_pixel;
  return attrs;
}

Tensor Align(const std::vector<double>& region, const RoiAlignAttrs& attrs) {
  return RunOp(OpCode::kRoiAlign, {Iota(DType::kF32, {1, 4, 4, 1}, 0), F32({1, 4}, region), List({0})},
               attrs);
}

TEST(RoiAlign, SamplesCells) {
  // With the half pixel, one sample a cell is the pixel itself.
  ExpectTensor(Align({0, 0, 4, 4}, Cells(4, 4, 1)), {1, 4, 4, 1},
               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  ExpectValues(Align({0, 0, 4, 4}, Cells(2, 2, 0)), {2.5, 4.5, 10.5, 12.5});
  // Without it, everything lies half a pixel farther, and the last pixel repeats.
  ExpectValues(Align({0, 0, 4, 4}, Cells(1, 4, 1, false)), {8.5, 9.5, 10.5, 11});
  // A region is at least a pixel large only there.
  ExpectValues(Align({1, 1, 1, 1}, Cells(1, 1, 2, false)), {7.5});
  // Outside everything is 0.
  ExpectValues(Align({-9, 0, -5, 4}, Cells(1, 1, 2)), {0});
  RoiAlignAttrs largest = Cells(1, 1, 4);
  largest.mode = RoiAlignMode::kMax;
  ExpectValues(Align({-9, 0, -5, 4}, largest), {0});
}

TEST(RoiAlign, HugeRegionsEnd) {
  for (const double far : {1e6, 1e18, 3e38}) {
    for (const double value : Values(Align({-far, -far, far, far}, Cells(3, 2, 0)))) {
      EXPECT_TRUE(std::isfinite(value)) << far;
    }
    ExpectValues(Align({far, far, 0, 0}, Cells(1, 1, 0)), {0});
  }
}

TEST(RoiAlign, RefusesWhatIsNoRegion) {
  const Tensor x = F32({1, 2, 2, 1}, {1, 2, 3, 4});
  const auto status = [&](const std::vector<double>& region, int64_t image) {
    return Op(OpCode::kRoiAlign, {x, F32({1, 4}, region), List({image})}, Cells(1, 1, 0)).Run().status.code();
  };
  EXPECT_EQ(status({0, 0, 1, 1}, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(status({0, 0, 1, 1}, -1), StatusCode::kInvalidArgument);
  EXPECT_EQ(status({0, kNan, 1, 1}, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(status({0, 0, kInf, 1}, 0), StatusCode::kInvalidArgument);
  const Tensor region = F32({1, 4}, {0, 0, 1, 1});
  ExpectError(Op(OpCode::kRoiAlign, {x, region, List({0, 0})}, Cells(1, 1, 0)), "1 regions");
  ExpectError(Op(OpCode::kRoiAlign, {x, region, List({0})}, Cells(0, 1, 0)), "positive");
  ExpectError(Op(OpCode::kRoiAlign, {x, region, List({0})}, Cells(1, 1, int64_t{1} << 40)), "sampling ratio");
  ExpectError(Op(OpCode::kRoiAlign, {x, F32({4}, {0, 0, 1, 1}), List({0})}, Cells(1, 1, 0)), "[count, 4]");
}

}  // namespace
}  // namespace skiff::test
