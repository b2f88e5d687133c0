// Lstm, Gru and Rnn. The ONNX node tests have larger cases; here are lengths, directions and dtypes.
#include <cmath>

#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One unit. Gates: input, output, forget, cell.
struct LstmUnit {
  double x[4];
  double r[4];
  double p[3] = {0, 0, 0};

  void Step(double scale, double* h, double* c) const {
    const double sums[4] = {scale * x[0] + r[0] * *h, scale * x[1] + r[1] * *h, scale * x[2] + r[2] * *h,
                            scale * x[3] + r[3] * *h};
    const double next = Sigmoid(sums[2] + p[2] * *c) * *c + Sigmoid(sums[0] + p[0] * *c) * std::tanh(sums[3]);
    *h = Sigmoid(sums[1] + p[1] * next) * std::tanh(next);
    *c = next;
  }
  Tensor Inputs(const std::vector<double>& scales) const {
    std::vector<double> values;
    for (double scale : scales) {
      for (double gate : x) values.push_back(scale * gate);
    }
    return F32({static_cast<int64_t>(scales.size()), 1, 4}, values);
  }
  Tensor Recurrence() const { return F32({4, 1}, {r[0], r[1], r[2], r[3]}); }
};

std::vector<Tensor> Results(OpRun op) {
  const Outcome outcome = op.Run();
  EXPECT_TRUE(outcome.status.ok()) << outcome.message;
  return outcome.outputs;
}

void ExpectNear(const Tensor& tensor, const std::vector<double>& expected, double difference = 1e-6) {
  const std::vector<double> values = Values(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], difference) << i;
}

TEST(Recurrent, LstmBothWays) {
  const LstmUnit unit{{0.5, -0.3, 0.8, 1.1}, {0.2, 0.7, -0.4, 0.6}, {0.3, -0.2, 0.4}};
  const std::vector<double> scales = {1, -2, 0.5};
  for (const bool reverse : {false, true}) {
    double h = 0.25;
    double c = -0.5;
    std::vector<double> states(3);
    for (size_t i = 0; i < 3; ++i) {
      const size_t step = reverse ? 2 - i : i;
      unit.Step(scales[step], &h, &c);
      states[step] = h;
    }
    const std::vector<Tensor> outputs =
        Results(Op(OpCode::kLstm,
                   {unit.Inputs(scales), unit.Recurrence(), Absent(), F32({1, 1}, {0.25}), Absent(),
                    F32({1, 1}, {-0.5}), F32({3}, {0.3, -0.2, 0.4})},
                   RecurrentAttrs{.reverse = reverse}, 3));
    EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{3, 1, 1}));
    ExpectNear(outputs[0], states);
    ExpectNear(outputs[1], {h});
    ExpectNear(outputs[2], {c});
  }
}

/// Two units, so that the reset gate meets more than its own state.
TEST(Recurrent, GruResetsBeforeOrAfterTheProduct) {
  const std::vector<double> r = {0.1, 0.2, 0.3, 0.4, 0.5, -0.6, 0.7, -0.8, 0.9, 1.0, -1.1, 1.2};
  const std::vector<double> b = {0, 0.1, 0.2, -0.1, 0.3, -0.4};
  const std::vector<double> x = {0.3, -0.2, 0.6, 0.1, -0.5, 0.4};
  const double h[2] = {0.5, -0.25};
  const auto product = [&](size_t row, const double* state) {
    return r[2 * row] * state[0] + r[2 * row + 1] * state[1];
  };
  for (const bool after : {false, true}) {
    double reset[2];
    double left[2];
    std::vector<double> expected(2);
    for (size_t i = 0; i < 2; ++i) reset[i] = Sigmoid(x[2 + i] + product(2 + i, h) + b[2 + i]);
    for (size_t i = 0; i < 2; ++i) left[i] = reset[i] * h[i];
    for (size_t i = 0; i < 2; ++i) {
      const double update = Sigmoid(x[i] + product(i, h) + b[i]);
      const double recurrent =
          after ? reset[i] * (product(4 + i, h) + b[4 + i]) : product(4 + i, left) + b[4 + i];
      expected[i] = (1 - update) * std::tanh(x[4 + i] + recurrent) + update * h[i];
    }
    const std::vector<Tensor> outputs =
        Results(Op(OpCode::kGru, {F32({1, 1, 6}, x), F32({6, 2}, r), F32({6}, b), F32({1, 2}, {h[0], h[1]})},
                   RecurrentAttrs{.reset_after = after}, 2));
    ExpectNear(outputs[0], expected);
    ExpectNear(outputs[1], expected);
  }
}

TEST(Recurrent, SequencesEndAtTheirLengths) {
  // h = relu(x + h): running sums.
  const Tensor x = F32({3, 2, 1}, {1, 10, 2, 20, 4, 40});
  const Tensor one = F32({1, 1}, {1});
  const auto run = [&](const Tensor& lengths, bool reverse) {
    return Results(Op(OpCode::kRnn, {x, one, Absent(), F32({2, 1}, {0.5, 0.5}), lengths},
                      RecurrentAttrs{.reverse = reverse, .relu = true}, 2));
  };
  const Tensor lengths = Make(DType::kI32, {2}, {2, 0});
  ExpectValues(run(lengths, false)[0], {1.5, 0, 3.5, 0, 0, 0});
  ExpectValues(run(lengths, false)[1], {3.5, 0.5});
  ExpectValues(run(lengths, true)[0], {3.5, 0, 2.5, 0, 0, 0});
  ExpectValues(run(lengths, true)[1], {3.5, 0.5});
  ExpectValues(run(Absent(), true)[0], {7.5, 70.5, 6.5, 60.5, 4.5, 40.5});
  for (const int64_t length : {-1, 4}) {
    const Outcome outcome =
        Op(OpCode::kRnn, {x, one, Absent(), Absent(), List({1, length})}, RecurrentAttrs{}, 2).Run();
    EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
  }
}

TEST(Recurrent, DTypesAndNoSteps) {
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    const std::vector<Tensor> outputs = Results(
        Op(OpCode::kRnn, {Make(dtype, {1, 1, 1}, {0.5}), Make(dtype, {1, 1}, {1})}, RecurrentAttrs{}, 2));
    EXPECT_EQ(outputs[0].dtype, dtype);
    ExpectNear(outputs[0], {std::tanh(0.5)}, dtype == DType::kF16 ? 1e-3 : 1e-7);
  }
  const std::vector<Tensor> empty =
      Results(Op(OpCode::kGru, {F32({0, 1, 3}, {}), F32({3, 1}, {1, 1, 1}), Absent(), F32({1, 1}, {0.75})},
                 RecurrentAttrs{}, 2));
  ExpectTensor(empty[0], {0, 1, 1}, {});
  ExpectTensor(empty[1], {1, 1}, {0.75});
}

TEST(Recurrent, TheCellIsClipped) {
  // Gates of 10 are open: the cell would be 1, and the state tanh(1).
  const std::vector<Tensor> made =
      Results(Op(OpCode::kLstm, {F32({1, 1, 4}, {40, 40, 40, 40}), F32({4, 1}, {0, 0, 0, 0})},
                 RecurrentAttrs{.cell_clip = 0.5f}, 3));
  ExpectTensor(made[2], {1, 1}, {0.5});
  ExpectTensor(made[0], {1, 1, 1}, {static_cast<float>(std::tanh(0.5))});
  ExpectError(Op(OpCode::kLstm, {F32({1, 1, 4}, {0, 0, 0, 0}), F32({4, 1}, {0, 0, 0, 0})},
                 RecurrentAttrs{.cell_clip = -1.0f}, 3),
              "cell_clip");
}

TEST(Recurrent, WrongShapesAreNamed) {
  const Tensor x = F32({1, 1, 4}, {0, 0, 0, 0});
  const Tensor r = F32({4, 1}, {0, 0, 0, 0});
  const auto op = [&](std::vector<Tensor> inputs) {
    return Op(OpCode::kLstm, std::move(inputs), RecurrentAttrs{}, 3);
  };
  ExpectError(op({x, F32({3, 1}, {0, 0, 0})}), "the weights");
  ExpectError(op({F32({1, 1, 3}, {0, 0, 0}), r}), "the sequence");
  ExpectError(op({F32({1, 4}, {0, 0, 0, 0}), r}), "rank 3");
  ExpectError(op({x, r, F32({3}, {0, 0, 0})}), "the bias");
  ExpectError(op({x, r, Absent(), F32({1, 2}, {0, 0})}), "the first state");
  ExpectError(op({x, r, Absent(), Make(DType::kF64, {1, 1}, {0})}), "f64");
  ExpectError(op({x, r, Absent(), Absent(), F32({1}, {1})}), "the lengths");
  ExpectError(op({x, r, Absent(), Absent(), Absent(), F32({2, 1}, {0, 0})}), "the first cell state");
  ExpectError(op({x, r, Absent(), Absent(), Absent(), Absent(), F32({1}, {0})}), "the peepholes");
}

}  // namespace
}  // namespace skiff::test
