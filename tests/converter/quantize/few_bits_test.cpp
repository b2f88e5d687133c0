// Products of floats with weights of four and eight bits that stay what they are: of numbers with which sums
// of integers would overflow, or lose digits, if they were made otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "delegates/xnnpack/build.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/graph.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "quantize/quantizer.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

constexpr int64_t kInputs = 128;
constexpr int64_t kOutputs = 37;

/// Of output 0 all weights are their zero point, those of others next to it.
Graph Layer(DType dtype, int32_t zero_point, float scale) {
  TensorData codes(dtype, Shape{kOutputs, kInputs});
  const int64_t per_byte = 8 / DTypeBits(dtype);
  const int32_t mask = dtype == DType::kU4 || dtype == DType::kI4 ? 15 : 255;
  auto* const bytes = static_cast<uint8_t*>(codes.mutable_data());
  for (int64_t i = 0; i < codes.elements(); ++i) {
    const auto away = static_cast<int32_t>(i < kInputs ? 0 : i % 3 - 1);
    const int32_t code = (zero_point + away) & mask;
    bytes[i / per_byte] =
        static_cast<uint8_t>(bytes[i / per_byte] | code << (i % per_byte * DTypeBits(dtype)));
  }
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {Dim::OfSymbol(graph.AddSymbol("N")), Dim(kInputs)});
  const ValueId w = graph.AddConstant("w", codes.Quantized(PerTensor(scale, zero_point)));
  const ValueId real = graph.Emit(OpCode::kDequantize, {w}, NoAttrs{}, "real");
  const ValueId bias = graph.AddConstant("bias", RandomTensor(DType::kF32, Shape{kOutputs}, 3));
  graph.AddOutput("y", graph.Emit(OpCode::kFullyConnected, {x, real, bias}, ClampAttrs{}, "y"));
  return graph;
}

struct Codes {
  DType dtype;
  int32_t zero_point;
};
constexpr Codes kCodes[] = {{DType::kI8, 0},  {DType::kI8, 17},  {DType::kU8, 128}, {DType::kU8, 200},
                            {DType::kU4, 8},  {DType::kU4, 3},   {DType::kI4, 0},   {DType::kI4, -3},
                            {DType::kI8, -1}, {DType::kU8, 127}, {DType::kU4, 7},   {DType::kI4, -1}};

TEST(FewBits, KeepTheDigitsOfSmallSums) {
  for (const Codes& of : kCodes) {
    const Graph graph = Layer(of.dtype, of.zero_point, 0.01f);
    OpenedModel opened(graph);
    auto session = std::move(Session::Create(*opened.model, {}).value());
    for (const int64_t rows : {1, 2, 3, 7, 8, 20}) {
      SCOPED_TRACE(::testing::Message() << DTypeName(of.dtype) << " " << of.zero_point << ", " << rows);
      TensorData x = RandomTensor(DType::kF32, {rows, kInputs}, 6);
      auto* const numbers = static_cast<float*>(x.mutable_data());
      std::for_each(numbers, numbers + x.elements(), [](float& number) { number += 10; });
      const NamedTensors inputs = {{"x", x}};
      const NamedTensors results = RunSession(*session, inputs);
      const Difference difference = Compare(results.at("y"), Evaluate(graph, inputs).at("y"));
      EXPECT_LT(difference.difference, 2e-6 * difference.largest);
      const TensorData bias = RandomTensor(DType::kF32, Shape{kOutputs}, 3);
      for (int64_t row = 0; row < rows; ++row)
        EXPECT_EQ(results.at("y").as<float>()[row * kOutputs], bias.as<float>()[0]);
      EXPECT_FALSE(session->node(session->node_count() - 1).fell_back);
    }
  }
}

TEST(FewBits, SumsOfLargeNumbersStayFinite) {
  if (!xnnpack::kHasOwnKernels || xnnpack::SelectKernels().codes.few_bits == nullptr)
    GTEST_SKIP() << "XNNPACK's kernels sum products with the integers, whatever x is";
  for (const Codes& of : kCodes) {
    const Graph graph = Layer(of.dtype, of.zero_point, 1e-3f);
    OpenedModel opened(graph);
    auto session = std::move(Session::Create(*opened.model, {}).value());
    for (const int64_t rows : {1, 4, 20}) {
      SCOPED_TRACE(::testing::Message() << DTypeName(of.dtype) << " " << of.zero_point << ", " << rows);
      TensorData x(DType::kF32, {rows, kInputs});
      auto* const numbers = static_cast<float*>(x.mutable_data());
      for (int64_t row = 0; row < rows; ++row) {
        numbers[row * kInputs] = 2e38f;
        numbers[row * kInputs + 1] = -2e38f;
        numbers[row * kInputs + 2] = 3e36f;
      }
      const NamedTensors inputs = {{"x", x}};
      const Difference difference =
          Compare(RunSession(*session, inputs).at("y"), Evaluate(graph, inputs).at("y"));
      EXPECT_LT(difference.difference, 2e-6 * difference.largest);
    }
  }
}

struct Blocks {
  DType dtype;
  int64_t block;
  int32_t first_zero_point;
  int32_t zero_points;  ///< As many, side by side.
};

/// Blocks of x choose codes, and meet weights whose blocks are the same ones; `also`: others read x as well.
Graph LayerOfCodes(const Blocks& of, bool also) {
  constexpr int64_t kLength = 384;
  const int64_t blocks = kOutputs * kLength / of.block;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < blocks; ++i) {
    scales.push_back(0.001f * static_cast<float>(1 + i % 7));
    zero_points.push_back(of.first_zero_point + static_cast<int32_t>(i % of.zero_points));
  }
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {Dim::OfSymbol(graph.AddSymbol("N")), Dim(kLength)});
  TensorData codes = RandomTensor(of.dtype, Shape{kOutputs, kLength}, 5);
  const ValueId w = graph.AddConstant("w", codes.Quantized(PerAxis(1, scales, zero_points, of.block)));
  const ValueId real = graph.Emit(OpCode::kDequantize, {w}, NoAttrs{}, "real");
  const FakeQuantizeAttrs attrs{.axis = -1, .symmetric = true, .block = of.block};
  const ValueId rounded = graph.Emit(OpCode::kFakeQuantize, {x}, attrs, "rounded");
  const ValueId bias = graph.AddConstant("bias", RandomTensor(DType::kF32, Shape{kOutputs}, 3));
  graph.AddOutput("y", graph.Emit(OpCode::kFullyConnected, {rounded, real, bias}, ClampAttrs{}, "y"));
  if (also) graph.AddOutput("reals", graph.Emit(OpCode::kNeg, {rounded}, NoAttrs{}, "reals"));
  return graph;
}

constexpr Blocks kBlocks[] = {
    {DType::kI4, 16, 0, 1},   {DType::kI4, 32, 0, 1},   {DType::kU4, 32, 8, 1},  {DType::kU4, 32, 7, 2},
    {DType::kU4, 128, 8, 1},  {DType::kI4, 128, -3, 6}, {DType::kU4, 96, 3, 9},  {DType::kI4, 48, 0, 1},
    {DType::kU4, 24, 8, 1},   {DType::kI8, 32, 0, 1},   {DType::kU8, 16, 90, 7}, {DType::kU8, 128, 127, 2},
    {DType::kI8, 384, -9, 3}, {DType::kU4, 384, 2, 4},
};

TEST(FewBits, MeetCodesThatBlocksChose) {
  for (const Blocks& of : kBlocks) {
    for (const bool also : {false, true}) {
      const Graph graph = LayerOfCodes(of, also);
      OpenedModel opened(graph);
      auto session = std::move(Session::Create(*opened.model, {}).value());
      for (const int64_t rows : {1, 2, 3, 4, 7, 20, 100}) {
        SCOPED_TRACE(::testing::Message() << DTypeName(of.dtype) << " in blocks of " << of.block << " from "
                                          << of.first_zero_point << ", " << rows << " rows");
        const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {rows, 384}, 6)}};
        const NamedTensors results = RunSession(*session, inputs);
        for (const auto& [name, expected] : Evaluate(graph, inputs)) {
          const Difference difference = Compare(results.at(name), expected);
          EXPECT_LT(difference.difference, 2e-6 * difference.largest) << name;
        }
        for (int i = 0; i < session->node_count(); ++i)
          EXPECT_FALSE(session->node(i).fell_back) << session->node(i).name;
      }
    }
  }
}

TEST(FewBits, BlocksWithoutCodesMakeTheirRowNan) {
  if (!xnnpack::kHasOwnKernels || xnnpack::SelectKernels().codes.few_bits == nullptr)
    GTEST_SKIP() << "XNNPACK's kernels take NaN to a bound";
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Graph graph = LayerOfCodes({DType::kI4, 32, 0, 1}, false);
    OpenedModel opened(graph);
    auto session = std::move(Session::Create(*opened.model, {}).value());
    TensorData x = RandomTensor(DType::kF32, {9, 384}, 6);
    static_cast<float*>(x.mutable_data())[4 * 384 + 100] = wrong;
    const TensorData y = RunSession(*session, {{"x", x}}).at("y");
    for (int64_t i = 0; i < y.elements(); ++i)
      EXPECT_EQ(std::isnan(y.as<float>()[i]), i / kOutputs == 4) << i;
  }
}

/// Neither side has blocks: a row's codes are no block's.
TEST(FewBits, RowsThatChoseCodesMeetTheirNumbers) {
  const Graph graph = ParseGraph(R"(graph rows {
    input x: f32[5, 64]
    const w: i4[37, 64] {scale=0.02, zero_point=0} = seed 1
    r = FakeQuantize(x) {symmetric=true}
    wr = Dequantize(w)
    y: f32[5, 37] = FullyConnected(r, wr)
    output y
  })");
  OpenedModel opened(graph);
  auto session = std::move(Session::Create(*opened.model, {}).value());
  const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {5, 64}, 6)}};
  const Difference difference =
      Compare(RunSession(*session, inputs).at("y"), Evaluate(graph, inputs).at("y"));
  EXPECT_LT(difference.difference, 2e-6 * difference.largest);
}

/// Which extents an open one may have is known when it is.
TEST(FewBits, BlocksThatDoNotFitAreRefused) {
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {Dim(2), Dim::OfSymbol(graph.AddSymbol("N"))});
  const FakeQuantizeAttrs attrs{.axis = -1, .symmetric = true, .block = 32};
  graph.AddOutput("y", graph.Emit(OpCode::kFakeQuantize, {x}, attrs, "y"));
  OpenedModel opened(graph);
  auto session = std::move(Session::Create(*opened.model, {}).value());
  for (const int64_t extent : {64, 40, 31, 96}) {
    const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {2, extent}, 1)}};
    if (extent % 32 == 0) {
      EXPECT_EQ(Compare(RunSession(*session, inputs).at("y"), Evaluate(graph, inputs).at("y")).difference, 0);
    } else {
      EXPECT_THROW(RunSession(*session, inputs), Error) << extent;
    }
  }
}

/// The file has the same bytes once, with one scale.
TEST(FewBits, TensorsOfTwoShapesMayShareTheWeights) {
  const Graph graph = ParseGraph(R"(graph two {
    input x: f32[4, 32]
    const w: u8[64, 32] {scale=0.02, zero_point=100} = seed 1
    const v: u8[32, 64] {scale=0.02, zero_point=100} = seed 1
    wr = Dequantize(w)
    vr = Dequantize(v)
    a: f32[4, 64] = FullyConnected(x, wr)
    b: f32[4, 32] = FullyConnected(a, vr)
    output b
  })");
  OpenedModel opened(graph);
  auto session = std::move(Session::Create(*opened.model, {}).value());
  const NamedTensors inputs = {{"x", RandomTensor(DType::kF32, {4, 32}, 6)}};
  const Difference difference =
      Compare(RunSession(*session, inputs).at("b"), Evaluate(graph, inputs).at("b"));
  EXPECT_LT(difference.difference, 2e-6 * difference.largest);
  for (int i = 0; i < session->node_count(); ++i)
    EXPECT_FALSE(session->node(i).fell_back) << session->node(i).name;
}

}  // namespace
}  // namespace skiff::testing
