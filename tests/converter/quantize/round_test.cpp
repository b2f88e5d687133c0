// Rounding by the effect on a layer's result: what is gathered of its inputs, and what that gains.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "quantize/input_moments.h"
#include "quantize/round_by_effect.h"
#include "quantize/rounded_layers.h"
#include "run/opened_model.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

struct Layer {
  explicit Layer(const std::string& text) : graph(ParseGraph(text)) {}

  const Node& node() const { return graph.node(graph.value(graph.outputs()[0].value).producer); }
  const TensorData& weights() const { return *graph.value(node().inputs[1]).constant; }
  NamedTensors Inputs(uint32_t seed) const { return RandomInputs(graph, seed); }

  Graph graph;
};

/// A product's results tell the same as moments of what it multiplies: E(wx) = w E(x), E(wx wx) = w E(xx')
/// w'.
void ExpectMomentsOfResults(const Layer& layer) {
  constexpr uint32_t kCalls = 3;
  const TensorData& weights = layer.weights();
  const auto channels = static_cast<size_t>(weights.shape()[0]);
  InputMoments moments(layer.node(), weights.shape(), kCalls);
  std::vector<double> mean(channels, 0);
  std::vector<double> square(channels, 0);
  double rows = 0;
  for (uint32_t call = 0; call < kCalls; ++call) {
    const NamedTensors inputs = layer.Inputs(call + 1);
    moments.Add(inputs.at("x").view());
    const std::vector<double> results = Evaluate(layer.graph, inputs).at("y").ToDoubles();
    for (size_t i = 0; i < results.size(); ++i) {
      mean[i % channels] += results[i];
      square[i % channels] += results[i] * results[i];
    }
    const size_t rows_of_call = results.size() / channels;
    rows += static_cast<double>(rows_of_call);
  }
  const std::vector<double> means = moments.Means();
  const auto row = static_cast<size_t>(moments.row());
  const size_t of_group = channels / static_cast<size_t>(moments.groups());
  for (size_t c = 0; c < channels; ++c) {
    const std::vector<double> products = moments.Products(static_cast<int64_t>(c / of_group), false);
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < row; ++i) {
      const auto at = [&](size_t k) { return static_cast<double>(weights.as<float>()[c * row + k]); };
      sum += at(i) * means[c / of_group * row + i];
      for (size_t k = 0; k < row; ++k)
        squares += at(i) * at(k) * products[std::max(i, k) * row + std::min(i, k)];
    }
    EXPECT_NEAR(sum, mean[c] / rows, 1e-5) << c;
    EXPECT_NEAR(squares, square[c] / rows, 1e-5) << c;
  }
}

TEST(InputMoments, AreThoseOfWhatWeightsMeet) {
  ExpectMomentsOfResults(Layer(R"(graph rows {
  input x: f32[5, 7, 12]
  const w: f32[9, 12] = seed 1
  y = FullyConnected(x, w, _)
  output y
}
)"));
  ExpectMomentsOfResults(Layer(R"(graph windows {
  input x: f32[2, 7, 6, 4]
  const w: f32[6, 3, 2, 2] = seed 1
  y = Conv2d(x, w, _) {strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 2], groups=2}
  output y
}
)"));
  ExpectMomentsOfResults(Layer(R"(graph depthwise {
  input x: f32[1, 6, 5, 3]
  const w: f32[3, 3, 3, 1] = seed 1
  y = Conv2d(x, w, _) {strides=[2, 2], auto_pad=same_upper, groups=3}
  output y
}
)"));
}

TEST(InputMoments, LeaveOutRowsThatAreNoNumbers) {
  const Layer layer(
      "graph g {\n input x: f32[2, 2]\n const w: f32[1, 2] = [1, 1]\n y = FullyConnected(x, w, "
      "_)\n output y\n}\n");
  InputMoments moments(layer.node(), layer.weights().shape(), 1);
  const TensorData x(DType::kF32, {3, 2}, std::vector<float>{1, 2, NAN, 5, 3, 4}.data());
  moments.Add(x.view());
  EXPECT_EQ(moments.Means(), (std::vector<double>{2, 3}));
  EXPECT_EQ(moments.Products(0, true)[2], 1);
  InputMoments none(layer.node(), layer.weights().shape(), 1);
  none.Add(TensorData(DType::kF32, {0, 2}).view());
  EXPECT_EQ(none.Means(), (std::vector<double>{0, 0}));
}

TEST(RoundByEffect, FactorsAMatrix) {
  constexpr size_t kSize = 7;
  const std::vector<double> half = RandomTensor(DType::kF32, {kSize, kSize}, 3).ToDoubles();
  std::vector<double> matrix(kSize * kSize, 0);
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t k = 0; k < kSize; ++k) {
      matrix[i * kSize + k] = i == k ? 0.1 : 0;
      for (size_t j = 0; j < kSize; ++j) matrix[i * kSize + k] += half[i * kSize + j] * half[k * kSize + j];
    }
  }
  const std::vector<double> upper = UpperFactor(matrix, kSize);
  std::vector<double> diagonal(kSize);
  for (size_t i = kSize; i-- > 0;) {
    diagonal[i] = matrix[i * kSize + i];
    for (size_t k = i + 1; k < kSize; ++k)
      diagonal[i] -= upper[i * kSize + k] * upper[i * kSize + k] * diagonal[k];
    EXPECT_GT(diagonal[i], 0);
  }
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t k = 0; k < kSize; ++k) {
      double sum = 0;
      for (size_t j = 0; j < kSize; ++j) sum += upper[i * kSize + j] * diagonal[j] * upper[k * kSize + j];
      EXPECT_NEAR(sum, matrix[i * kSize + k], 1e-9);
      if (k <= i) {
        EXPECT_EQ(upper[i * kSize + k], k == i ? 1 : 0);
      }
    }
  }
}

/// Where all rows are equal there is no variance but what rounding leaves, which may be negative.
TEST(RoundByEffect, TakesInputsThatNeverChange) {
  const Layer layer(
      "graph g { input x: f32[300, 8] const w: f32[4, 8] = seed 1 y = FullyConnected(x, w) output y }");
  InputMoments moments(layer.node(), layer.weights().shape(), 1);
  std::vector<float> rows;
  for (int i = 0; i < 300; ++i)
    for (int k = 0; k < 8; ++k) rows.push_back(6.735172e23F + 1e18F * static_cast<float>(k));
  moments.Add(TensorData(DType::kF32, {300, 8}, rows.data()).view());
  const std::vector<double> products = moments.Products(0, true);
  for (size_t i = 0; i < 8; ++i) EXPECT_GT(products[i * 8 + i], 0);
  for (const double factor : UpperFactor(products, 8)) EXPECT_TRUE(std::isfinite(factor));
  for (const double factor : UpperFactor(std::vector<double>(64, 0), 8)) EXPECT_TRUE(std::isfinite(factor));
}

/// Neighbours of an input say nearly the same, so that one weight can make up for the other.
TEST(RoundByEffect, IsNearerInTheResultThanNearestCodes) {
  const Layer layer(R"(graph alike {
  input x: f32[64, 64]
  const w: f32[33, 64] = seed 5
  y = FullyConnected(x, w, _)
  output y
}
)");
  const auto inputs = [&](uint32_t seed) {
    TensorData x = RandomTensor(DType::kF32, {64, 64}, seed);
    auto* numbers = static_cast<float*>(x.mutable_data());
    for (size_t i = 1; i < 64 * 64; ++i) numbers[i] = 0.95F * numbers[i - 1] + 0.3F * numbers[i];
    return x;
  };
  InputMoments moments(layer.node(), layer.weights().shape(), 8);
  for (uint32_t call = 0; call < 8; ++call) moments.Add(inputs(call + 1).view());
  const TensorData& weights = layer.weights();
  const auto error = [&](const TensorData& codes) {
    const std::vector<double> rounded = codes.ToDoubles();
    const std::vector<double> x = inputs(100).ToDoubles();
    double sum = 0;
    for (size_t r = 0; r < 64; ++r) {
      for (size_t c = 0; c < 33; ++c) {
        double difference = 0;
        for (size_t i = 0; i < 64; ++i)
          difference +=
              x[r * 64 + i] * (static_cast<double>(weights.as<float>()[c * 64 + i]) - rounded[c * 64 + i]);
        sum += difference * difference;
      }
    }
    return sum;
  };
  for (const WeightGrid& grid :
       {GridOfFourBits(weights, 32), GridPerChannel(weights, WeightScales::kLeastSquares)}) {
    const TensorData codes = CodesByEffect(weights, grid, moments, false);
    EXPECT_EQ(codes.dtype(), grid.largest_code == 7 ? DType::kI4 : DType::kI8);
    EXPECT_LT(error(codes), 0.3 * error(NearestCodes(weights, grid)));
  }
}

TEST(RoundByEffect, TakesInputsThatAreAlwaysZero) {
  const Layer layer(
      "graph g {\n input x: f32[2, 2]\n const w: f32[1, 2] = [0.5, -1]\n y = "
      "FullyConnected(x, w, _)\n output y\n}\n");
  InputMoments moments(layer.node(), layer.weights().shape(), 1);
  moments.Add(TensorData(DType::kF32, {2, 2}).view());
  const WeightGrid grid = GridPerChannel(layer.weights(), WeightScales::kLargest);
  EXPECT_EQ(CodesByEffect(layer.weights(), grid, moments, true).ToInts(),
            NearestCodes(layer.weights(), grid).ToInts());
}

/// How many of a net's products are rounded by their effect.
size_t ByEffect(const std::string& layers) {
  const Graph graph = ParseGraph("graph g {\n" + layers + "  output y\n}\n");
  std::vector<NodeId> products;
  for (NodeId id = 0; id < graph.node_count(); ++id) products.push_back(id);
  return LayersByEffect(graph, products).size();
}

std::string Products(int count, int64_t channels, int64_t row) {
  std::string text = fmt::format("  input x: f32[1, {}]\n", row);
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  const w{}: f32[{}, {}] = seed 1\n  {} = FullyConnected(x, w{}, _)\n", i, channels,
                        row, i + 1 == count ? "y" : fmt::format("y{}", i), i);
  }
  return text;
}

TEST(RoundByEffect, IsForLayersThatPayForIt) {
  EXPECT_EQ(ByEffect(Products(4, 512, 4608)), 4u) << "as of nets for pictures";
  EXPECT_EQ(ByEffect(Products(12, 768, 3072)), 12u) << "as of nets for text";
  EXPECT_EQ(ByEffect(Products(2, 1, 4608)), 2u) << "as the last layers of any";
  EXPECT_EQ(ByEffect(Products(50, 1, 4608)), 3u);
  EXPECT_EQ(ByEffect(Products(1, 1, 4609)), 0u);
  const auto groups = [](int64_t count, int64_t row) {
    return ByEffect(
        fmt::format("  input x: f32[1, 1, 1, {0}]\n  const w: f32[{1}, 1, 1, {2}] = seed 1\n"
                    "  y = Conv2d(x, w, _) {{groups={1}}}\n",
                    count * row, count, row));
  };
  EXPECT_EQ(groups(960, 25), 1u);
  EXPECT_EQ(groups(54, 4608), 0u);
}

}  // namespace
}  // namespace skiff::testing
