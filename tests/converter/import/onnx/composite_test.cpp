// Operators that the importer writes as compositions: forms that the ONNX node tests do not reach.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/error.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

/// Straight from the definition: element k of the transform of `x`, as (real, imaginary).
std::vector<float> DefinedDft(const std::vector<float>& x, size_t length, size_t count) {
  std::vector<float> y;
  for (size_t k = 0; k < count; ++k) {
    double real = 0;
    double imaginary = 0;
    for (size_t n = 0; n < std::min(x.size(), length); ++n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * n) / static_cast<double>(length);
      real += static_cast<double>(x[n]) * std::cos(angle);
      imaginary -= static_cast<double>(x[n]) * std::sin(angle);
    }
    y.insert(y.end(), {static_cast<float>(real), static_cast<float>(imaginary)});
  }
  return y;
}

TensorData Dft(const TensorData& x, int64_t length, bool inverse, bool onesided) {
  OnnxModel model(20);
  auto* shape = model.AddInput("x", {})->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->add_dim()->set_dim_param("n");
  shape->add_dim()->set_dim_value(x.shape()[1]);
  if (length > 0) model.AddInts("length", {length});
  auto* node = model.AddNode("DFT", {"x", length > 0 ? "length" : ""}, {"y"});
  SetInt(node, "inverse", inverse ? 1 : 0);
  SetInt(node, "onesided", onesided ? 1 : 0);
  model.AddOutput("y");
  return RunModel(model, {{"x", x}});
}

TEST(OnnxSpectrum, PadsAndCropsToTheLength) {
  const std::vector<float> signal = {1, -2, 3, 5, 8};
  for (int64_t length : {3, 5, 8}) {
    const auto n = static_cast<size_t>(length);
    EXPECT_THAT(AsFloats(Dft(Floats({5, 1}, signal), length, false, false)),
                Pointwise(FloatNear(1e-5f), DefinedDft(signal, n, n)));
    EXPECT_THAT(AsFloats(Dft(Floats({5, 1}, signal), length, false, true)),
                Pointwise(FloatNear(1e-5f), DefinedDft(signal, n, n / 2 + 1)));
  }
}

TEST(OnnxSpectrum, TheInverseGivesTheSignalBack) {
  const std::vector<float> signal = {1, -2, 3, 5, 8, 0};
  const TensorData half = Dft(Floats({6, 1}, signal), 0, false, true);
  const TensorData back = Dft(half, 0, true, true);
  EXPECT_EQ(back.shape(), (Shape{6, 1}));
  EXPECT_THAT(AsFloats(back), Pointwise(FloatNear(1e-5f), signal));
  const TensorData whole = Dft(Dft(Floats({6, 1}, signal), 0, false, false), 0, true, false);
  EXPECT_EQ(whole.shape(), (Shape{6, 2}));
  for (size_t i = 0; i < signal.size(); ++i) EXPECT_NEAR(AsFloats(whole)[2 * i], signal[i], 1e-5f);
}

/// The matrix would be too large for fold-constants, measured by what it is made from.
TEST(OnnxSpectrum, KnownLengthsGiveConstantMatrices) {
  OnnxModel model(17);
  model.AddInput("x", {1, 1000, 1});
  model.AddInts("step", {160});
  model.AddInts("length", {400});
  model.AddNode("STFT", {"x", "step", "", "length"}, {"y"});
  model.AddOutput("y");
  const Graph graph = model.Import();
  const ValueId matrix = graph.FindValue("y/matrix_known");
  ASSERT_NE(matrix, kNoValue);
  ASSERT_TRUE(graph.value(matrix).constant);
  EXPECT_EQ(graph.value(matrix).constant->shape(), (Shape{400, 402}));
}

TEST(OnnxSpectrum, WindowsOfASizeGivenAtRunTime) {
  const std::vector<float> window = AsFloats([] {
    OnnxModel model(17);
    model.AddInput("n", {}, onnx::TensorProto::INT64);
    model.AddNode("HannWindow", {"n"}, {"y"});
    model.AddOutput("y");
    const int64_t size = 400;
    return RunModel(model, {{"n", TensorData(DType::kI64, Shape{}, &size)}});
  }());
  ASSERT_EQ(window.size(), 400u);
  for (size_t i = 0; i < window.size(); ++i) {
    const double expected = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / 400);
    EXPECT_NEAR(static_cast<double>(window[i]), expected, 6e-8);
  }
}

/// Attention over query [1, 1, 2, 1], key and value of two places.
OnnxModel SmallAttention(bool causal, bool with_past) {
  OnnxModel model(23);
  model.AddInput("q", {1, 1, 2, 1});
  model.AddInput("k", {1, 1, 2, 1});
  model.AddInput("v", {1, 1, 2, 1});
  model.AddInput("mask", {2, with_past ? 3 : 2}, onnx::TensorProto::BOOL);
  std::vector<std::string> inputs = {"q", "k", "v", "mask"};
  if (with_past) {
    model.AddFloats("past_k", {1, 1, 1, 1}, {0});
    model.AddFloats("past_v", {1, 1, 1, 1}, {30});
    inputs.insert(inputs.end(), {"past_k", "past_v"});
  }
  SetInt(model.AddNode("Attention", inputs, {"y"}), "is_causal", causal ? 1 : 0);
  model.AddOutput("y");
  return model;
}

TEST(OnnxAttention, QueriesThatSeeNothingGiveZero) {
  const uint8_t mask[] = {0, 0, 0, 1};
  const auto y = RunModel(SmallAttention(false, false), {{"q", Floats({1, 1, 2, 1}, {1, 1})},
                                                         {"k", Floats({1, 1, 2, 1}, {3, 4})},
                                                         {"v", Floats({1, 1, 2, 1}, {10, 20})},
                                                         {"mask", TensorData(DType::kBool, {2, 2}, mask)}});
  EXPECT_THAT(AsFloats(y), ElementsAre(0, 20));
}

TEST(OnnxAttention, CausalQueriesSeeThePast) {
  const uint8_t mask[] = {1, 1, 1, 1, 1, 1};
  const auto y = RunModel(SmallAttention(true, true), {{"q", Floats({1, 1, 2, 1}, {0, 0})},
                                                       {"k", Floats({1, 1, 2, 1}, {3, 4})},
                                                       {"v", Floats({1, 1, 2, 1}, {10, 20})},
                                                       {"mask", TensorData(DType::kBool, {2, 3}, mask)}});
  EXPECT_THAT(AsFloats(y), ElementsAre(FloatEq(20), FloatEq(20))) << "(30 + 10) / 2, (30 + 10 + 20) / 3";
}

/// Queries that weigh all keys alike: the mean of the values that they see.
OnnxModel WindowedAttention(int64_t queries, int64_t left, int64_t right, bool causal) {
  OnnxModel model(25);
  model.AddInput("q", {1, 1, queries, 1});
  model.AddInput("k", {1, 1, 4, 1});
  model.AddFloats("v", {1, 1, 4, 1}, {2, 4, 8, 16});
  auto* node = model.AddNode("Attention", {"q", "k", "v"}, {"y"});
  SetInt(node, "left_window_size", left);
  SetInt(node, "right_window_size", right);
  SetInt(node, "is_causal", causal ? 1 : 0);
  model.AddOutput("y");
  return model;
}

TEST(OnnxAttention, QueriesSeeAWindow) {
  const auto run = [](int64_t queries, int64_t left, int64_t right, bool causal) {
    return AsFloats(
        RunModel(WindowedAttention(queries, left, right, causal),
                 {{"q", TensorData(DType::kF32, {1, 1, queries, 1})}, {"k", Counting({1, 1, 4, 1})}}));
  };
  const int64_t all = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(run(4, 1, -1, true), ElementsAre(2, 3, 6, 12));
  EXPECT_THAT(run(4, 1, 1, true), ElementsAre(2, 3, 6, 12)) << "a causal query sees nothing to its right";
  EXPECT_THAT(run(4, 0, 1, false), ElementsAre(3, 6, 12, 16));
  EXPECT_THAT(run(4, -1, 0, false), ElementsAre(2, 3, FloatEq(14.0f / 3), 7.5f));
  EXPECT_THAT(run(4, all, all, false), ElementsAre(7.5f, 7.5f, 7.5f, 7.5f));
  EXPECT_THAT(run(6, 0, 0, false), ElementsAre(2, 4, 8, 16, 0, 0)) << "two see none";
  EXPECT_THAT(ImportError(WindowedAttention(4, -2, 0, false)).what(), HasSubstr("at least -1 was expected"));
}

/// One key head serves neighbouring query heads.
TEST(OnnxAttention, SharedKeyHeads) {
  OnnxModel model(23);
  model.AddInput("q", {1, 4, 1, 1});
  model.AddInput("k", {1, 2, 1, 1});
  model.AddInput("v", {1, 2, 1, 1});
  model.AddNode("Attention", {"q", "k", "v"}, {"y"});
  model.AddOutput("y");
  const auto y = RunModel(
      model,
      {{"q", Counting({1, 4, 1, 1})}, {"k", Counting({1, 2, 1, 1})}, {"v", Floats({1, 2, 1, 1}, {5, 7})}});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 1, 1}));
  EXPECT_THAT(AsFloats(y), ElementsAre(5, 5, 7, 7));
}

TEST(OnnxAttention, RefusesHeadsThatDoNotDivide) {
  OnnxModel model(23);
  model.AddInput("q", {1, 3, 1, 1});
  model.AddInput("k", {1, 2, 1, 1});
  model.AddNode("Attention", {"q", "k", "k"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(std::string(ImportError(model).what()), HasSubstr("3 heads of the query cannot share 2 heads"));
}

TEST(OnnxAttention, RefusesOtherBatchesThanTheQuerys) {
  for (const size_t other : {1u, 2u}) {
    OnnxModel model(23);
    const std::vector<std::string> names = {"q", "k", "v"};
    for (size_t i = 0; i < 3; ++i) model.AddInput(names[i], {i == other ? 3 : 1, 2, 1, 1});
    model.AddNode("Attention", names, {"y"});
    model.AddOutput("y");
    const Error error = ImportError(model);
    EXPECT_EQ(error.code(), StatusCode::kInvalidModel);
    EXPECT_THAT(error.what(),
                HasSubstr(fmt::format("input {} has a batch of 3; 1 was expected, as the query has", other)));
  }
}

/// x [4, 2, 3, 8], and caches and positions of these extents.
OnnxModel Rotated(const std::vector<int64_t>& cache, const std::vector<int64_t>& positions) {
  OnnxModel model(23);
  model.AddInput("x", {4, 2, 3, 8});
  for (const char* name : {"cosine", "sine"}) model.AddInput(name, cache);
  std::vector<std::string> inputs = {"x", "cosine", "sine"};
  if (!positions.empty()) {
    model.AddInput("at", positions, onnx::TensorProto::INT64);
    inputs.emplace_back("at");
  }
  model.AddNode("RotaryEmbedding", inputs, {"y"}, "turn");
  model.AddOutput("y");
  return model;
}

TEST(OnnxAttention, RefusesAnglesThatWouldBeBroadcast) {
  EXPECT_NO_THROW(Rotated({10, 4}, {4, 3}).Import());
  EXPECT_NO_THROW(Rotated({4, 3, 4}, {}).Import());
  const auto refusal = [](const std::vector<int64_t>& cache, const std::vector<int64_t>& positions) {
    const Error error = ImportError(Rotated(cache, positions));
    EXPECT_EQ(error.code(), StatusCode::kInvalidModel);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal({10, 1}, {4, 3}), HasSubstr("the cosines (input 1) have 1 columns; 4 were expected"));
  EXPECT_THAT(refusal({10, 4}, {1, 3}), HasSubstr("the positions (input 3) have 1 samples; 4 were expected"));
  EXPECT_THAT(refusal({10, 4}, {4, 1}), HasSubstr("the positions (input 3) have 1 steps; 3 were expected"));
  EXPECT_THAT(refusal({1, 3, 4}, {}), HasSubstr("the cosines (input 1) have 1 samples; 4 were expected"));
}

TEST(OnnxNorms, LayerNormalizationBroadcastsItsScale) {
  OnnxModel model(17);
  model.AddInput("x", {2, 2});
  model.AddFloats("scale", {1}, {2});
  model.AddFloats("bias", {2, 2}, {1, 1, 5, 5});
  SetFloat(model.AddNode("LayerNormalization", {"x", "scale", "bias"}, {"y"}), "epsilon", 0.0f);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2, 2}, {1, 3, 2, 10})}})), ElementsAre(-1, 3, 3, 7));
}

/// In half precision the squares of 300 overflow; the statistics are computed in f32.
TEST(OnnxNorms, RmsNormalizationOfLargeHalves) {
  OnnxModel model(23);
  model.AddInput("x", {1, 2}, onnx::TensorProto::FLOAT16);
  model.AddInput("scale", {2}, onnx::TensorProto::FLOAT);
  model.AddNode("RMSNormalization", {"x", "scale"}, {"y"});
  model.AddOutput("y");
  const uint16_t halves[] = {0x5CB0, 0x5CB0};  // 300
  const auto y =
      RunModel(model, {{"x", TensorData(DType::kF16, {1, 2}, halves)}, {"scale", Floats({2}, {1, 2})}});
  EXPECT_EQ(y.dtype(), DType::kF32);
  EXPECT_THAT(AsFloats(y), ElementsAre(1, 2));
}

/// Likewise their sums, of which the result is only the root or the logarithm.
TEST(OnnxNorms, NormsOfLargeHalves) {
  const uint16_t halves[] = {0x5CB0, 0x5E40};  // 300, 400
  for (const char* op : {"ReduceL2", "LpNormalization", "LRN", "GlobalLpPool", "ReduceLogSum"}) {
    OnnxModel model(13);
    model.AddInput("x", {1, 2, 1}, onnx::TensorProto::FLOAT16);
    auto* node = model.AddNode(op, {"x"}, {"y"});
    if (op == std::string("LpNormalization")) SetInt(node, "axis", 1);
    if (op == std::string("LRN")) SetInt(node, "size", 3);
    model.AddOutput("y");
    const TensorData y = RunModel(model, {{"x", TensorData(DType::kF16, {1, 2, 1}, halves)}});
    EXPECT_EQ(y.dtype(), DType::kF16) << op;
    for (const float number : AsFloats(y)) EXPECT_TRUE(number > 0 && number <= 500) << op << " " << number;
  }
}

/// Of integers they are integers, rounded towards zero: as ONNX Runtime has them.
TEST(OnnxNorms, OfIntegers) {
  const std::pair<const char*, int64_t> rows[] = {
      {"ReduceL2", 907}, {"ReduceLogSum", 6}, {"ReduceLogSumExp", 905}};
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    for (const auto& [op, expected] : rows) {
      OnnxModel model(13);
      model.AddInput("x", {1, 3}, dtype == DType::kI32 ? onnx::TensorProto::INT32 : onnx::TensorProto::INT64);
      SetInts(model.AddNode(op, {"x"}, {"y"}), "axes", {1});
      model.AddOutput("y");
      const TensorData wide = TensorData::OfInts({905, 71, 18});
      const std::vector<int32_t> narrow = {905, 71, 18};
      const void* numbers = wide.data();
      if (dtype == DType::kI32) numbers = narrow.data();
      const TensorData y = RunModel(model, {{"x", TensorData(dtype, {1, 3}, numbers)}});
      EXPECT_EQ(y.dtype(), dtype) << op;
      EXPECT_EQ(y.ToInts(), std::vector<int64_t>{expected}) << op;
    }
  }
}

TEST(OnnxDropout, TheMaskKeepsEverything) {
  for (int64_t opset : {9, 13, 22}) {
    OnnxModel model(opset);
    model.AddInput("x", {2});
    model.AddNode("Dropout", {"x"}, {"y", "mask"});
    model.AddOutput("mask");
    const TensorData mask = RunModel(model, {{"x", Floats({2}, {0, 1})}});
    EXPECT_EQ(mask.dtype(), opset < 10 ? DType::kF32 : DType::kBool);
    EXPECT_THAT(mask.ToDoubles(), Each(1.0));
  }
}

TEST(OnnxDropout, DropsNothingInTrainingWithARatioOfZero) {
  const bool yes = true;
  const std::map<std::string, TensorData> inputs = {{"x", Floats({2}, {3, 4})},
                                                    {"training", TensorData(DType::kBool, Shape{}, &yes)}};
  for (const float ratio : {0.0f, 0.5f}) {
    OnnxModel model(16);
    model.AddInput("x", {2});
    model.AddInput("training", {}, onnx::TensorProto::BOOL);
    model.AddFloats("ratio", {}, {ratio});
    model.AddNode("Dropout", {"x", "ratio", "training"}, {"y"});
    model.AddOutput("y");
    if (ratio == 0) {
      EXPECT_THAT(AsFloats(RunModel(model, inputs)), ElementsAre(3, 4));
    } else {
      EXPECT_THROW(RunModel(model, inputs), Error);
    }
  }
}

TEST(OnnxAxes, MayFollowFromTheRank) {
  OnnxModel model(18);
  auto* shape = model.AddInput("x", {2})->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->add_dim()->set_dim_param("open");
  model.AddNode("Shape", {"x"}, {"shape"});
  model.AddNode("Size", {"shape"}, {"rank"});
  model.AddInts("one", {1});
  model.AddNode("Sub", {"rank", "one"}, {"last"});
  SetInt(model.AddNode("ReduceSum", {"x", "last"}, {"y"}), "keepdims", 0);
  model.AddOutput("y");
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Counting({2, 3})}})), ElementsAre(3, 12));
}

/// Counts 5 and 7 and the pairs 5 6 and 6 5, at the places 3, 0, 1 and 4.
OnnxModel CountPairs(const char* mode, int64_t skips) {
  OnnxModel model;
  model.AddInput("x", {2, 4}, onnx::TensorProto::INT32);
  onnx::NodeProto* node = model.AddNode("TfIdfVectorizer", {"x"}, {"y"}, "count");
  SetString(node, "mode", mode);
  SetInt(node, "min_gram_length", 1);
  SetInt(node, "max_gram_length", 2);
  SetInt(node, "max_skip_count", skips);
  SetInts(node, "pool_int64s", {5, 7, 5, 6, 6, 5});
  SetInts(node, "ngram_counts", {0, 2});
  SetInts(node, "ngram_indexes", {3, 0, 1, 4});
  model.AddOutput("y");
  return model;
}

TEST(OnnxComposite, TfIdfCountsNumbers) {
  const std::map<std::string, TensorData> inputs = {
      {"x", Integers<int32_t>(DType::kI32, {2, 4}, {5, 6, 5, 5, 7, 5, 7, 6})}};
  const auto run = [&](OnnxModel model, const std::vector<float>& weights) {
    if (!weights.empty()) SetFloats(model.proto.mutable_graph()->mutable_node(0), "weights", weights);
    return AsFloats(RunModel(model, inputs));
  };
  EXPECT_THAT(run(CountPairs("TF", 0), {}), ElementsAre(0, 1, 0, 3, 1, 2, 0, 0, 1, 0));
  EXPECT_THAT(run(CountPairs("TF", 1), {}), ElementsAre(0, 1, 0, 3, 2, 2, 1, 0, 1, 0))
      << "a number alone counts once, however many are left out";
  EXPECT_THAT(run(CountPairs("IDF", 1), {}), ElementsAre(0, 1, 0, 1, 1, 1, 1, 0, 1, 0));
  EXPECT_THAT(run(CountPairs("IDF", 1), {2, 3, 4, 5}), ElementsAre(0, 4, 0, 2, 5, 3, 4, 0, 2, 0));
  EXPECT_THAT(run(CountPairs("TFIDF", 1), {2, 3, 4, 5}), ElementsAre(0, 4, 0, 6, 10, 6, 4, 0, 2, 0));
}

TEST(OnnxComposite, TfIdfOfPoolsThatContradictThemselves) {
  const auto message = [](const char* attribute, const std::vector<int64_t>& values) {
    OnnxModel model = CountPairs("TF", 0);
    for (auto& one : *model.proto.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (one.name() != attribute) continue;
      one.clear_ints();
      for (const int64_t value : values) one.add_ints(value);
    }
    const Error error = ImportError(model);
    EXPECT_THAT(error.what(), HasSubstr("'count'"));
    return std::string(error.what());
  };
  EXPECT_THAT(message("ngram_counts", {0, 3}), HasSubstr("the 2-grams the elements 3 to 6 of a pool of 6"));
  EXPECT_THAT(message("ngram_counts", {0, -2}), HasSubstr("'ngram_counts'"));
  EXPECT_THAT(message("ngram_indexes", {0, 1, 2}), HasSubstr("has 3 numbers, the pool 4 n-grams"));
  EXPECT_THAT(message("ngram_indexes", {0, 1, 2, INT64_MAX}), HasSubstr("outside of 0 to"));
  EXPECT_THAT(message("ngram_indexes", {0, 1, 2, 2}), HasSubstr("two n-grams at one place"));
  OnnxModel words = CountPairs("TF", 0);
  words.proto.mutable_graph()->mutable_node(0)->mutable_attribute(4)->set_name("pool_strings");
  EXPECT_THAT(ImportError(words).what(), HasSubstr("no texts on a device"));
}

}  // namespace
}  // namespace skiff
