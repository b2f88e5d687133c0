// Operators of ONNX Runtime's domain, against the formulas of its documentation.
#include <gmock/gmock.h>

#include <limits>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int kU8 = onnx::TensorProto::UINT8;

/// A model of one node of com.microsoft, whose output is "y".
struct MicrosoftModel : OnnxModel {
  MicrosoftModel() { ImportMicrosoft(); }

  onnx::NodeProto* AddMicrosoft(const std::string& op, const std::vector<std::string>& inputs) {
    auto* node = AddNode(op, inputs, {"y"});
    node->set_domain("com.microsoft");
    AddOutput("y");
    return node;
  }
  /// A scale NAME_s and a zero point NAME_z.
  void AddScale(const std::string& name, float scale, int32_t zero, int type = kU8) {
    AddFloats(name + "_s", {}, {scale});
    AddIntegers(name + "_z", type, {}, {zero});
  }
};

TensorData Codes(const Shape& shape, const std::vector<uint8_t>& codes) {
  return Integers<uint8_t>(DType::kU8, shape, codes);
}

TensorData OfTwo(const std::string& op, const std::vector<uint8_t>& a, uint8_t second) {
  MicrosoftModel model;
  model.AddInput("a", {2}, kU8);
  model.AddInput("b", {1}, kU8);
  model.AddScale("a", 0.5f, 10);
  model.AddScale("b", 1, 3);
  model.AddScale("c", 0.5f, 100);
  model.AddMicrosoft(op, {"a", "a_s", "a_z", "b", "b_s", "b_z", "c_s", "c_z"});
  return RunModel(model, {{"a", Codes({2}, a)}, {"b", Codes({1}, {second})}});
}

TEST(OnnxMicrosoft, ElementwiseOperatorsOfIntegers) {
  EXPECT_THAT(OfTwo("QLinearAdd", {13, 0}, 6).ToInts(), ElementsAre(109, 96));  // 1.5 and -5, plus 3.
  EXPECT_THAT(OfTwo("QLinearMul", {13, 4}, 5).ToInts(), ElementsAre(106, 88));  // 1.5 and -3, times 2.
}

TEST(OnnxMicrosoft, ASoftmaxOfAnOpsetThatIsNoneIsRefused) {
  for (const int64_t opset : {int64_t{-3}, int64_t{5}, int64_t{26}, std::numeric_limits<int64_t>::max()}) {
    MicrosoftModel model;
    model.AddInput("x", {1, 2}, kU8);
    model.AddScale("x", 1, 10);
    SetInt(model.AddMicrosoft("QLinearSoftmax", {"x", "x_s", "x_z", "x_s", "x_z"}), "opset", opset);
    EXPECT_THAT(ImportError(model).what(), HasSubstr("6 to 25 was expected"));
  }
}

TEST(OnnxMicrosoft, PoolsMayHaveChannelsLast) {
  MicrosoftModel model;
  model.AddInput("x", {1, 2, 1, 2}, kU8);
  model.AddScale("x", 1, 10);
  model.AddScale("y", 0.5f, 0);
  SetInt(model.AddMicrosoft("QLinearGlobalAveragePool", {"x", "x_s", "x_z", "y_s", "y_z"}), "channels_last",
         1);
  const TensorData y = RunModel(model, {{"x", Codes({1, 2, 1, 2}, {11, 20, 12, 31})}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 2}));
  EXPECT_THAT(y.ToInts(), ElementsAre(3, 31));
}

TEST(OnnxMicrosoft, PartsOfAConcatHaveScalesOfTheirOwn) {
  MicrosoftModel model;
  model.AddInput("a", {1}, kU8);
  model.AddInput("b", {1}, kU8);
  model.AddScale("a", 0.5f, 10);
  model.AddScale("b", 2, 0);
  model.AddScale("c", 1, 5);
  SetInt(model.AddMicrosoft("QLinearConcat", {"c_s", "c_z", "a", "a_s", "a_z", "b", "b_s", "b_z"}), "axis",
         0);
  EXPECT_THAT(RunModel(model, {{"a", Codes({1}, {14})}, {"b", Codes({1}, {4})}}).ToInts(),
              ElementsAre(7, 13));
}

TEST(OnnxMicrosoft, MeansKeepTheirAxis) {
  MicrosoftModel model;
  model.AddInput("x", {2, 2}, kU8);
  model.AddScale("x", 1, 0);
  model.AddScale("y", 0.5f, 1);
  auto* node = model.AddMicrosoft("QLinearReduceMean", {"x", "x_s", "x_z", "y_s", "y_z"});
  SetInts(node, "axes", {1});
  SetInt(node, "keepdims", 0);
  EXPECT_THAT(RunModel(model, {{"x", Codes({2, 2}, {1, 2, 10, 20})}}).ToInts(), ElementsAre(4, 31));
}

/// [1, 2, 3] times [2, 3] in blocks of 2 along K: codes 1 2 | 3 - and 15 0 | 8 -.
MicrosoftModel BlocksOfFourBits(const std::vector<float>& scales, bool zeros) {
  MicrosoftModel model;
  model.AddInput("a", {1, 3});
  model.AddIntegers("b", kU8, {2, 2, 1}, {0x21, 0x03, 0x0F, 0x08});
  model.AddFloats("s", {4}, scales);
  std::vector<std::string> inputs = {"a", "b", "s"};
  if (zeros) inputs.emplace_back("z");
  auto* node = model.AddMicrosoft("MatMulNBits", inputs);
  for (const auto& [name, value] : {std::pair{"K", 3}, {"N", 2}, {"bits", 4}, {"block_size", 2}})
    SetInt(node, name, value);
  return model;
}

std::vector<float> TimesBlocks(const MicrosoftModel& model) {
  return AsFloats(RunModel(model, {{"a", Floats({1, 3}, {1, 2, 3})}}));
}

TEST(OnnxMicrosoft, WeightsOfFourBitsInBlocks) {
  EXPECT_THAT(TimesBlocks(BlocksOfFourBits({1, 10, 0.5f, 2}, false)),  // 8.
              ElementsAre(-7 - 12 - 150, 3.5f - 8 + 0));
  MicrosoftModel model = BlocksOfFourBits({1, 10, 0.5f, 2}, true);
  model.AddIntegers("z", kU8, {2, 1}, {0x21, 0x43});  // 1 and 2, 3 and 4.
  EXPECT_THAT(TimesBlocks(model), ElementsAre(0 + 2 + 30, 6 - 3 + 24));
}

/// 8 by 2 times [2, 2] in one block each: codes 9 6 | 12 8 around 8, with scales of 1 and 2.
TEST(OnnxMicrosoft, IntegersMayBeAccurateEnough) {
  const auto product = [](int64_t level, int64_t block) {
    MicrosoftModel model;
    model.AddInput("a", {2, 2});
    model.AddIntegers("b", kU8, {2, 1, block / 2}, {0x69, 0x8C});
    model.AddFloats("s", {2}, {1, 2});
    auto* node = model.AddMicrosoft("MatMulNBits", {"a", "b", "s"});
    for (const auto& [name, value] : {std::pair<const char*, int64_t>{"K", 2},
                                      {"N", 2},
                                      {"bits", 4},
                                      {"block_size", block},
                                      {"accuracy_level", level}})
      SetInt(node, name, value);
    return AsFloats(RunModel(model, {{"a", Floats({2, 2}, {127, 0.75f, 254, 1.25f})}}));
  };
  EXPECT_THAT(product(0, 2), ElementsAre(127 - 1.5f, 8 * 127, 254 - 2.5f, 8 * 254));
  EXPECT_THAT(product(4, 2), ElementsAre(127 - 2, 8 * 127, 254 - 4, 8 * 254));
}

TEST(OnnxMicrosoft, WeightsInBlocksMayHaveAnyScaleThatIsANumber) {
  EXPECT_THAT(TimesBlocks(BlocksOfFourBits({1, -10, 0, -2}, false)), ElementsAre(-7 - 12 + 150, 0));
  MicrosoftModel model = BlocksOfFourBits({1, -10, 0, -2}, true);
  model.AddIntegers("z", kU8, {2, 1}, {0x21, 0x43});
  EXPECT_THAT(TimesBlocks(model), ElementsAre(0 + 2 - 30, 0 - 24));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(ImportError(BlocksOfFourBits({1, -10, nan, 2}, false)).what(),
              HasSubstr("a scale is not a positive number"));
}

TEST(OnnxMicrosoft, ZeroPointsOfWeightsInBlocksMayBeFloats) {
  MicrosoftModel model = BlocksOfFourBits({1, 10, 0.5f, 2}, true);
  model.AddFloats("z", {4}, {1.5f, 2, 3, 4});
  EXPECT_THAT(TimesBlocks(model), ElementsAre(-0.5f + 1 + 30, 6 - 3 + 24));
  MicrosoftModel few = BlocksOfFourBits({1, 10, 0.5f, 2}, true);
  few.AddFloats("z", {3}, {1.5f, 2, 3});
  EXPECT_THAT(ImportError(few).what(), HasSubstr("there are 3 zero points; 4 were expected"));
}

/// An LSTM of two directions with 1 input, 1 state and the weights 1 -2 3 -4 and 2 4 6 8, from codes or as
/// floats.
std::vector<float> TwoDirections(bool codes, bool of_columns) {
  MicrosoftModel model;
  model.AddInput("x", {2, 1, 1});
  std::vector<std::string> inputs = {"x", "w", "r", "", "", "", "", ""};
  if (codes) {
    for (const std::string name : {"w", "r"}) {
      model.AddIntegers(name, kU8, {2, 1, 4},
                        of_columns ? std::vector<int32_t>{11, 9, 13, 8, 1, 2, 3, 4}
                                   : std::vector<int32_t>{11, 8, 13, 6, 1, 2, 3, 4});
      if (of_columns) {
        model.AddFloats(name + "_s", {2, 4}, {1, 2, 1, 2, 2, 2, 2, 2});
        model.AddIntegers(name + "_z", kU8, {2, 4}, {10, 10, 10, 10, 0, 0, 0, 0});
      } else {
        model.AddFloats(name + "_s", {2}, {1, 2});
        model.AddIntegers(name + "_z", kU8, {2}, {10, 0});
      }
    }
    for (const char* name : {"w_s", "w_z", "r_s", "r_z"}) inputs.emplace_back(name);
  } else {
    for (const char* name : {"w", "r"}) model.AddFloats(name, {2, 4, 1}, {1, -2, 3, -4, 2, 4, 6, 8});
  }
  auto* node =
      codes ? model.AddMicrosoft("DynamicQuantizeLSTM", inputs) : model.AddNode("LSTM", inputs, {"y"});
  if (!codes) model.AddOutput("y");
  SetInt(node, "hidden_size", 1);
  SetString(node, "direction", "bidirectional");
  return AsFloats(RunModel(model, {{"x", Floats({2, 1, 1}, {0.25f, -0.5f})}}));
}

TEST(OnnxMicrosoft, LstmsOfIntegersComputeOnWhatTheyStandFor) {
  const std::vector<float> expected = TwoDirections(false, false);
  EXPECT_EQ(expected.size(), 4u);
  EXPECT_EQ(TwoDirections(true, false), expected);
  EXPECT_EQ(TwoDirections(true, true), expected);
}

/// Rows 1 and 0 of [2, 3] in blocks of 2: codes 1 2 | 3 and -1 7 | -8.
TEST(OnnxMicrosoft, RowsOfFourBitsInBlocks) {
  MicrosoftModel model;
  model.AddInput("at", {2}, onnx::TensorProto::INT64);
  model.AddIntegers("w", 22, {2, 3}, {0x21, 0xF3, 0x87});
  model.AddFloats("s", {2, 2}, {1, 10, 100, -1000});
  SetInt(model.AddMicrosoft("GatherBlockQuantized", {"w", "at", "s"}), "block_size", 2);
  EXPECT_THAT(AsFloats(RunModel(model, {{"at", Integers<int64_t>(DType::kI64, {2}, {-1, 0})}})),
              ElementsAre(-100, 700, 8000, 1, 2, 30));
}

/// [1, -3] in steps of 4 / 255 around 191 is as it was; codes 5 3 | 2 4 less 3, times 0.5.
TEST(OnnxMicrosoft, ProductsOfCodesThatAreChosenAtRunTime) {
  MicrosoftModel model;
  model.AddInput("a", {1, 2});
  model.AddIntegers("b", kU8, {2, 2}, {5, 3, 2, 4});
  model.AddScale("b", 0.5f, 3);
  model.AddFloats("bias", {2}, {10, 20});
  model.AddMicrosoft("DynamicQuantizeMatMul", {"a", "b", "b_s", "b_z", "bias"});
  const std::vector<float> y = AsFloats(RunModel(model, {{"a", Floats({1, 2}, {1, -3})}}));
  EXPECT_THAT(y, Pointwise(FloatNear(0.02f), {10 + 1 + 1.5f, 20 + 0 - 1.5f}));
}

/// C in units of 0.5 and 1 of a's 0.5 times b's scales of 1 and 2, which may be the same in all columns.
TEST(OnnxMicrosoft, AGemmOfScalesPerColumnBroadcastsItsC) {
  const auto run = [](const std::vector<int64_t>& extents, const std::vector<int32_t>& c) {
    MicrosoftModel model;
    model.AddInput("a", {2, 1}, kU8);
    model.AddScale("a", 0.5f, 0);
    model.AddIntegers("b", kU8, {1, 2}, {1, 2});
    model.AddFloats("b_s", {2}, {1, 2});
    model.AddIntegers("b_z", kU8, {2}, {0, 0});
    model.AddIntegers("c", onnx::TensorProto::INT32, extents, c);
    model.AddMicrosoft("QGemm", {"a", "a_s", "a_z", "b", "b_s", "b_z", "c"});
    return AsFloats(RunModel(model, {{"a", Codes({2, 1}, {2, 4})}}));
  };
  EXPECT_THAT(run({}, {10}), ElementsAre(1 + 5, 4 + 10, 2 + 5, 8 + 10));
  EXPECT_THAT(run({1}, {10}), ElementsAre(1 + 5, 4 + 10, 2 + 5, 8 + 10));
  EXPECT_THAT(run({2, 1}, {10, 20}), ElementsAre(1 + 5, 4 + 10, 2 + 10, 8 + 20));
  EXPECT_THAT(run({2}, {10, 20}), ElementsAre(1 + 5, 4 + 20, 2 + 5, 8 + 20));
}

TEST(OnnxMicrosoft, AFusedConvAddsAndActivates) {
  MicrosoftModel model;
  model.AddInput("x", {1, 1, 1, 3});
  model.AddInput("z", {1, 1, 1, 3});
  model.AddFloats("w", {1, 1, 1, 1}, {2});
  auto* node = model.AddMicrosoft("FusedConv", {"x", "w", "", "z"});
  SetString(node, "activation", "Clip");
  SetFloats(node, "activation_params", {-1, 4});
  const TensorData x = Floats({1, 1, 1, 3}, {1, 2, -3});
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", x}, {"z", Floats({1, 1, 1, 3}, {1, 1, 1})}})),
              ElementsAre(3, 4, -1));
}

TEST(OnnxMicrosoft, AnUnknownActivationIsNamed) {
  MicrosoftModel model;
  model.AddInput("x", {1, 1, 1, 3});
  model.AddFloats("w", {1, 1, 1, 1}, {2});
  SetString(model.AddMicrosoft("FusedConv", {"x", "w"}), "activation", "Wave");
  EXPECT_THAT(ImportError(model).what(),
              HasSubstr("FusedConv of com.microsoft opset 1 has the activation Wave"));
}

TEST(OnnxMicrosoft, SkipsAreAddedBeforeTheNorm) {
  MicrosoftModel model;
  model.AddInput("x", {1, 1, 2});
  model.AddInput("skip", {1, 1, 2});
  model.AddFloats("gamma", {2}, {2, 3});
  model.AddFloats("beta", {2}, {1, 0});
  model.AddMicrosoft("SkipLayerNormalization", {"x", "skip", "gamma", "beta"});
  EXPECT_THAT(
      AsFloats(RunModel(model, {{"x", Floats({1, 1, 2}, {1, 2})}, {"skip", Floats({1, 1, 2}, {1, 4})}})),
      Pointwise(FloatNear(1e-5f), {-1.0f, 3.0f}));
}

TEST(OnnxMicrosoft, AttentionSeesTheKeysOfItsMask) {
  for (const std::vector<int64_t>& extents : {std::vector<int64_t>{1, 2}, std::vector<int64_t>{1}}) {
    MicrosoftModel model;
    model.AddInput("x", {1, 2, 1});
    model.AddFloats("w", {1, 3}, {1, 1, 1});
    model.AddIntegers("mask", onnx::TensorProto::INT32, extents,
                      extents.size() == 2 ? std::vector{1, 0} : std::vector{1});
    SetInt(model.AddMicrosoft("Attention", {"x", "w", "", "mask"}), "num_heads", 1);
    EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1, 2, 1}, {5, 7})}})), ElementsAre(5, 5));
  }
}

/// Two numbers for each batch say where its keys begin and end, which is another kind of mask.
TEST(OnnxMicrosoft, AttentionCountsTheKeysOfItsOwnBatch) {
  MicrosoftModel model;
  model.AddInput("x", {0, 2, 1});
  model.AddInput("mask", {0}, onnx::TensorProto::INT32);
  for (int i = 0; i < 2; ++i) {
    auto* type = model.proto.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(0)->set_dim_param(i == 0 ? "batch" : "counts");
  }
  model.AddFloats("w", {1, 3}, {1, 1, 1});
  SetInt(model.AddMicrosoft("Attention", {"x", "w", "", "mask"}), "num_heads", 1);
  const auto run = [&](const std::vector<int32_t>& counts) {
    const Shape shape{static_cast<int64_t>(counts.size())};
    return AsFloats(RunModel(
        model, {{"x", Floats({1, 2, 1}, {5, 7})}, {"mask", Integers<int32_t>(DType::kI32, shape, counts)}}));
  };
  EXPECT_THAT(run({1}), ElementsAre(5, 5));
  EXPECT_THROW(run({1, 0}), Error);
}

TEST(OnnxMicrosoft, SizesOfProjectionsAreInRange) {
  MicrosoftModel model;
  model.AddInput("x", {1, 2, 1});
  model.AddFloats("w", {1, 3}, {1, 1, 1});
  onnx::NodeProto* node = model.AddMicrosoft("Attention", {"x", "w"});
  SetInt(node, "num_heads", 1);
  SetInts(node, "qkv_hidden_sizes", {INT64_MAX, INT64_MAX, 1});
  const Error error = ImportError(model);
  EXPECT_EQ(error.code(), StatusCode::kInvalidModel);
  EXPECT_NE(std::string(error.what()).find("'qkv_hidden_sizes' holds 9223372036854775807"), std::string::npos)
      << error.what();
}

TEST(OnnxMicrosoft, SizesOfProjectionsAreTheWeights) {
  for (const int64_t last : {16, 15, 17}) {
    MicrosoftModel model;
    model.AddInput("x", {2, 3, 8});
    model.AddInput("w", {8, 24});
    onnx::NodeProto* node = model.AddMicrosoft("Attention", {"x", "w"});
    SetInt(node, "num_heads", 2);
    SetInts(node, "qkv_hidden_sizes", {4, 4, last});
    if (last == 16) {
      EXPECT_NO_THROW(model.Import());
      continue;
    }
    EXPECT_THAT(
        ImportError(model).what(),
        testing::HasSubstr(fmt::format("'qkv_hidden_sizes' is {}; the weights have 24 columns", last + 8)));
  }
}

/// One position is the first of every sample; a list is of each sample.
TEST(OnnxMicrosoft, PositionsAreOfEachSample) {
  const auto model = [](const std::vector<int64_t>& positions) {
    MicrosoftModel made;
    made.AddInput("x", {4, 2, 3, 8});
    made.AddInput("at", positions, onnx::TensorProto::INT64);
    for (const char* name : {"cosine", "sine"}) made.AddInput(name, {10, 4});
    made.AddMicrosoft("RotaryEmbedding", {"x", "at", "cosine", "sine"});
    return made;
  };
  EXPECT_NO_THROW(model({1}).Import());
  EXPECT_NO_THROW(model({4, 3}).Import());
  EXPECT_THAT(ImportError(model({1, 3})).what(),
              testing::HasSubstr("the positions (input 1) have 1 samples; 4 were expected"));
}

TEST(OnnxMicrosoft, AFunctionOfTheModelComesFirst) {
  MicrosoftModel model;
  model.AddInput("x", {1});
  auto* function = model.proto.add_functions();
  function->set_domain("com.microsoft");
  function->set_name("Gelu");
  function->add_input("in");
  function->add_output("out");
  function->add_opset_import()->set_version(17);
  OnnxModel::Fill(function->add_node(), "Neg", {"in"}, {"out"}, "");
  model.AddMicrosoft("Gelu", {"x"});
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({1}, {2})}})), ElementsAre(-2));
}

}  // namespace
}  // namespace skiff
