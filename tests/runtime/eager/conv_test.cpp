#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

/// Sums in the order of the definition, written for clarity: the independent answer.
std::vector<double> NaiveConv(const Tensor& x, const Tensor& w, const std::vector<double>& bias,
                              const Conv2dAttrs& attrs, const std::vector<int64_t>& out) {
  const std::vector<double> in = Values(x);
  const std::vector<double> weights = Values(w);
  const int64_t height = x.shape[1], width = x.shape[2], channels = x.shape[3];
  const int64_t outputs = w.shape[0], kh = w.shape[1], kw = w.shape[2], depth = w.shape[3];
  std::vector<double> result;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t y = 0; y < out[1]; ++y) {
      for (int64_t col = 0; col < out[2]; ++col) {
        for (int64_t o = 0; o < outputs; ++o) {
          const int64_t group = o / (outputs / attrs.groups);
          double sum = bias.empty() ? 0 : bias[static_cast<size_t>(o)];
          for (int64_t i = 0; i < kh; ++i) {
            for (int64_t j = 0; j < kw; ++j) {
              const int64_t in_y = y * attrs.strides[0] - attrs.pads[0] + i * attrs.dilations[0];
              const int64_t in_x = col * attrs.strides[1] - attrs.pads[1] + j * attrs.dilations[1];
              if (in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) continue;
              for (int64_t c = 0; c < depth; ++c) {
                sum += in[static_cast<size_t>(((n * height + in_y) * width + in_x) * channels +
                                              group * depth + c)] *
                       weights[static_cast<size_t>(((o * kh + i) * kw + j) * depth + c)];
              }
            }
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

/// A transposed convolution as it is defined: every input element is spread over the output.
std::vector<double> NaiveConvTranspose(const Tensor& x, const Tensor& w, const ConvTranspose2dAttrs& attrs,
                                       const std::vector<int64_t>& out) {
  const std::vector<double> in = Values(x);
  const std::vector<double> weights = Values(w);
  const int64_t height = x.shape[1], width = x.shape[2], channels = x.shape[3];
  const int64_t outputs = w.shape[0], kh = w.shape[1], kw = w.shape[2], depth = w.shape[3];
  std::vector<double> result(static_cast<size_t>(out[0] * out[1] * out[2] * out[3]));
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t col = 0; col < width; ++col) {
        for (int64_t o = 0; o < outputs; ++o) {
          const int64_t group = o / (outputs / attrs.groups);
          for (int64_t i = 0; i < kh; ++i) {
            for (int64_t j = 0; j < kw; ++j) {
              const int64_t out_y = y * attrs.strides[0] - attrs.pads[0] + i * attrs.dilations[0];
              const int64_t out_x = col * attrs.strides[1] - attrs.pads[1] + j * attrs.dilations[1];
              if (out_y < 0 || out_y >= out[1] || out_x < 0 || out_x >= out[2]) continue;
              for (int64_t c = 0; c < depth; ++c) {
                result[static_cast<size_t>(((n * out[1] + out_y) * out[2] + out_x) * outputs + o)] +=
                    in[static_cast<size_t>(((n * height + y) * width + col) * channels + group * depth + c)] *
                    weights[static_cast<size_t>(((o * kh + i) * kw + j) * depth + c)];
              }
            }
          }
        }
      }
    }
  }
  return result;
}

Tensor Ones(std::vector<int64_t> shape) {
  const auto count = static_cast<size_t>(Tensor{DType::kF32, shape, {}}.elements());
  return F32(std::move(shape), std::vector<double>(count, 1.0));
}

/// The examples of the ONNX operator Conv.
TEST(Conv2d, SpecificationExamples) {
  Conv2dAttrs attrs;
  attrs.pads = {1, 1, 1, 1};
  attrs.strides = {2, 2};
  ExpectTensor(RunOp(OpCode::kConv2d, {Iota(DType::kF32, {1, 7, 5, 1}, 0), Ones({1, 3, 3, 1})}, attrs),
               {1, 4, 3, 1}, {12, 27, 24, 63, 108, 81, 123, 198, 141, 112, 177, 124});
  attrs.pads = {0, 0, 0, 0};
  ExpectTensor(RunOp(OpCode::kConv2d, {Iota(DType::kF32, {1, 7, 5, 1}, 0), Ones({1, 3, 3, 1})}, attrs),
               {1, 3, 2, 1}, {54, 72, 144, 162, 234, 252});
  attrs.auto_pad = AutoPad::kSameLower;
  ExpectTensor(RunOp(OpCode::kConv2d, {Iota(DType::kF32, {1, 5, 5, 1}, 0), Ones({1, 3, 3, 1})}, attrs),
               {1, 3, 3, 1}, {12, 27, 24, 63, 108, 81, 72, 117, 84});
}

TEST(Conv2d, AutoPadPutsTheOddElementWhereItIsTold) {
  const Tensor x = F32({1, 1, 4, 1}, {1, 2, 3, 4});
  const Tensor w = F32({1, 1, 2, 1}, {1, 10});
  Conv2dAttrs attrs;
  attrs.auto_pad = AutoPad::kSameUpper;
  ExpectTensor(RunOp(OpCode::kConv2d, {x, w}, attrs), {1, 1, 4, 1}, {21, 32, 43, 4});
  attrs.auto_pad = AutoPad::kSameLower;
  ExpectTensor(RunOp(OpCode::kConv2d, {x, w}, attrs), {1, 1, 4, 1}, {10, 21, 32, 43});
  attrs.auto_pad = AutoPad::kValid;
  attrs.pads = {0, 5, 0, 5};
  ExpectTensor(RunOp(OpCode::kConv2d, {x, w}, attrs), {1, 1, 3, 1}, {21, 32, 43});
}

struct ConvCase {
  std::vector<int64_t> x;
  std::vector<int64_t> w;
  Ints strides;
  Ints dilations;
  Ints pads;
  int64_t groups;
};

const ConvCase kCases[] = {
    {{1, 5, 6, 3}, {7, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
    {{2, 9, 7, 4}, {6, 3, 2, 2}, {2, 1}, {1, 2}, {0, 2, 1, 1}, 2},
    {{1, 6, 6, 70}, {70, 3, 3, 1}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 70},
    {{2, 7, 7, 5}, {5, 5, 3, 1}, {2, 2}, {1, 2}, {2, 2, 2, 2}, 5},
    {{1, 4, 4, 3}, {6, 3, 3, 1}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 3},
    {{1, 3, 3, 600}, {5, 1, 1, 600}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 1},
    {{1, 3, 2, 70}, {300, 3, 3, 70}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
    {{1, 2, 2, 1}, {1, 70, 70, 1}, {1, 1}, {1, 1}, {40, 40, 40, 40}, 1},
};

TEST(Conv2d, MatchesTheDefinition) {
  for (const ConvCase& c : kCases) {
    const Tensor x = Random(DType::kF32, c.x, 1);
    const Tensor w = Random(DType::kF32, c.w, 2);
    const Tensor bias = Random(DType::kF32, {c.w[0]}, 3);
    Conv2dAttrs attrs;
    attrs.strides = c.strides;
    attrs.dilations = c.dilations;
    attrs.pads = c.pads;
    attrs.groups = c.groups;
    const Tensor out = RunOp(OpCode::kConv2d, {x, w, bias}, attrs);
    ExpectValues(out, NaiveConv(x, w, Values(bias), attrs, out.shape), 2e-6);
    const Tensor plain = RunOp(OpCode::kConv2d, {x, w}, attrs);
    ExpectValues(plain, NaiveConv(x, w, {}, attrs, out.shape), 2e-6);
  }
}

TEST(Conv2d, HalfAccumulatesWide) {
  const Tensor x = Random(DType::kF16, {1, 4, 4, 40}, 4);
  const Tensor w = Random(DType::kF16, {3, 3, 3, 40}, 5);
  Conv2dAttrs attrs;
  const Tensor out = RunOp(OpCode::kConv2d, {x, w}, attrs);
  EXPECT_EQ(out.dtype, DType::kF16);
  // Sums stay below 16, where f16 has a spacing of 2^-7: half of it is the only error.
  ExpectValues(out, NaiveConv(x, w, {}, attrs, out.shape), std::ldexp(1.0, -8));
}

TEST(Conv2d, FusedClampAndNan) {
  Conv2dAttrs attrs;
  attrs.min = 0.0f;
  attrs.max = 6.0f;
  const Tensor x = F32({1, 1, 4, 1}, {-2, 3, 9, kNan});
  ExpectValues(RunOp(OpCode::kConv2d, {x, F32({1, 1, 1, 1}, {1})}, attrs), {0, 3, 6, kNan});
  ExpectValues(RunOp(OpCode::kConv2d, {x, F32({2, 1, 1, 1}, {1, -1})}, attrs),
               {0, 2, 3, 0, 6, 0, kNan, kNan});
}

TEST(Conv2d, EmptyBatchButNoEmptyWeights) {
  ExpectTensor(
      RunOp(OpCode::kConv2d, {F32({0, 3, 3, 2}, {}), Random(DType::kF32, {4, 3, 3, 2}, 1)}, Conv2dAttrs{}),
      {0, 1, 1, 4}, {});
  ExpectError(
      Op(OpCode::kConv2d, {F32({1, 1, 2, 0}, {}), F32({1, 1, 1, 0}, {}), F32({1}, {3})}, Conv2dAttrs{}),
      "weights' extents must be known, positive");
}

TEST(Conv2d, UnsupportedDType) {
  const Tensor x = Make(DType::kI32, {1, 1, 1, 1}, {1});
  ExpectError(Op(OpCode::kConv2d, {x, x}, Conv2dAttrs{}), "must be floating point, not i32");
}

/// The example of the ONNX operator ConvTranspose.
TEST(ConvTranspose2d, SpecificationExample) {
  const std::vector<double> expected = {0,  1,  3, 3,  2,  3,  8,  15, 12, 7,  9,  21, 36,
                                        27, 15, 9, 20, 33, 24, 13, 6,  13, 21, 15, 8};
  ExpectTensor(RunOp(OpCode::kConvTranspose2d, {Iota(DType::kF32, {1, 3, 3, 1}, 0), Ones({1, 3, 3, 1})},
                     ConvTranspose2dAttrs{}),
               {1, 5, 5, 1}, expected);
}

TEST(ConvTranspose2d, MatchesTheDefinition) {
  for (const ConvCase& c : kCases) {
    if (c.pads[0] + c.pads[2] >= c.w[1]) continue;
    const Tensor x = Random(DType::kF32, c.x, 6);
    const Tensor w = Random(DType::kF32, c.w, 7);
    ConvTranspose2dAttrs attrs;
    attrs.strides = c.strides;
    attrs.dilations = c.dilations;
    attrs.pads = c.pads;
    attrs.groups = c.groups;
    attrs.output_pads = {c.strides[0] - 1, 0};
    const Tensor out = RunOp(OpCode::kConvTranspose2d, {x, w}, attrs);
    ExpectValues(out, NaiveConvTranspose(x, w, attrs, out.shape), 2e-6);
  }
}

TEST(ConvTranspose2d, BiasAndClamp) {
  ConvTranspose2dAttrs attrs;
  attrs.strides = {1, 2};
  attrs.max = 11.0f;
  ExpectTensor(RunOp(OpCode::kConvTranspose2d,
                     {F32({1, 1, 2, 1}, {1, 2}), F32({1, 1, 3, 1}, {1, 2, 3}), F32({1}, {5})}, attrs),
               {1, 1, 5, 1}, {6, 7, 10, 9, 11});
}

}  // namespace
}  // namespace skiff::test
