// Eager tensors: elements, types, numbers as operands, and what errors say.
#include <gtest/gtest.h>

#include <cmath>

#include "expect_error.h"
#include "graph/quantization.h"
#include "trace/function.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

TEST(Tensor, HoldsElementsWithTheirType) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.dtype(), DType::kF32);
  EXPECT_EQ(x.TypeText(), "f32[2, 3]");
  EXPECT_EQ(x.dim(-1), 3);
  EXPECT_THAT(x.ToVector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Tensor::Scalar(int64_t{7}).item<int64_t>(), 7);
  EXPECT_THAT(Tensor::Full(DType::kI32, {2}, 3).ToVector<int32_t>(), ElementsAre(3, 3));
}

TEST(Tensor, WrongUseIsAnErrorThatSaysWhy) {
  EXPECT_ERROR(Tensor::Of<float>({1, 2, 3}, {2, 2}), "3 values cannot fill the shape [2, 2]");
  EXPECT_ERROR(Tensor::Of<float>({1, 2}).as<int32_t>(), "f32[2] were asked for as i32");
  EXPECT_ERROR(Tensor::Of<float>({1, 2}).item<float>(), "where exactly one is needed");
  EXPECT_ERROR(Tensor().dtype(), "holds nothing");
  EXPECT_ERROR(Tensor::Scalar(1.0f).dim(0), "rank 0 has no axis 0");
  EXPECT_ERROR(Tensor::Full(DType::kU8, {1}, 300), "u8 cannot hold 300");
}

TEST(Ops, BroadcastAndTakeNumbersOfTheOtherOperandsType) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT((x + Tensor::Of<float>({10, 20})).ToVector<float>(), ElementsAre(11, 22, 13, 24));
  EXPECT_THAT((1 - x * 2).ToVector<float>(), ElementsAre(-1, -3, -5, -7));
  EXPECT_THAT((x > 2.5).ToVector<bool>(), ElementsAre(false, false, true, true));
  const Tensor n = Tensor::Of<int32_t>({7, -7});
  EXPECT_THAT((n % 4).ToVector<int32_t>(), ElementsAre(3, 1));
  EXPECT_THAT((n + 1).ToVector<int32_t>(), ElementsAre(8, -6));
  EXPECT_THAT(Where(n > 0, n, 0).ToVector<int32_t>(), ElementsAre(7, 0));
}

TEST(Ops, ErrorsNameThePlaceTheOperatorAndTheOperands) {
  const Tensor a = Tensor::Zeros(DType::kF32, {2, 3});
  EXPECT_ERROR(MatMul(a, a), "tensor_test.cpp:");
  EXPECT_ERROR(MatMul(a, a), "MatMul: ");
  EXPECT_ERROR(MatMul(a, a), "(operands: f32[2, 3], f32[2, 3])");
  EXPECT_ERROR(a + Tensor::Zeros(DType::kI32, {2, 3}), "operands: f32[2, 3], i32[2, 3]");
  EXPECT_ERROR(Tensor::Zeros(DType::kI32, {2}) + 0.5, "0.5 cannot be a number of dtype i32");
  EXPECT_ERROR(Exp(2.0), "nothing says which dtype the number 2 has");
  EXPECT_ERROR(a + Tensor(), "empty Tensor");
}

/// Kernels read as many scales as the shape asks for, and the operands that must be there, without a look.
TEST(Ops, RefuseWhatKernelsWouldReadBeyond) {
  const Tensor x = Tensor::Zeros(DType::kF32, {3});
  const std::vector<float> three = {1, 1, 1};
  EXPECT_ERROR(Quantize(x, DType::kF32, PerTensor(0.5f)), "f32[3], is wrong: its dtype cannot be quantised");
  EXPECT_ERROR(Quantize(x, DType::kI64, PerTensor(0.5f)), "its dtype cannot be quantised");
  EXPECT_ERROR(Quantize(x, DType::kI8, PerTensor(0)), "a scale is not a positive number");
  EXPECT_ERROR(Quantize(x, DType::kI8, PerTensor(1, 1000)), "a zero point is outside of its dtype");
  EXPECT_ERROR(Quantize(x, DType::kI8, PerAxis(0, {1})), "another number of scales");
  EXPECT_ERROR(Quantize(x, DType::kI8, PerAxis(99, three)), "the axis of its scales is not one of its axes");
  EXPECT_ERROR(PerAxis(0, three, {0, 0}), "2 zero points were given for 3 scales");
  const Tensor codes = Quantize(x, DType::kI8, PerAxis(0, three));
  EXPECT_ERROR(Requantize(codes, DType::kF32, PerTensor(0.5f)), "its dtype cannot be quantised");
  EXPECT_ERROR(FromCodes(Tensor::Zeros(DType::kI8, {3}), DType::kI8, PerAxis(0, {1})), "number of scales");
  EXPECT_ERROR(Concat({}, 0), "Concat: 0 operands were given; expected 1 or more");
  EXPECT_ERROR(MatMul(x, Tensor()), "MatMul: operand 1 is an empty Tensor");
}

TEST(Ops, WhatDoesNotFitIsAnInvalidArgument) {
  const Tensor a = Tensor::Zeros(DType::kF32, {2, 3});
  try {
    MatMul(a, a);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  }
}

TEST(Ops, MoveAndReduce) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(Reshape(x, {3, -1}).shape(), Shape({3, 2}));
  EXPECT_THAT(Transpose(x).ToVector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(ReduceMax(x, {.axes = {1}, .keep_dims = false}).ToVector<float>(), ElementsAre(3, 6));
  EXPECT_THAT(Slice(x, {0, 1}, {2, 3}).ToVector<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Slice(x, {-1}, {0}, {1}, {-1}).ToVector<float>(), ElementsAre(3, 2, 6, 5));
  EXPECT_THAT(Concat({x, x}, 0).shape(), Shape({4, 3}));
  const Tensors parts = Split(x, {1, 2}, 1);
  EXPECT_THAT(parts[1].ToVector<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(TopK(x, 2).second.ToVector<int64_t>(), ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(ShapeOf(x).ToVector<int64_t>(), ElementsAre(2, 3));
  EXPECT_THAT(FullyConnected(x, Tensor::Of<float>({1, 1, 1}, {1, 3})).ToVector<float>(), ElementsAre(6, 15));
}

TEST(Ops, FillHasTheNumberThatItIsGiven) {
  Function filled([](const Tensor& size) { return Fill(size, DType::kF64, 1e300); });
  EXPECT_THAT(filled(Tensor::Of<int64_t>({2})).ToVector<double>(), ElementsAre(1e300, 1e300));
  for (const double value : {0.1, 0.5, 1e300, -1e-300})
    EXPECT_THAT(Fill({2}, DType::kF64, value).ToVector<double>(), ElementsAre(value, value));
  EXPECT_TRUE(std::isnan(Fill({1}, DType::kF64, std::nan("")).item<double>()));
  EXPECT_EQ(Fill({0, 3}, DType::kF64, 0.1).shape(), Shape({0, 3}));
  EXPECT_EQ(Fill(Shape(), DType::kF64, 0.1).shape(), Shape());
  EXPECT_THAT(Fill({1}, DType::kF32, 0.1).ToVector<float>(), ElementsAre(0.1f));
}

/// Two steps of one unit, by the formulas of the layers.
TEST(Ops, RecurrentLayersAreTheirSteps) {
  const Tensor weights = Tensor::Of<float>({0.5f}, {1, 1});
  const Tensor x = Tensor::Of<float>({0.25f, -0.75f}, {2, 1, 1});
  const RecurrentResults rnn = Rnn(x, weights, {.state = Tensor::Full(DType::kF32, {1, 1}, 0.125)});
  const float first = std::tanh(0.25f + 0.5f * 0.125f);
  EXPECT_THAT(rnn.states.ToVector<float>(),
              ElementsAre(FloatNear(first, 1e-6f), FloatNear(std::tanh(-0.75f + 0.5f * first), 1e-6f)));
  EXPECT_THAT(rnn.state.ToVector<float>(), ElementsAre(rnn.states.ToVector<float>()[1]));
  EXPECT_TRUE(rnn.cell.empty());

  const Tensor one = Tensor::Full(DType::kF32, {1, 1, 1}, 1);
  const RecurrentResults lstm = Lstm(Concat({one, one, one, one}, 2), Tensor::Zeros(DType::kF32, {4, 1}),
                                     {.cell = Tensor::Full(DType::kF32, {1, 1}, 2)});
  const float gate = 1 / (1 + std::exp(-1.0f));
  const float cell = gate * 2 + gate * std::tanh(1.0f);
  EXPECT_THAT(lstm.cell.ToVector<float>(), ElementsAre(FloatNear(cell, 1e-6f)));
  EXPECT_THAT(lstm.state.ToVector<float>(), ElementsAre(FloatNear(gate * std::tanh(cell), 1e-6f)));

  const RecurrentResults gru = Gru(Concat({one, one, one}, 2), Tensor::Zeros(DType::kF32, {3, 1}),
                                   {.state = Tensor::Full(DType::kF32, {1, 1}, 3)});
  EXPECT_THAT(gru.state.ToVector<float>(),
              ElementsAre(FloatNear(gate * 3 + (1 - gate) * std::tanh(1.0f), 1e-6f)));
}

}  // namespace
}  // namespace skiff::eager
