#include "parity/parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/parity_report.h"
#include "convert.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "run/random_inputs.h"

namespace skiff::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A convolution (NCHW as in a source file), an activation and a matrix product; `seed` draws the product's
/// weights.
Graph SmallNet(int seed) {
  return ParseGraph(fmt::format(R"(graph g {{
    input image: f32[1, 3, 6, 6]
    const w: f32[4, 3, 3, 3] = seed 1
    const v: f32[16, 5] = seed {}
    nhwc = Transpose(image) {{perm=[0, 2, 3, 1]}}
    ohwi = Transpose(w) {{perm=[0, 2, 3, 1]}}
    conv_nhwc = Conv2d(nhwc, ohwi, _) {{strides=[2, 2]}}
    conv = Transpose(conv_nhwc) {{perm=[0, 3, 1, 2]}}
    positive = Abs(conv)
    const shape: i64[2] = [1, 16]
    flat = Reshape(positive, shape)
    scores = MatMul(flat, v)
    output scores = scores
  }})",
                                seed));
}

ParityReport CheckOnce(const Graph& source, OpenedModel& opened, const ParityOptions& options,
                       const NamedTensors& expected = {}) {
  return ParityChecker(source, opened.model(), options).Check(RandomInputs(opened.model(), 1), expected);
}

ParityReport Check(const Graph& source, const Graph& converted, bool layers) {
  OpenedModel opened(ConvertGraph(converted)->file);
  ParityOptions options;
  options.layers = layers;
  options.threads = 1;
  return CheckOnce(source, opened, options);
}

/// Quantised inputs get every integer of their type, outputs are compared by what they stand for, and
/// integers without a word about them are those of the output.
TEST(Parity, QuantisedInputsAndOutputsAgree) {
  const Graph source = ParseGraph(R"(graph g {
    input x: i8[2000] {scale=0.5, zero_point=-3}
    input y: u8[2000] {scale=0.25, zero_point=100}
    sum: i16[2000] {scale=0.125} = Add(x, y)
    output sum
  })");
  OpenedModel opened(ConvertGraph(source)->file);
  const NamedTensors inputs = RandomInputs(opened.model(), 1);
  const ParityOptions options;
  const ParityReport report = ParityChecker(source, opened.model(), options).Check(inputs, {});
  EXPECT_TRUE(report.ok()) << ParityText(report);
  EXPECT_THAT(ParityText(report), HasSubstr("i16"));
  EXPECT_TRUE(InputsWithoutRule(opened.model(), {}).empty());
  const auto range_of = [&](const char* name) {
    const std::vector<int64_t> codes = inputs.at(name).ToInts();
    const auto [low, high] = std::minmax_element(codes.begin(), codes.end());
    return std::pair(*low, *high);
  };
  EXPECT_EQ(range_of("x"), std::pair(int64_t{-128}, int64_t{127}));
  EXPECT_EQ(range_of("y"), std::pair(int64_t{0}, int64_t{255}));
}

TEST(Parity, AConvertedNetAgreesLayerByLayer) {
  const ParityReport report = Check(SmallNet(2), SmallNet(2), true);
  EXPECT_TRUE(report.ok()) << ParityText(report);
  ASSERT_EQ(report.backends.size(), 2u);
  for (const BackendParity& backend : report.backends) {
    EXPECT_GE(backend.layers.size(), 2u);
    EXPECT_EQ(backend.FirstBadLayer(), nullptr);
  }
  EXPECT_THAT(Verdict(report), StartsWith("PARITY OK: 2 output comparisons"));
}

TEST(Parity, LayersAreComparedInTheSourcesOrderOfAxes) {
  const ParityReport report = Check(SmallNet(2), SmallNet(2), true);
  bool found = false;
  for (const TensorParity& layer : report.backends[0].layers) {
    if (layer.name != "positive") continue;
    EXPECT_EQ(layer.shape, (Shape{1, 4, 2, 2}));
    EXPECT_TRUE(layer.comparison.problem.empty());
    found = true;
  }
  EXPECT_TRUE(found) << ParityText(report);
}

TEST(Parity, OtherWeightsFailAndTheFirstLayerIsNamed) {
  const ParityReport report = Check(SmallNet(2), SmallNet(3), true);
  EXPECT_FALSE(report.ok());
  ASSERT_NE(report.backends[0].FirstBadLayer(), nullptr);
  EXPECT_EQ(report.backends[0].FirstBadLayer()->name, "scores");
  EXPECT_THAT(Verdict(report),
              StartsWith("PARITY FAILED: output 'scores' of xnnpack differs from eager: 5 of 5 elements"));
  EXPECT_THAT(Verdict(report), HasSubstr("the first layer that differs is 'scores'"));
}

TEST(Parity, AGenerousToleranceIsRespected) {
  OpenedModel opened(ConvertGraph(SmallNet(3))->file);
  ParityOptions options;
  options.backends = {Backend::kReference};
  options.tolerance = Tolerance{.atol = 1e6};
  EXPECT_TRUE(CheckOnce(SmallNet(2), opened, options).ok());
  options.tolerance = Tolerance{};
  EXPECT_FALSE(CheckOnce(SmallNet(2), opened, options).ok());
}

TEST(Parity, ExpectedOutputsAreComparedWithEagerAndEveryBackend) {
  OpenedModel opened(ConvertGraph(SmallNet(2))->file);
  const ParityReport report =
      CheckOnce(SmallNet(2), opened, {}, {{"scores", TensorData(DType::kF32, {1, 5})}});
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.eager_expected.size(), 1u);
  EXPECT_FALSE(report.eager_expected[0].comparison.ok);
  for (const BackendParity& backend : report.backends) {
    EXPECT_TRUE(backend.outputs[0].comparison.ok);
    EXPECT_FALSE(backend.expected[0].comparison.ok);
  }
  EXPECT_FALSE(ParityJson(report)["ok"].get<bool>());
}

/// 1e-4 of the largest element, where rounding costs nothing of the kind, and where it does.
TEST(Parity, ADifferenceIsJudgedByWhatRoundingCosts) {
  const Graph sum = ParseGraph("graph g { input x: f32[2]  y = Add(x, x)  output y = y }");
  const Graph cancels = ParseGraph(R"(graph g {
    input x: f32[2]
    const large: f32[] = [1000]
    const third: f32[] = [0.333]
    far = Add(x, large)
    scaled = Mul(far, third)
    const back: f32[] = [333]
    y = Sub(scaled, back)
    output y = y
  })");
  const auto judged = [](const Graph& graph) {
    OpenedModel opened(ConvertGraph(graph)->file);
    const NamedTensors inputs = RandomInputs(opened.model(), 1);
    NamedTensors expected = Evaluate(graph, inputs);
    TensorData& y = expected.at("y");
    const double off = 1e-4 * std::max(std::abs(y.ToDoubles()[0]), std::abs(y.ToDoubles()[1]));
    const float values[] = {static_cast<float>(y.ToDoubles()[0] + off), static_cast<float>(y.ToDoubles()[1])};
    y = TensorData(DType::kF32, y.shape(), values);
    return ParityChecker(graph, opened.model(), {}).Check(inputs, expected);
  };
  EXPECT_TRUE(judged(cancels).ok()) << ParityText(judged(cancels));
  const ParityReport report = judged(sum);
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.eager_expected[0].measured);
  EXPECT_THAT(ParityText(report), HasSubstr("beyond what rounding costs it"));
}

/// Rounding moves no integer of a net that has no real ones: 2^40 is not 2^40 + 1.
TEST(Parity, IntegersAreEqualOrNot) {
  const Graph graph = ParseGraph("graph g { input x: i64[2]  y = Add(x, x)  output y = y }");
  OpenedModel opened(ConvertGraph(graph)->file);
  const std::vector<int64_t> large = {int64_t{1} << 40, 5};
  const NamedTensors inputs = {{"x", TensorData::OfInts(large)}};
  for (const int64_t off : {0, 1}) {
    const NamedTensors expected = {{"y", TensorData::OfInts({2 * large[0] + off, 10})}};
    EXPECT_EQ(ParityChecker(graph, opened.model(), {}).Check(inputs, expected).ok(), off == 0);
  }
}

/// So are those of quantised nets, which may differ.
TEST(Parity, AToleranceOfTheCallersOwnIsTakenForCodes) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: f32[2]
    codes: i8[2] {scale=0.01} = Quantize(x)
    y: i8[2] = ToCodes(codes) {to=i8}
    output y = y
  })");
  OpenedModel opened(ConvertGraph(graph)->file);
  const float numbers[] = {1, -0.5f};
  const NamedTensors inputs = {{"x", TensorData(DType::kF32, {2}, numbers)}};
  const int8_t off[] = {96, -50};
  const NamedTensors expected = {{"y", TensorData(DType::kI8, {2}, off)}};
  ParityOptions options;
  EXPECT_TRUE(ParityChecker(graph, opened.model(), options).Check(inputs, expected).ok());
  options.tolerance = Tolerance{.of_largest = 1e-3};
  EXPECT_FALSE(ParityChecker(graph, opened.model(), options).Check(inputs, expected).ok());
}

TEST(Parity, AToleranceOfTheCallersOwnIsTaken) {
  const Graph graph = ParseGraph("graph g { input x: f32[2]  y = Add(x, x)  output y = y }");
  OpenedModel opened(ConvertGraph(graph)->file);
  const float values[] = {100, 100};
  ParityOptions options;
  options.tolerance = Tolerance{.rtol = 1e-3};
  const ParityReport report =
      CheckOnce(graph, opened, options, {{"y", TensorData(DType::kF32, {2}, values)}});
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report.eager_expected[0].measured);
}

TEST(Parity, ASourceOfOtherInputsIsRefused) {
  const OpenedModel opened(ConvertGraph(SmallNet(2))->file);
  Graph other = ParseGraph("graph g { input x: f32[2]  y = Abs(x)  output y = y }");
  try {
    FixToModel(other, opened.signature());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the model was not made from this source: its inputs are 'image', the source's are 'x'");
  }
}

TEST(Parity, AStrippedModelHasNoLayers) {
  ConvertOptions options;
  options.strip = true;
  OpenedModel opened(ConvertGraph(SmallNet(2), options)->file);
  ParityOptions parity;
  EXPECT_TRUE(CheckOnce(SmallNet(2), opened, parity).ok());
  parity.layers = true;
  EXPECT_THROW(CheckOnce(SmallNet(2), opened, parity), Error);
}

}  // namespace
}  // namespace skiff::cli
