#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

Pool2dAttrs Attrs(Ints kernel, Ints strides, Ints pads = {0, 0, 0, 0}) {
  Pool2dAttrs attrs;
  attrs.kernel = kernel;
  attrs.strides = strides;
  attrs.pads = pads;
  return attrs;
}

const Tensor kFour = Iota(DType::kF32, {1, 4, 4, 1}, 1);

/// The examples of the ONNX operators MaxPool and AveragePool.
TEST(MaxPool2d, SpecificationExamples) {
  Pool2dAttrs attrs = Attrs({2, 2}, {1, 1});
  attrs.dilations = {2, 2};
  ExpectTensor(RunOp(OpCode::kMaxPool2d, {kFour}, attrs), {1, 2, 2, 1}, {11, 12, 15, 16});
  attrs = Attrs({3, 3}, {2, 2});
  attrs.ceil_mode = true;
  ExpectTensor(RunOp(OpCode::kMaxPool2d, {kFour}, attrs), {1, 2, 2, 1}, {11, 12, 15, 16});
  attrs = Attrs({5, 5}, {1, 1}, {2, 2, 2, 2});
  ExpectTensor(
      RunOp(OpCode::kMaxPool2d, {Iota(DType::kF32, {1, 5, 5, 1}, 1)}, attrs), {1, 5, 5, 1},
      {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25});
  attrs = Attrs({3, 3}, {2, 2});
  attrs.auto_pad = AutoPad::kSameUpper;
  ExpectTensor(RunOp(OpCode::kMaxPool2d, {Iota(DType::kF32, {1, 5, 5, 1}, 1)}, attrs), {1, 3, 3, 1},
               {7, 9, 10, 17, 19, 20, 22, 24, 25});
}

TEST(AveragePool2d, SpecificationExamples) {
  Pool2dAttrs attrs = Attrs({3, 3}, {2, 2});
  attrs.ceil_mode = true;
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {kFour}, attrs), {1, 2, 2, 1}, {6, 7.5, 12, 13.5});
  attrs = Attrs({5, 5}, {1, 1}, {2, 2, 2, 2});
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {Iota(DType::kF32, {1, 5, 5, 1}, 1)}, attrs), {1, 5, 5, 1},
               {7,    7.5, 8,    8.5, 9,    9.5, 10,   10.5, 11,   11.5, 12,   12.5, 13,
                13.5, 14,  14.5, 15,  15.5, 16,  16.5, 17,   17.5, 18,   18.5, 19});
  attrs.count_include_pad = true;
  const Tensor padded = RunOp(OpCode::kAveragePool2d, {Iota(DType::kF32, {1, 5, 5, 1}, 1)}, attrs);
  EXPECT_NEAR(Values(padded)[0], 63.0 / 25, 1e-6);
  EXPECT_NEAR(Values(padded)[12], 13.0, 1e-6);
}

TEST(MaxPool2d, PaddingNeverWinsAndNanDoes) {
  const Tensor x = F32({1, 1, 4, 1}, {-5, -7, kNan, -2});
  ExpectValues(RunOp(OpCode::kMaxPool2d, {x}, Attrs({1, 2}, {1, 2}, {0, 1, 0, 1})), {-5, kNan, -2});
  ExpectValues(RunOp(OpCode::kMaxPool2d, {Make(DType::kI8, {1, 1, 2, 1}, {-5, -128})},
                     Attrs({1, 1}, {1, 1}, {0, 1, 0, 0})),
               {-128, -5, -128});
  ExpectValues(RunOp(OpCode::kMaxPool2d, {Make(DType::kU8, {1, 1, 2, 1}, {5, 200})}, Attrs({1, 2}, {1, 1})),
               {200});
}

TEST(Pool2d, ManyChannelsKeepApart) {
  const Tensor x = Iota(DType::kF32, {2, 2, 2, 300}, 0);
  std::vector<double> largest;
  std::vector<double> average;
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 300; ++c) {
      largest.push_back(n * 1200 + 900 + c);
      average.push_back(n * 1200 + 450 + c);
    }
  }
  ExpectTensor(RunOp(OpCode::kMaxPool2d, {x}, Attrs({2, 2}, {2, 2})), {2, 1, 1, 300}, largest);
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {x}, Attrs({2, 2}, {2, 2})), {2, 1, 1, 300}, average);
}

/// Windows of three over [p 1 2 3 4 p]: the third one hangs over the padding by one, which does not count.
TEST(AveragePool2d, CeilOverhangDoesNotCount) {
  const Tensor x = F32({1, 1, 4, 1}, {1, 2, 3, 4});
  Pool2dAttrs attrs = Attrs({1, 3}, {1, 2}, {0, 1, 0, 1});
  attrs.ceil_mode = true;
  attrs.count_include_pad = true;
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {x}, attrs), {1, 1, 3, 1}, {1, 3, 2}, 1e-6);
  attrs.count_include_pad = false;
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {x}, attrs), {1, 1, 3, 1}, {1.5, 3, 4}, 1e-6);
  attrs = Attrs({1, 3}, {1, 2});
  attrs.ceil_mode = true;
  attrs.count_include_pad = true;
  ExpectTensor(RunOp(OpCode::kAveragePool2d, {x}, attrs), {1, 1, 2, 1}, {2, 3.5}, 1e-6);
}

TEST(AveragePool2d, DilationAndDTypes) {
  Pool2dAttrs attrs = Attrs({1, 2}, {1, 1});
  attrs.dilations = {1, 2};
  ExpectValues(RunOp(OpCode::kAveragePool2d, {Make(DType::kF16, {1, 1, 4, 1}, {1, 2, 3, 4})}, attrs), {2, 3});
  ExpectError(Op(OpCode::kAveragePool2d, {Make(DType::kI32, {1, 1, 4, 1}, {1, 2, 3, 4})}, attrs),
              "must be floating point, not i32");
}

/// Positions count in the NCHW tensor: image, channel, row, column.
TEST(MaxPool2dIndices, CountsAsOnnxDoes) {
  const Tensor x = Iota(DType::kF32, {2, 2, 2, 2}, 0);
  ExpectTensor(RunOp(OpCode::kMaxPool2dIndices, {x}, Attrs({2, 2}, {1, 1})), {2, 1, 1, 2}, {3, 7, 11, 15});
  EXPECT_EQ(RunOp(OpCode::kMaxPool2dIndices, {x}, Attrs({2, 2}, {1, 1})).dtype, DType::kI64);
}

TEST(MaxPool2dIndices, TiesNanAndEmptyWindows) {
  const Tensor x = F32({1, 1, 6, 1}, {5, 5, -kInf, -kInf, kNan, 9});
  ExpectValues(RunOp(OpCode::kMaxPool2dIndices, {x}, Attrs({1, 2}, {1, 2})), {0, 2, 4});
  // The second window begins behind the input.
  ExpectValues(
      RunOp(OpCode::kMaxPool2dIndices, {F32({1, 1, 1, 1}, {3})}, Attrs({1, 1}, {1, 1}, {0, 0, 0, 1})),
      {0, -1});
}

}  // namespace
}  // namespace skiff::test
