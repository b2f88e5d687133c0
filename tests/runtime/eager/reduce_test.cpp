#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

ReduceAttrs Axes(Ints axes, bool keep_dims = true) {
  ReduceAttrs attrs;
  attrs.axes = axes;
  attrs.keep_dims = keep_dims;
  return attrs;
}

const Tensor kCube = Iota(DType::kF32, {2, 3, 4}, 0);

TEST(Reduce, AxesAndKeepDims) {
  ExpectTensor(RunOp(OpCode::kReduceSum, {kCube}, Axes({2})), {2, 3, 1}, {6, 22, 38, 54, 70, 86});
  ExpectTensor(RunOp(OpCode::kReduceSum, {kCube}, Axes({0}, false)), {3, 4},
               {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  ExpectTensor(RunOp(OpCode::kReduceSum, {kCube}, Axes({1})), {2, 1, 4}, {12, 15, 18, 21, 48, 51, 54, 57});
  ExpectTensor(RunOp(OpCode::kReduceMean, {kCube}, Axes({-1, 0}, false)), {3}, {7.5, 11.5, 15.5});
  ExpectTensor(RunOp(OpCode::kReduceSum, {kCube}, Axes({}, false)), {}, {276});
  ExpectTensor(RunOp(OpCode::kReduceMax, {kCube}, Axes({0, 2})), {1, 3, 1}, {15, 19, 23});
  ExpectTensor(RunOp(OpCode::kReduceMin, {kCube}, Axes({1, 2}, false)), {2}, {0, 12});
  ExpectTensor(RunOp(OpCode::kReduceProd, {F32({2, 2}, {1, 2, 3, 4})}, Axes({1}, false)), {2}, {2, 12});
  ReduceAttrs noop = Axes({});
  noop.noop_when_empty = true;
  ExpectTensor(RunOp(OpCode::kReduceSum, {F32({2}, {1, 2})}, noop), {2}, {1, 2});
  ExpectTensor(RunOp(OpCode::kReduceSum, {F32({}, {5})}, Axes({}, false)), {}, {5});
}

TEST(Reduce, LongAxesBothWays) {
  const Tensor x = Iota(DType::kF64, {2, 300, 2, 300}, 0);
  double first = 0;
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 300; ++j) first += i * 600 + j;
  }
  const std::vector<double> sums = Values(RunOp(OpCode::kReduceSum, {x}, Axes({1, 3}, false)));
  EXPECT_EQ(sums[0], first);
  const std::vector<double> kept = Values(RunOp(OpCode::kReduceSum, {x}, Axes({0, 2}, false)));
  ASSERT_EQ(kept.size(), 90000u);
  EXPECT_EQ(kept[299], 299 + 599 + 180299 + 180599);
}

TEST(Reduce, EmptyAndNan) {
  const Tensor empty = F32({2, 0}, {});
  ExpectTensor(RunOp(OpCode::kReduceSum, {empty}, Axes({1}, false)), {2}, {0, 0});
  ExpectTensor(RunOp(OpCode::kReduceProd, {empty}, Axes({1}, false)), {2}, {1, 1});
  ExpectTensor(RunOp(OpCode::kReduceMean, {empty}, Axes({1}, false)), {2}, {kNan, kNan});
  ExpectTensor(RunOp(OpCode::kReduceMax, {empty}, Axes({1}, false)), {2}, {-kInf, -kInf});
  ExpectTensor(RunOp(OpCode::kReduceMin, {empty}, Axes({1}, false)), {2}, {kInf, kInf});
  ExpectTensor(RunOp(OpCode::kReduceSum, {empty}, Axes({0}, false)), {0}, {});
  ExpectTensor(RunOp(OpCode::kReduceMean, {Make(DType::kI32, {0}, {})}, Axes({})), {1}, {0});
  ExpectTensor(RunOp(OpCode::kReduceMax, {Make(DType::kI8, {0}, {})}, Axes({})), {1}, {-128});
  ExpectTensor(RunOp(OpCode::kReduceMin, {Make(DType::kU16, {0}, {})}, Axes({})), {1}, {65535});
  ExpectTensor(RunOp(OpCode::kReduceMin, {Make(DType::kI16, {0}, {})}, Axes({})), {1}, {32767});
  EXPECT_EQ(RunOp(OpCode::kReduceMin, {I64({0}, {})}, Axes({})).bytes,
            List({std::numeric_limits<int64_t>::max()}).bytes);
  ExpectValues(RunOp(OpCode::kReduceMax, {F32({3}, {1, kNan, 2})}, Axes({})), {kNan});
  ExpectValues(RunOp(OpCode::kReduceMin, {F32({3}, {kNan, 1, -kInf})}, Axes({})), {kNan});
}

TEST(Reduce, IntegersAndBool) {
  ExpectValues(RunOp(OpCode::kReduceMean, {List({-3, -4})}, Axes({})), {-3});
  ExpectValues(RunOp(OpCode::kReduceSum, {Make(DType::kI8, {2}, {100, 100})}, Axes({})), {-56});
  ExpectValues(RunOp(OpCode::kReduceMax, {Make(DType::kBool, {2}, {0, 1})}, Axes({})), {1});
  ExpectValues(RunOp(OpCode::kReduceMin, {Make(DType::kBool, {2}, {0, 1})}, Axes({})), {0});
  const uint64_t top = uint64_t{1} << 63;
  EXPECT_EQ(RunOp(OpCode::kReduceMax, {MakeExact<uint64_t>(DType::kU64, {2}, {1, top})}, Axes({})).bytes,
            MakeExact<uint64_t>(DType::kU64, {1}, {top}).bytes);
  EXPECT_EQ(Op(OpCode::kReduceSum, {Make(DType::kBool, {1}, {1})}, Axes({})).Run().status.code(),
            StatusCode::kUnsupported);
}

/// 2^24 ones: a sum in f32 stops at 2^24, and a sum in f16 far earlier.
TEST(Reduce, AccumulatesWide) {
  const Tensor x = F32({4}, {16777216, 1, 1, 2});
  ExpectValues(RunOp(OpCode::kReduceSum, {x}, Axes({})), {16777220});
  ExpectValues(RunOp(OpCode::kReduceMean, {Make(DType::kF16, {4}, {60000, 60000, 60000, 60000})}, Axes({})),
               {60000});
}

TEST(Reduce, WrongAxes) {
  ExpectError(Op(OpCode::kReduceSum, {kCube}, Axes({3})), "outside an input of rank 3");
  ExpectError(Op(OpCode::kReduceSum, {kCube}, Axes({1, -2})), "named twice");
  ExpectError(Op(OpCode::kReduceSum, {kCube}, Axes({std::numeric_limits<int64_t>::min()})), "outside");
  ReduceAttrs broken;
  broken.axes.size = 1000;
  ExpectError(Op(OpCode::kReduceSum, {kCube}, broken), "outside");
}

TEST(Softmax, EveryAxis) {
  const Tensor x = F32({2, 3}, {0, 1, 2, 1000, 1000, -1000});
  const double e = std::exp(1.0);
  const double sum = 1 + e + e * e;
  ExpectTensor(RunOp(OpCode::kSoftmax, {x}, AxisAttrs{-1}), {2, 3},
               {1 / sum, e / sum, e * e / sum, 0.5, 0.5, 0}, 1e-7);
  ExpectTensor(RunOp(OpCode::kLogSoftmax, {x}, AxisAttrs{1}), {2, 3},
               {-std::log(sum), 1 - std::log(sum), 2 - std::log(sum), -std::log(2.0), -std::log(2.0),
                -2000 - std::log(2.0)},
               1e-4);
  const double sigmoid = 1 / (1 + std::exp(-1.0));
  ExpectTensor(RunOp(OpCode::kSoftmax, {F32({2, 2}, {0, 5, 1, 5})}, AxisAttrs{0}), {2, 2},
               {1 - sigmoid, 0.5, sigmoid, 0.5}, 1e-7);
  ExpectTensor(RunOp(OpCode::kSoftmax, {F32({2, 0}, {})}, AxisAttrs{1}), {2, 0}, {});
  ExpectTensor(RunOp(OpCode::kSoftmax, {F32({0, 2}, {})}, AxisAttrs{1}), {0, 2}, {});
  ExpectValues(RunOp(OpCode::kSoftmax, {F32({2}, {kNan, 1})}, AxisAttrs{0}), {kNan, kNan});
  ExpectValues(RunOp(OpCode::kSoftmax, {F32({2}, {-kInf, 1})}, AxisAttrs{0}), {0, 1});
}

TEST(Softmax, LongRows) {
  const Tensor x = F32({600}, std::vector<double>(600, 3.0));
  ExpectValues(RunOp(OpCode::kSoftmax, {x}, AxisAttrs{0}), std::vector<double>(600, 1.0 / 600), 1e-9);
}

TEST(Softmax, WrongAxisAndDType) {
  ExpectError(Op(OpCode::kSoftmax, {F32({2}, {1, 2})}, AxisAttrs{1}), "axis 1");
  ExpectError(Op(OpCode::kLogSoftmax, {F32({}, {1})}, AxisAttrs{0}), "axis 0");
  ExpectError(Op(OpCode::kSoftmax, {List({1})}, AxisAttrs{0}), "must be floating point, not i64");
}

/// Means 1 and 4, both variances 2/3.
TEST(LayerNorm, ScaleBiasAndEpsilon) {
  const Tensor x = F32({2, 3}, {0, 1, 2, 3, 4, 5});
  const double d = std::sqrt(2.0 / 3 + 0.5);
  NormAttrs attrs;
  attrs.epsilon = 0.5f;
  ExpectTensor(RunOp(OpCode::kLayerNorm, {x, F32({3}, {1, 2, 3}), F32({3}, {10, 20, 30})}, attrs), {2, 3},
               {10 - 1 / d, 20, 30 + 3 / d, 10 - 1 / d, 20, 30 + 3 / d}, 2e-6);
  ExpectTensor(RunOp(OpCode::kLayerNorm, {x, F32({3}, {1, 1, 1})}, attrs), {2, 3},
               {-1 / d, 0, 1 / d, -1 / d, 0, 1 / d}, 1e-7);
  attrs.axis = 0;
  const Tensor both = RunOp(OpCode::kLayerNorm, {x, F32({2, 3}, {1, 1, 1, 1, 1, 1})}, attrs);
  const double all = std::sqrt(35.0 / 12 + 0.5);
  EXPECT_NEAR(Values(both)[0], -2.5 / all, 1e-7);
  EXPECT_NEAR(Values(both)[5], 2.5 / all, 1e-7);
}

TEST(LayerNorm, LongRowsAndErrors) {
  const Tensor x = Iota(DType::kF32, {2, 1000}, 5);
  const Tensor out = RunOp(OpCode::kLayerNorm, {x, F32({1000}, std::vector<double>(1000, 1.0))}, NormAttrs{});
  const double deviation = std::sqrt((1000.0 * 1000 - 1) / 12 + 1e-5);
  EXPECT_NEAR(Values(out)[0], -499.5 / deviation, 1e-6);
  EXPECT_NEAR(Values(out)[1999], 499.5 / deviation, 1e-6);
  ExpectError(Op(OpCode::kLayerNorm, {x, F32({2}, {1, 1})}, NormAttrs{}), "input 1");
  ExpectError(
      Op(OpCode::kLayerNorm, {x, Make(DType::kF16, {1000}, std::vector<double>(1000, 1.0))}, NormAttrs{}),
      "input 1");
  NormAttrs wrong;
  wrong.axis = 2;
  ExpectError(Op(OpCode::kLayerNorm, {x, F32({1}, {1})}, wrong), "axis 2");
}

TEST(BatchNorm, ChannelsLastAndInside) {
  const std::vector<Tensor> statistics = {F32({2}, {2, 3}), F32({2}, {10, 20}), F32({2}, {1, 2}),
                                          F32({2}, {4, 9})};
  const auto run = [&](const Tensor& x, int64_t axis) {
    std::vector<Tensor> inputs = {x};
    inputs.insert(inputs.end(), statistics.begin(), statistics.end());
    NormAttrs attrs;
    attrs.axis = axis;
    attrs.epsilon = 0.0f;
    return RunOp(OpCode::kBatchNorm, inputs, attrs);
  };
  ExpectTensor(run(F32({2, 2}, {1, 2, 5, 11}), -1), {2, 2}, {10, 20, 14, 29}, 1e-6);
  ExpectTensor(run(F32({1, 2, 3}, {1, 3, 5, 2, 5, 8}), 1), {1, 2, 3}, {10, 12, 14, 20, 23, 26}, 1e-6);
  ExpectTensor(run(F32({0, 2}, {}), 1), {0, 2}, {});
  std::vector<Tensor> wrong = {F32({1, 3}, {1, 2, 3})};
  wrong.insert(wrong.end(), statistics.begin(), statistics.end());
  ExpectError(Op(OpCode::kBatchNorm, wrong, NormAttrs{}), "one value per channel");
  const Tensor integers = I64({1, 2}, {1, 2});
  ExpectError(Op(OpCode::kBatchNorm, {integers, integers, integers, integers, integers}, NormAttrs{}),
              "the input must be floating point, not i64");
}

}  // namespace
}  // namespace skiff::test
