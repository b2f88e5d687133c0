#include "parity/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

Movement MovementOf(const Graph& graph, const NamedTensors& inputs) {
  const NamedTensors eager = Evaluate(graph, inputs);
  return MeasureSensitivity(graph, inputs, eager, {}).outputs.at("y");
}

double Largest(const Movement& movement) { return *std::max_element(movement.begin(), movement.end()); }

TEST(Sensitivity, WhatIsOnlyMovedDoesNotMove) {
  const Graph graph = ParseGraph("graph g { input x: f32[3, 4]  y = Transpose(x) {perm=[1, 0]}  output y }");
  EXPECT_EQ(Largest(MovementOf(graph, {{"x", RandomTensor(DType::kF32, {3, 4}, 1)}})), 0);
}

TEST(Sensitivity, ACancellationMovesByWhatWasRoundedBeforeIt) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: f32[8]
    const large: f32[] = [4096]
    far = Add(x, large)
    y = Sub(far, large)
    output y
  })");
  const double moved = Largest(MovementOf(graph, {{"x", RandomTensor(DType::kF32, {8}, 1)}}));
  // A step of f32 beside 4096 is 2^-11.
  EXPECT_GE(moved, 0x1p-12);
  EXPECT_LE(moved, 0x1p-9);
}

/// Boxes and scores in one tensor, say.
TEST(Sensitivity, RowsOfOtherMagnitudeHaveAMovementOfTheirOwn) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: f32[2, 100]
    const scale: f32[2, 1] = [1000, 0.001]
    const square: f32[100, 100] = seed 1
    mixed = MatMul(x, square)
    y = Mul(mixed, scale)
    output y
  })");
  const Movement moved = MovementOf(graph, {{"x", RandomTensor(DType::kF32, {2, 100}, 1)}});
  EXPECT_GT(moved[0], 1e5 * moved[100]);
  EXPECT_GT(moved[100], 0);
}

TEST(Sensitivity, SumsOfOneSignMoveMoreTheLongerTheyAre) {
  const auto moved = [](int64_t length) {
    const Graph graph =
        ParseGraph(fmt::format("graph g {{ input x: f32[1, {0}] const w: f32[{0}, 1] = seed 1  a = Abs(w)  y "
                               "= MatMul(x, a)  output y "
                               "}}",
                               length));
    TensorData ones(DType::kF32, Shape{1, length});
    std::fill_n(static_cast<float*>(ones.mutable_data()), length, 1.0f);
    return Largest(MovementOf(graph, {{"x", ones}})) / static_cast<double>(length);
  };
  EXPECT_GT(moved(10000), 5 * moved(100));
}

TEST(Sensitivity, BodiesMoveToo) {
  const Graph graph = ParseGraph(R"(graph g {
    input c: bool[]
    input x: f32[4]
    y = If(c, x) then {
      input a: f32[4]
      b = Exp(a)
      output b
    } else {
      input a: f32[4]
      b = Abs(a)
      output b
    }
    output y
  })");
  const uint8_t yes = 1;
  const NamedTensors inputs{{"c", TensorData(DType::kBool, {}, &yes)},
                            {"x", RandomTensor(DType::kF32, {4}, 1)}};
  EXPECT_GT(Largest(MovementOf(graph, inputs)), 0);
}

TEST(Sensitivity, IsTheSameEveryTime) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: f32[4, 64]
    const w: f32[64, 64] = seed 2
    a = MatMul(x, w)
    y = Softmax(a) {axis=1}
    output y
  })");
  const NamedTensors inputs{{"x", RandomTensor(DType::kF32, {4, 64}, 1)}};
  EXPECT_EQ(MovementOf(graph, inputs), MovementOf(graph, inputs));
}

}  // namespace
}  // namespace skiff::testing
