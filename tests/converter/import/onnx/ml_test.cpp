// Models of ai.onnx.ml, and what draws random numbers, against values worked out by hand.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

void SetStrings(onnx::NodeProto* node, const std::string& name, const std::vector<std::string>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute->add_strings(value);
}

/// A model of one node of ai.onnx.ml over x.
struct MlModel : OnnxModel {
  onnx::NodeProto* node;

  MlModel(const std::string& op, const std::vector<int64_t>& extents, const std::vector<std::string>& outputs,
          int type = onnx::TensorProto::FLOAT) {
    auto* import = proto.add_opset_import();
    import->set_domain("ai.onnx.ml");
    import->set_version(3);
    AddInput("x", extents, type);
    node = AddNode(op, {"x"}, outputs, "model");
    node->set_domain("ai.onnx.ml");
    for (const std::string& output : outputs) AddOutput(output);
  }

  std::map<std::string, TensorData> Run(const TensorData& x) const { return Evaluate(Import(), {{"x", x}}); }
  std::string Refusal() const {
    try {
      Import();
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

std::vector<float> Numbers(const TensorData& data) {
  const float* from = data.as<float>();
  return {from, from + data.elements()};
}

/// x0 <mode> 1 ? leaf 1 : leaf 2, of one tree.
void SetStump(onnx::NodeProto* node, const std::string& mode, bool nan_is_true = false) {
  SetInts(node, "nodes_treeids", {0, 0, 0});
  SetInts(node, "nodes_nodeids", {0, 1, 2});
  SetInts(node, "nodes_featureids", {0, 0, 0});
  SetFloats(node, "nodes_values", {1, 0, 0});
  SetStrings(node, "nodes_modes", {mode, "LEAF", "LEAF"});
  SetInts(node, "nodes_truenodeids", {1, 0, 0});
  SetInts(node, "nodes_falsenodeids", {2, 0, 0});
  if (nan_is_true) SetInts(node, "nodes_missing_value_tracks_true", {1, 0, 0});
}

void SetVotes(onnx::NodeProto* node, const std::string& what, const std::vector<int64_t>& nodes,
              const std::vector<int64_t>& targets, const std::vector<float>& weights) {
  SetInts(node, what + "_treeids", std::vector<int64_t>(nodes.size(), 0));
  SetInts(node, what + "_nodeids", nodes);
  SetInts(node, what + "_ids", targets);
  SetFloats(node, what + "_weights", weights);
}

TEST(OnnxTrees, EveryComparison) {
  struct Row {
    const char* mode;
    std::vector<float> expected;  ///< Of 0, 1, 2 and NaN.
  };
  for (const Row& row : {Row{"BRANCH_LEQ", {10, 10, 20, 20}}, Row{"BRANCH_LT", {10, 20, 20, 20}},
                         Row{"BRANCH_GTE", {20, 10, 10, 20}}, Row{"BRANCH_GT", {20, 20, 10, 20}},
                         Row{"BRANCH_EQ", {20, 10, 20, 20}}, Row{"BRANCH_NEQ", {10, 20, 10, 10}}}) {
    for (const bool nan_is_true : {false, true}) {
      MlModel model("TreeEnsembleRegressor", {4, 1}, {"y"});
      SetStump(model.node, row.mode, nan_is_true);
      SetVotes(model.node, "target", {1, 2}, {0, 0}, {10, 20});
      SetInt(model.node, "n_targets", 1);
      std::vector<float> expected = row.expected;
      if (nan_is_true) expected[3] = 10;
      EXPECT_EQ(Numbers(model.Run(Floats(Shape{4, 1}, {0, 1, 2, NAN})).at("y")), expected)
          << row.mode << nan_is_true;
    }
  }
}

TEST(OnnxTrees, TwoClassesOfOneScore) {
  const auto run = [](const std::vector<float>& weights, const std::string& transform) {
    MlModel model("TreeEnsembleClassifier", {2, 1}, {"label", "scores"});
    SetStump(model.node, "BRANCH_LEQ");
    SetVotes(model.node, "class", {1, 2}, {0, 0}, weights);
    SetInts(model.node, "classlabels_int64s", {5, 9});
    SetString(model.node, "post_transform", transform);
    return model.Run(Floats(Shape{2, 1}, {0, 2}));
  };
  auto shares = run({0.25f, 0.75f}, "NONE");
  EXPECT_THAT(shares.at("label").ToInts(), ElementsAre(5, 9));
  EXPECT_THAT(Numbers(shares.at("scores")), ElementsAre(0.75f, 0.25f, 0.25f, 0.75f));
  auto margins = run({-1, 2}, "LOGISTIC");
  EXPECT_THAT(margins.at("label").ToInts(), ElementsAre(5, 9));
  EXPECT_THAT(
      Numbers(margins.at("scores")),
      Pointwise(FloatNear(1e-6f), std::vector<float>{0.7310586f, 0.2689414f, 0.1192029f, 0.8807971f}));
}

TEST(OnnxTrees, TwoClassesHaveTwoBaseValuesAtMost) {
  for (const size_t count : {1u, 2u, 4u}) {
    MlModel model("TreeEnsembleClassifier", {2, 1}, {"label", "scores"});
    SetStump(model.node, "BRANCH_LEQ");
    SetVotes(model.node, "class", {1, 2}, {0, 0}, {1, 2});
    SetInts(model.node, "classlabels_int64s", {5, 9});
    SetFloats(model.node, "base_values", std::vector<float>(count, 1.0f));
    if (count <= 2) {
      EXPECT_NO_THROW(model.Import());
    } else {
      EXPECT_THAT(ImportError(model).what(), HasSubstr("'base_values' has 4 numbers; 2 at most"));
    }
  }
}

TEST(OnnxTrees, TextsBecomeNumbersThatTheFileNames) {
  MlModel model("TreeEnsembleClassifier", {2, 1}, {"label", "scores"});
  SetStump(model.node, "BRANCH_LEQ");
  SetVotes(model.node, "class", {1, 2, 2}, {2, 0, 1}, {1, 3, 1});
  SetStrings(model.node, "classlabels_strings", {"cat", "dog", "eel"});
  const Graph graph = model.Import();
  EXPECT_THAT(graph.outputs()[0].notes.value_labels, ElementsAre("cat", "dog", "eel"));
  EXPECT_THAT(graph.outputs()[1].notes.labels, ElementsAre("cat", "dog", "eel"));
  const auto outputs = model.Run(Floats(Shape{2, 1}, {0, 2}));
  EXPECT_THAT(outputs.at("label").ToInts(), ElementsAre(2, 0));
  EXPECT_THAT(Numbers(outputs.at("scores")), ElementsAre(0, 0, 1, 3, 1, 0));
}

/// As classifiers are written that are no node of their own.
TEST(OnnxFeatures, TextsOfAListAreMovedAndNothingElse) {
  const auto model = [](const std::string& op) {
    OnnxModel made;
    made.AddInput("i", {3}, onnx::TensorProto::INT64);
    auto* texts = made.proto.mutable_graph()->add_initializer();
    texts->set_name("classes");
    texts->set_data_type(onnx::TensorProto::STRING);
    texts->add_dims(2);
    texts->add_string_data("no");
    texts->add_string_data("yes");
    made.AddNode("Gather", {"classes", "i"}, {"chosen"});
    made.AddNode(op, {"chosen"}, {"y"});
    made.AddOutput("y");
    return made;
  };
  const Graph graph = model("Identity").Import();
  EXPECT_THAT(graph.outputs()[0].notes.value_labels, ElementsAre("no", "yes"));
  EXPECT_THAT(Evaluate(graph, {{"i", TensorData::OfInts({1, 0, 1})}}).at("y").ToInts(), ElementsAre(1, 0, 1));
  EXPECT_THROW(model("Neg").Import(), Error);
}

TEST(OnnxTrees, UnsoundTreesAreRefused) {
  const auto refusal = [](const std::vector<int64_t>& yes, const std::vector<int64_t>& no, int64_t target) {
    MlModel model("TreeEnsembleRegressor", {1, 1}, {"y"});
    SetInts(model.node, "nodes_treeids", {0, 0, 0});
    SetInts(model.node, "nodes_nodeids", {0, 1, 2});
    SetInts(model.node, "nodes_featureids", {0, 0, 0});
    SetFloats(model.node, "nodes_values", {1, 1, 0});
    SetStrings(model.node, "nodes_modes", {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"});
    SetInts(model.node, "nodes_truenodeids", yes);
    SetInts(model.node, "nodes_falsenodeids", no);
    SetVotes(model.node, "target", {2}, {target}, {1});
    return model.Refusal();
  };
  EXPECT_THAT(refusal({1, 2, 0}, {2, 1, 0}, 0), HasSubstr("reached in two ways, or from itself"));
  EXPECT_THAT(refusal({1, 0, 0}, {2, 0, 0}, 0), HasSubstr("no root"));
  EXPECT_THAT(refusal({1, 7, 0}, {2, 2, 0}, 0), HasSubstr("has no node 7"));
  EXPECT_THAT(refusal({1, 2, 0}, {2, 2, 0}, 1), HasSubstr("names 1"));
}

TEST(OnnxLinearModels, ClassifierAndRegressor) {
  MlModel classifier("LinearClassifier", {2, 2}, {"label", "scores"});
  SetFloats(classifier.node, "coefficients", {1, 0, 0, 1, -1, -1});
  SetFloats(classifier.node, "intercepts", {0, 0.5f, 0});
  SetInts(classifier.node, "classlabels_ints", {0, 1, 2});
  const auto outputs = classifier.Run(Floats(Shape{2, 2}, {3, 1, -2, -1}));
  EXPECT_THAT(outputs.at("label").ToInts(), ElementsAre(0, 2));
  EXPECT_THAT(Numbers(outputs.at("scores")), ElementsAre(3, 1.5f, -4, -2, -0.5f, 3));
  MlModel regressor("LinearRegressor", {2, 2}, {"y"});
  SetFloats(regressor.node, "coefficients", {2, 3});
  SetFloats(regressor.node, "intercepts", {-1});
  EXPECT_THAT(Numbers(regressor.Run(Floats(Shape{2, 2}, {1, 1, 0, 2})).at("y")), ElementsAre(4, 5));
}

/// Three classes with a support vector each.
TEST(OnnxLinearModels, PairsOfASupportVectorMachineVote) {
  MlModel model("SVMClassifier", {3, 1}, {"label", "scores"});
  SetString(model.node, "kernel_type", "RBF");
  SetFloats(model.node, "kernel_params", {1, 0, 3});
  SetFloats(model.node, "support_vectors", {0, 2, 4});
  SetInts(model.node, "vectors_per_class", {1, 1, 1});
  SetFloats(model.node, "coefficients", {1, -1, -1, 1, 1, -1});
  SetFloats(model.node, "rho", {0, 0, 0});
  SetInts(model.node, "classlabels_ints", {4, 5, 6});
  const auto outputs = model.Run(Floats(Shape{3, 1}, {0, 2, 4}));
  EXPECT_THAT(outputs.at("label").ToInts(), ElementsAre(4, 5, 6));
  const std::vector<float> scores = Numbers(outputs.at("scores"));
  // Of the first row: the vectors are alike by 1, e^-4, e^-16.
  EXPECT_NEAR(scores[0], 1 - std::exp(-4.0f), 1e-6f);
  EXPECT_NEAR(scores[1], 1 - std::exp(-16.0f), 1e-6f);
  EXPECT_NEAR(scores[2], std::exp(-4.0f) - std::exp(-16.0f), 1e-6f);
}

MlModel PairsOf(size_t classes, size_t vectors_of_class) {
  const size_t pairs = classes * (classes - 1) / 2;
  const size_t vectors = classes * vectors_of_class;
  MlModel model("SVMClassifier", {2, 1}, {"label", "scores"});
  SetString(model.node, "kernel_type", "LINEAR");
  SetFloats(model.node, "support_vectors", std::vector<float>(vectors, 0.5f));
  SetInts(model.node, "vectors_per_class",
          std::vector<int64_t>(classes, static_cast<int64_t>(vectors_of_class)));
  SetFloats(model.node, "coefficients", std::vector<float>(vectors * (classes - 1), 0.25f));
  for (const char* const name : {"rho", "prob_a", "prob_b"})
    SetFloats(model.node, name, std::vector<float>(pairs, -0.5f));
  std::vector<int64_t> labels(classes);
  std::iota(labels.begin(), labels.end(), 0);
  SetInts(model.node, "classlabels_ints", labels);
  return model;
}

TEST(OnnxLinearModels, ProbabilitiesOfManyClassesNeedLittleMemory) {
  const Graph graph = PairsOf(60, 1).Import();
  size_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) bytes += graph.value(id).constant->size_bytes();
  }
  EXPECT_LE(bytes, size_t{4} << 20);  // 60 vectors and 60 classes by 1,770 pairs are 0.85 MB each.
  EXPECT_THAT(PairsOf(400, 2).Refusal(), HasSubstr("at most 33554432 weights"));
}

/// What onnxruntime 1.32 makes of it.
TEST(OnnxLinearModels, ProbabilitiesOfPairs) {
  MlModel model("SVMClassifier", {2, 1}, {"label", "scores"});
  SetString(model.node, "kernel_type", "RBF");
  SetFloats(model.node, "kernel_params", {0.5f, 0, 3});
  SetFloats(model.node, "support_vectors", {0, 2, 4});
  SetInts(model.node, "vectors_per_class", {1, 1, 1});
  SetFloats(model.node, "coefficients", {1, -1, -1, 1, 1, -1});
  SetFloats(model.node, "rho", {0, 0.25f, 0});
  SetFloats(model.node, "prob_a", {-1.5f, -1, -2});
  SetFloats(model.node, "prob_b", {0.1f, 0, -0.2f});
  SetInts(model.node, "classlabels_ints", {4, 5, 6});
  const std::vector<float> scores = Numbers(model.Run(Floats(Shape{2, 1}, {0.5f, 3})).at("scores"));
  const float expected[] = {0.56106102f, 0.28405622f, 0.15488273f, 0.19995375f, 0.45641863f, 0.34362769f};
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 1e-6f) << i;
}

TEST(OnnxFeatures, NumbersInAndOut) {
  MlModel scaler("Scaler", {2, 2}, {"y"});
  SetFloats(scaler.node, "offset", {1, 2});
  SetFloats(scaler.node, "scale", {2, 0.5f});
  EXPECT_THAT(Numbers(scaler.Run(Floats(Shape{2, 2}, {1, 2, 3, 4})).at("y")), ElementsAre(0, 0, 4, 1));
  MlModel normalizer("Normalizer", {2, 2}, {"y"});
  SetString(normalizer.node, "norm", "L2");
  EXPECT_THAT(Numbers(normalizer.Run(Floats(Shape{2, 2}, {3, -4, 0, 0})).at("y")),
              ElementsAre(0.6f, -0.8f, 0, 0));
  MlModel imputer("Imputer", {2, 2}, {"y"});
  SetFloats(imputer.node, "imputed_value_floats", {7, 8});
  SetFloat(imputer.node, "replaced_value_float", NAN);
  EXPECT_THAT(Numbers(imputer.Run(Floats(Shape{2, 2}, {NAN, 2, 3, NAN})).at("y")), ElementsAre(7, 2, 3, 8));
  MlModel encoder("OneHotEncoder", {3}, {"y"}, onnx::TensorProto::INT64);
  SetInts(encoder.node, "cats_int64s", {4, 6});
  EXPECT_THAT(Numbers(encoder.Run(TensorData::OfInts({6, 4, 5})).at("y")), ElementsAre(0, 1, 1, 0, 0, 0));
}

/// Lists of nodes may be missing where there are no nodes.
TEST(OnnxTrees, AnEnsembleWithoutNodesIsNotRead) {
  MlModel model("TreeEnsemble", {2, 1}, {"y"});
  model.proto.mutable_opset_import(1)->set_version(5);
  EXPECT_NE(model.Refusal(), "");
}

/// Identifiers of 64 bits are more than a double holds.
TEST(OnnxFeatures, IntegersOf64BitsStayWhatTheyAre) {
  constexpr int64_t kFar = (int64_t{1} << 60) + 1;
  const TensorData x = TensorData::OfInts({kFar - 1, kFar, kFar + 1});
  MlModel encoder("LabelEncoder", {3}, {"y"}, onnx::TensorProto::INT64);
  SetInts(encoder.node, "keys_int64s", {kFar, kFar + 1});
  SetInts(encoder.node, "values_int64s", {kFar + 6, 3});
  SetInt(encoder.node, "default_int64", kFar + 8);
  EXPECT_THAT(encoder.Run(x).at("y").ToInts(), ElementsAre(kFar + 8, kFar + 6, 3));
  MlModel imputer("Imputer", {1, 3}, {"y"}, onnx::TensorProto::INT64);
  SetInts(imputer.node, "imputed_value_int64s", {kFar + 4});
  SetInt(imputer.node, "replaced_value_int64", kFar);
  EXPECT_THAT(imputer.Run(x.Reshaped(Shape{1, 3})).at("y").ToInts(),
              ElementsAre(kFar - 1, kFar + 4, kFar + 1));
}

TEST(OnnxFeatures, AnImputerHasOneNumberForEachFeature) {
  MlModel imputer("Imputer", {2, 1}, {"y"});
  SetFloats(imputer.node, "imputed_value_floats", {7, 8, 9});
  EXPECT_THAT(imputer.Refusal(), HasSubstr("it has 3 numbers along axis 1, where its input has one element"));
}

TEST(OnnxFeatures, LabelEncoder) {
  MlModel model("LabelEncoder", {4}, {"y"});
  SetFloats(model.node, "keys_floats", {1, NAN, 3});
  SetInts(model.node, "values_int64s", {10, 20, 30});
  EXPECT_THAT(model.Run(Floats(Shape{4}, {3, 2, NAN, 1})).at("y").ToInts(), ElementsAre(30, -1, 20, 10));
  MlModel texts("LabelEncoder", {2}, {"y"}, onnx::TensorProto::INT64);
  SetInts(texts.node, "keys_int64s", {1, 2});
  SetStrings(texts.node, "values_strings", {"one", "two"});
  EXPECT_THAT(texts.Import().outputs()[0].notes.value_labels, ElementsAre("one", "two", "_Unused"));
  EXPECT_THAT(texts.Run(TensorData::OfInts({2, 9})).at("y").ToInts(), ElementsAre(1, 2));
  MlModel refused("LabelEncoder", {2}, {"y"}, onnx::TensorProto::INT64);
  SetStrings(refused.node, "keys_strings", {"one"});
  SetInts(refused.node, "values_int64s", {1});
  EXPECT_THAT(refused.Refusal(), HasSubstr("takes texts"));
}

TEST(OnnxFeatures, ZipMapLeavesTheScores) {
  MlModel model("ZipMap", {2, 2}, {"y"});
  SetStrings(model.node, "classlabels_strings", {"no", "yes"});
  const Graph graph = model.Import();
  EXPECT_THAT(graph.left_out, ElementsAre(HasSubstr("'y' has the scores themselves")));
  EXPECT_THAT(graph.outputs()[0].notes.labels, ElementsAre("no", "yes"));
  EXPECT_THAT(Numbers(model.Run(Floats(Shape{2, 2}, {1, 2, 3, 4})).at("y")), ElementsAre(1, 2, 3, 4));
}

/// Outputs of two runs, the second from what the first left.
std::pair<std::vector<float>, std::vector<float>> TwoRuns(const OnnxModel& model,
                                                          std::map<std::string, TensorData> inputs) {
  const Graph graph = model.Import();
  std::map<std::string, TensorData> first = Evaluate(graph, inputs);
  inputs["random/run"] = first.at("random/run");
  return {Numbers(first.at("y")), Numbers(Evaluate(graph, inputs).at("y"))};
}

TEST(OnnxRandom, EachRunDrawsAnewAndASessionBeginsAgain) {
  OnnxModel model;
  SetInts(model.AddNode("RandomNormal", {}, {"y"}), "shape", {3, 2});
  model.AddOutput("y");
  const auto [first, second] = TwoRuns(model, {});
  EXPECT_EQ(first.size(), 6u);
  EXPECT_NE(first, second);
  EXPECT_EQ(TwoRuns(model, {}), std::pair(first, second));
}

TEST(OnnxRandom, NodesOfOneSeedDrawTheSame) {
  const auto same = [](bool seeded) {
    OnnxModel model;
    model.AddInput("x", {2, 3});
    for (const char* name : {"a", "b"}) {
      onnx::NodeProto* node = model.AddNode("RandomUniformLike", {"x"}, {name});
      if (seeded) SetFloat(node, "seed", 4);
      model.AddOutput(name);
    }
    const auto outputs = Evaluate(model.Import(), {{"x", Counting(Shape{2, 3})}});
    return Numbers(outputs.at("a")) == Numbers(outputs.at("b"));
  };
  EXPECT_TRUE(same(true));
  EXPECT_FALSE(same(false));
}

TEST(OnnxRandom, BernoulliAndMultinomialKeepTheirChances) {
  OnnxModel model;
  model.AddInput("p", {3, 4000});
  model.AddNode("Bernoulli", {"p"}, {"y"});
  model.AddOutput("y");
  std::vector<float> chances;
  for (const float chance : {0.0f, 0.25f, 1.0f}) chances.insert(chances.end(), 4000, chance);
  const std::vector<float> drawn =
      Numbers(Evaluate(model.Import(), {{"p", Floats(Shape{3, 4000}, chances)}}).at("y"));
  const auto mean = [&](int row) {
    return std::accumulate(drawn.begin() + row * 4000, drawn.begin() + (row + 1) * 4000, 0.0f) / 4000;
  };
  EXPECT_EQ(mean(0), 0);
  EXPECT_NEAR(mean(1), 0.25, 0.03);
  EXPECT_EQ(mean(2), 1);

  OnnxModel classes;
  classes.AddInput("x", {1, 4});
  SetInt(classes.AddNode("Multinomial", {"x"}, {"y"}), "sample_size", 8000);
  classes.AddOutput("y");
  const TensorData logarithms = Floats(Shape{1, 4}, {std::log(1.0f), -INFINITY, std::log(3.0f), -INFINITY});
  std::vector<int> counts(4, 0);
  const TensorData samples = Evaluate(classes.Import(), {{"x", logarithms}}).at("y");
  EXPECT_EQ(samples.dtype(), DType::kI32);
  for (const int64_t sample : samples.ToInts()) ++counts.at(static_cast<size_t>(sample));
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_EQ(counts[1] + counts[3], 0);
}

TEST(OnnxSmallFloats, AreReadAsF32) {
  OnnxModel model;
  model.AddInput("x", {4}, onnx::TensorProto::BFLOAT16);
  model.AddIntegers("bf16", onnx::TensorProto::BFLOAT16, {4}, {0x3F80, 0xC000, 0x7F80, 0x0001});
  model.AddNode("Add", {"x", "bf16"}, {"y"});
  model.AddOutput("y");
  const Graph graph = model.Import();
  EXPECT_THAT(graph.left_out, ElementsAre(HasSubstr("input 'x' is bfloat16")));
  const auto outputs = Evaluate(graph, {{"x", Floats(Shape{4}, {0, 0, 0, 0})}});
  EXPECT_THAT(Numbers(outputs.at("y")), ElementsAre(1, -2, INFINITY, std::ldexp(1.0f, -133)));
}

TEST(OnnxSmallFloats, WeightsOfEightBitsAreDequantised) {
  struct Row {
    int type;  ///< float8e4m3fn, -fnuz, float8e5m2, -fnuz; older headers have no names for them.
    std::vector<int32_t> bits;
    std::vector<float> numbers;
  };
  const float nan = NAN;
  for (const Row& row : {Row{17, {0x38, 0x7E, 0x01, 0xFF, 0x80}, {1, 448, 0.001953125f, nan, -0.0f}},
                         Row{18, {0x40, 0x7F, 0x01, 0x80, 0xC0}, {1, 240, 0.0009765625f, nan, -1}},
                         Row{19, {0x3C, 0x7B, 0x01, 0x7E, 0xFC}, {1, 57344, 0x1p-16f, nan, -INFINITY}},
                         Row{20, {0x40, 0x7F, 0x01, 0x80, 0xC0}, {1, 57344, 0x1p-17f, nan, -1}}}) {
    OnnxModel model(21);
    model.AddInput("x", {5});
    model.AddIntegers("w", row.type, {5}, row.bits);
    model.AddFloats("scale", {}, {2});
    model.AddNode("DequantizeLinear", {"w", "scale"}, {"real"});
    model.AddNode("Mul", {"x", "real"}, {"y"});
    model.AddOutput("y");
    const std::vector<float> got =
        Numbers(Evaluate(model.Import(), {{"x", Floats(Shape{5}, {1, 1, 1, 1, 1})}}).at("y"));
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(row.numbers[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << row.type << " " << i;
      } else {
        EXPECT_EQ(got[i], 2 * row.numbers[i]) << row.type << " " << i;
      }
    }
  }
}

TEST(OnnxMl, ALabelEncodersDefaultIsOneElement) {
  MlModel model("LabelEncoder", {3}, {"y"}, onnx::TensorProto::INT64);
  model.proto.mutable_opset_import(1)->set_version(4);
  SetInts(model.node, "keys_int64s", {1});
  SetFloats(model.node, "values_floats", {1});
  auto* attribute = model.node->add_attribute();
  attribute->set_name("default_tensor");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute->mutable_t()->add_dims(0);
  EXPECT_THAT(model.Refusal(), HasSubstr("attribute 'default_tensor' has 0 elements; one was expected"));
}

/// One node of version 5 that asks for members, and leads to one leaf.
MlModel Members(size_t members, size_t roots) {
  MlModel model("TreeEnsemble", {2, 1}, {"y"});
  model.proto.mutable_opset_import(1)->set_version(5);
  onnx::NodeProto* node = model.node;
  const auto floats = [&](const char* name, const std::vector<float>& values) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::TENSOR);
    attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    attribute->mutable_t()->add_dims(static_cast<int64_t>(values.size()));
    for (const float value : values) attribute->mutable_t()->add_float_data(value);
  };
  SetInts(node, "tree_roots", std::vector<int64_t>(roots, 0));
  SetInt(node, "n_targets", 1);
  for (const char* name : {"nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "leaf_targetids"})
    SetInts(node, name, {0});
  for (const char* name : {"nodes_trueleafs", "nodes_falseleafs"}) SetInts(node, name, {1});
  floats("nodes_modes", {6});
  floats("nodes_splits", {0});
  floats("leaf_weights", {1});
  std::vector<float> values(members);
  std::iota(values.begin(), values.end(), 0.0f);
  floats("membership_values", values);
  return model;
}

TEST(OnnxMl, TreesThatShareNodesHaveSoManyCopies) {
  EXPECT_EQ(Members(100, 3).Refusal(), "");
  EXPECT_THAT(Members(12'000, 12'000).Refusal(), HasSubstr("because they share nodes or are too many"));
}

}  // namespace
}  // namespace skiff
