// QuantizeLinear and its relatives where the ONNX node tests do not reach: constants, which become quantised
// values, beside scales that are computed.
#include <gmock/gmock.h>

#include <limits>

#include "ops/op_codes.h"
#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr int kU8 = onnx::TensorProto::UINT8;
constexpr int kI8 = onnx::TensorProto::INT8;
constexpr int kI32 = onnx::TensorProto::INT32;
// Which old releases of ONNX have no names for.
constexpr int kU4 = 21;
constexpr int kI4 = 22;

std::vector<OpCode> OperatorsOf(const Graph& graph) {
  std::vector<OpCode> all;
  for (NodeId id = 0; id < graph.node_count(); ++id) all.push_back(graph.node(id).op);
  return all;
}

/// QuantizeLinear of x [6] whose scale is a constant, or an input.
TensorData Quantized(bool constant, float scale, int32_t zero, int type, const TensorData& x) {
  OnnxModel model(21);
  model.AddInput("x", {x.elements()});
  if (constant) {
    model.AddFloats("s", {}, {scale});
  } else {
    model.AddInput("s", {});
  }
  model.AddIntegers("z", type, {}, {zero});
  model.AddNode("QuantizeLinear", {"x", "s", "z"}, {"y"});
  model.AddOutput("y");
  std::map<std::string, TensorData> inputs = {{"x", x}};
  if (!constant) inputs["s"] = Floats({}, {scale});
  return RunModel(model, inputs);
}

TEST(OnnxQuantize, RoundsHalfToEvenAndSaturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  const TensorData x = Floats({6}, {1, 3, 5, -infinity, infinity, 1e9f});
  for (const bool constant : {true, false}) {
    EXPECT_THAT(Quantized(constant, 2, 10, kU8, x).ToInts(), ElementsAre(10, 12, 12, 0, 255, 255));
    EXPECT_THAT(Quantized(constant, 2, -1, kI8, x).ToInts(), ElementsAre(-1, 1, 1, -128, 127, 127));
  }
}

TEST(OnnxQuantize, AScaleThatNoValueCanHaveIsArithmetic) {
  const TensorData y = Quantized(true, -2, 10, kU8, Floats({3}, {4, -4, 1e9f}));
  EXPECT_THAT(y.ToInts(), ElementsAre(8, 12, 0));
}

TEST(OnnxQuantize, ConstantsBecomeQuantisedValues) {
  OnnxModel model(13);
  model.AddInput("x", {2});
  model.AddFloats("s", {1}, {0.5f});
  model.AddNode("QuantizeLinear", {"x", "s"}, {"q"});
  model.AddNode("DequantizeLinear", {"q", "s"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(OperatorsOf(model.Import()),
              ElementsAre(OpCode::kQuantize, OpCode::kToCodes, OpCode::kFromCodes, OpCode::kDequantize));
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {0.6f, -3})}})), ElementsAre(0.5f, 0));
}

TEST(OnnxQuantize, ConstantNumbersBecomeIntegers) {
  OnnxModel model(13);
  model.AddInput("x", {2});
  model.AddFloats("w", {2}, {0.7f, -9});
  model.AddFloats("s", {}, {0.5f});
  model.AddIntegers("z", kI8, {}, {0});
  model.AddNode("QuantizeLinear", {"w", "s", "z"}, {"q"});
  model.AddNode("DequantizeLinear", {"q", "s", "z"}, {"d"});
  model.AddNode("Mul", {"x", "d"}, {"y"});
  model.AddOutput("y");
  EXPECT_THAT(OperatorsOf(model.Import()), ElementsAre(OpCode::kDequantize, OpCode::kMul));
  EXPECT_THAT(AsFloats(RunModel(model, {{"x", Floats({2}, {2, 3})}})), ElementsAre(1, -27));
}

TEST(OnnxQuantize, TheDtypeIsThatOfTheZeroPointOrStated) {
  OnnxModel model(21);
  model.AddInput("x", {2});
  model.AddFloats("s", {}, {0.5f});
  SetInt(model.AddNode("QuantizeLinear", {"x", "s"}, {"y"}), "output_dtype", onnx::TensorProto::INT16);
  model.AddOutput("y");
  const TensorData y = RunModel(model, {{"x", Floats({2}, {1000, -1e6f})}});
  EXPECT_EQ(y.dtype(), DType::kI16);
  EXPECT_THAT(y.ToInts(), ElementsAre(2000, -32768));
}

TEST(OnnxQuantize, ScalesAlongAnOpenAxisAreArithmetic) {
  OnnxModel model(13);
  auto* x = model.AddInput("x", {1, 2});
  x->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("n");
  model.AddFloats("s", {2}, {1, 0.5f});
  model.AddIntegers("z", kU8, {2}, {1, 2});
  SetInt(model.AddNode("QuantizeLinear", {"x", "s", "z"}, {"y"}), "axis", -1);
  model.AddOutput("y");
  EXPECT_THAT(OperatorsOf(model.Import()), Not(Contains(OpCode::kQuantize)));
  EXPECT_THAT(RunModel(model, {{"x", Floats({1, 2}, {4, 4})}}).ToInts(), ElementsAre(5, 10));
}

TEST(OnnxQuantize, FactorsOfBlocksLieAsTheInputDoes) {
  const std::vector<float> scales(16, 1);
  const std::vector<int32_t> zeros(16, 1);
  const auto model = [&](const std::vector<int64_t>& scale, const std::vector<int64_t>& zero) {
    OnnxModel made(21);
    made.AddInput("x", {4, 8}, kI8);
    made.AddFloats("s", scale, scales);
    made.AddIntegers("z", kI8, zero, zeros);
    auto* node = made.AddNode("DequantizeLinear", {"x", "s", "z"}, {"y"}, "real");
    SetInt(node, "axis", 0);
    SetInt(node, "block_size", 2);
    made.AddOutput("y");
    return made;
  };
  EXPECT_NO_THROW(model({2, 8}, {2, 8}).Import());
  const auto refusal = [&](const std::vector<int64_t>& scale, const std::vector<int64_t>& zero) {
    const Error error = ImportError(model(scale, zero));
    EXPECT_EQ(error.code(), StatusCode::kInvalidModel);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal({8, 2}, {8, 2}),
              testing::HasSubstr("node 'real' (DequantizeLinear): the scale has 8 elements along axis 0; 2 "
                                 "were expected, for 4 elements in blocks of 2"));
  EXPECT_THAT(refusal({2, 8}, {8, 2}), testing::HasSubstr("the zero point has 8 elements along axis 0"));
  EXPECT_THAT(refusal({2, 8}, {16}), testing::HasSubstr("the zero point has rank 1; 2 was expected"));
}

/// A constant [2, 3] of 4 bits with these bytes, dequantised.
std::vector<float> FromFourBits(int type, bool computed, int64_t axis, const std::vector<int64_t>& extents,
                                int64_t block, const std::vector<float>& scales = {1, 10, 100, 1000}) {
  OnnxModel model(21);
  model.AddIntegers("w", type, {2, 3}, {0x21, 0xF3, 0x87});
  if (computed) {
    model.AddInput("s", extents);
  } else {
    model.AddFloats("s", extents, scales);
  }
  auto* node = model.AddNode("DequantizeLinear", {"w", "s"}, {"y"});
  SetInt(node, "axis", axis);
  if (block > 0) SetInt(node, "block_size", block);
  model.AddOutput("y");
  std::map<std::string, TensorData> inputs;
  Shape shape;
  for (const int64_t extent : extents) shape.Append(extent);
  if (computed) inputs["s"] = Floats(shape, scales);
  return AsFloats(RunModel(model, inputs));
}

TEST(OnnxQuantize, ConstantsOfFourBitsInBlocks) {
  for (const bool computed : {false, true}) {
    EXPECT_THAT(FromFourBits(kI4, computed, 1, {2, 2}, 2), ElementsAre(1, 2, 30, -100, 700, -8000));
    EXPECT_THAT(FromFourBits(kU4, computed, 1, {2, 2}, 2), ElementsAre(1, 2, 30, 1500, 700, 8000));
  }
}

TEST(OnnxQuantize, ConstantsInBlocksOfScalesThatNoValueCanHave) {
  for (const bool computed : {false, true}) {
    EXPECT_THAT(FromFourBits(kI4, computed, 1, {2, 2}, 2, {-1, 10, 0, -1000}),
                ElementsAre(-1, -2, 30, 0, 0, 8000));
    EXPECT_THAT(FromFourBits(kU4, computed, 1, {2, 2}, 2, {-1, 10, 0, -1000}),
                ElementsAre(-1, -2, 30, 0, 0, -8000));
  }
}

/// A constant [3, 2] of bytes with a scale for each row, or one for all.
Graph FromBytes(int type, const std::vector<int32_t>& codes, const std::vector<float>& scales,
                const std::vector<int32_t>& zeros) {
  OnnxModel model(21);
  const auto count = static_cast<int64_t>(scales.size());
  model.AddIntegers("w", type, {3, 2}, codes);
  model.AddFloats("s", {count}, scales);
  model.AddIntegers("z", type, {count}, zeros);
  SetInt(model.AddNode("DequantizeLinear", {"w", "s", "z"}, {"y"}), "axis", 0);
  model.AddOutput("y");
  return model.Import();
}

TEST(OnnxQuantize, ConstantsOfScalesThatNoValueCanHaveAreOthersThatOneCan) {
  const Graph i8 = FromBytes(kI8, {-128, 127, 5, 0, 7, -1}, {-0.5f, 0, 2}, {3, 1, -1});
  EXPECT_THAT(OperatorsOf(i8), ElementsAre(OpCode::kDequantize));
  EXPECT_THAT(AsFloats(Evaluate(i8, {}).at("y")), ElementsAre(65.5f, -62, 0, 0, 16, 0));
  const Graph u8 = FromBytes(kU8, {0, 255, 5, 0, 7, 1}, {-0.5f, 0, 2}, {3, 1, 1});
  EXPECT_THAT(OperatorsOf(u8), ElementsAre(OpCode::kDequantize));
  EXPECT_THAT(AsFloats(Evaluate(u8, {}).at("y")), ElementsAre(1.5f, -126, 0, 0, 12, 0));
  const Graph one = FromBytes(kU8, {0, 255, 5, 0, 7, 1}, {-1}, {3});
  EXPECT_THAT(OperatorsOf(one), ElementsAre(OpCode::kDequantize));
  EXPECT_THAT(AsFloats(Evaluate(one, {}).at("y")), ElementsAre(3, -252, -2, 3, -4, 2));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(OperatorsOf(FromBytes(kI8, {1, 2, 3, 4, 5, 6}, {-1, nan, 2}, {0, 0, 0})),
              Not(Contains(OpCode::kDequantize)));
}

TEST(OnnxQuantize, FourBitsAreBytesWhereTheyStandForNothing) {
  OnnxModel model(21);
  model.AddIntegers("w", kI4, {3}, {0xF1, 0x8});
  model.AddNode("Identity", {"w"}, {"y"}, "same");
  model.AddOutput("y");
  const TensorData y = RunModel(model, {});
  EXPECT_EQ(y.dtype(), DType::kI8);
  EXPECT_THAT(y.ToInts(), ElementsAre(1, -1, -8));
}

constexpr int kF8 = 17;

/// What a QuantizeLinear makes whose zero point, of float8e4m3fn, comes from a node.
OnnxModel FromZeroPointOf(bool constant) {
  OnnxModel model(21);
  model.AddInput("x", {3});
  model.AddFloats("s", {}, {2});
  model.AddIntegers("z", kF8, {}, {0});
  if (constant) {
    auto* attribute = model.AddNode("Constant", {}, {"zero"})->add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    *attribute->mutable_t() = model.proto.graph().initializer(1);
  } else {
    model.AddNode("Identity", {"z"}, {"zero"});
  }
  model.AddNode("QuantizeLinear", {"x", "s", "zero"}, {"y"}, "quantise");
  model.AddOutput("y");
  return model;
}

TEST(OnnxQuantize, FloatsOfEightBitsAreNeverLeftUnrounded) {
  const TensorData y = RunModel(FromZeroPointOf(true), {{"x", Floats({3}, {2.3f, -1e5f, 200})}});
  EXPECT_THAT(AsFloats(y), ElementsAre(1.125f, -448, 96));
  const Error error = ImportError(FromZeroPointOf(false));
  EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  EXPECT_THAT(error.what(), testing::HasSubstr("floats whose type is not known"));
}

/// Types that stand as wider ones are known in branches, too: of captured constants and of the branch's own.
TEST(OnnxQuantize, BranchesRoundToFloatsOfEightBits) {
  for (const bool captured : {true, false}) {
    OnnxModel model(21);
    model.AddInput("c", {1}, onnx::TensorProto::BOOL);
    model.AddInput("x", {3});
    model.AddIntegers("like", kF8, {}, {0});
    onnx::NodeProto* node = model.AddNode("If", {"c"}, {"y"}, "choice");
    for (const char* branch : {"then_branch", "else_branch"}) {
      onnx::GraphProto* body = AddBody(node, branch);
      if (!captured) {
        *body->add_initializer() = model.proto.graph().initializer(0);
        body->mutable_initializer(0)->set_name("own");
      }
      AddNode(body, "CastLike", {"x", captured ? "like" : "own"}, "small");
      SetInt(AddNode(body, "Cast", {"small"}, "t"), "to", onnx::TensorProto::FLOAT);
      body->add_output()->set_name("t");
    }
    model.AddOutput("y");
    const bool yes = true;
    EXPECT_THAT(AsFloats(RunModel(model, {{"c", TensorData(DType::kBool, Shape{1}, &yes)},
                                          {"x", Floats({3}, {1.07f, -3.3f, 300})}})),
                ElementsAre(1.125f, -3.25f, 288));
  }
}

TEST(OnnxQuantize, QLinearConvHasABiasInUnitsOfTheProduct) {
  OnnxModel model(17);
  model.AddInput("x", {1, 2, 1, 1}, kU8);
  model.AddFloats("xs", {}, {0.5f});
  model.AddIntegers("xz", kU8, {}, {10});
  model.AddIntegers("w", kI8, {2, 2, 1, 1}, {1, 2, 3, -4});
  model.AddFloats("ws", {2}, {1, 0.25f});
  model.AddIntegers("wz", kI8, {2}, {0, 0});
  model.AddFloats("ys", {}, {0.5f});
  model.AddIntegers("yz", kU8, {}, {100});
  model.AddIntegers("b", kI32, {2}, {7, -8});
  model.AddNode("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"});
  model.AddOutput("y");
  // (4 * 1 + -3 * 2 + 7) * 0.5 / 0.5 = 5; (4 * 3 + 3 * 4 - 8) * 0.125 / 0.5 = 4.
  const TensorData x = Integers<uint8_t>(DType::kU8, {1, 2, 1, 1}, {14, 7});
  EXPECT_THAT(RunModel(model, {{"x", x}}).ToInts(), ElementsAre(105, 104));
}

/// a [1, 2] x b [2, 2], where the zero point of a is a constant or an input.
std::vector<int64_t> IntegerProduct(bool constant) {
  OnnxModel model(17);
  model.AddInput("a", {1, 2}, kU8);
  if (constant) {
    model.AddIntegers("az", kU8, {}, {250});
  } else {
    model.AddInput("az", {}, kU8);
  }
  model.AddIntegers("b", kI8, {2, 2}, {127, -128, -127, 5});
  model.AddIntegers("bz", kI8, {2}, {-100, 100});
  model.AddNode("MatMulInteger", {"a", "b", "az", "bz"}, {"y"});
  model.AddOutput("y");
  std::map<std::string, TensorData> inputs = {{"a", Integers<uint8_t>(DType::kU8, {1, 2}, {0, 255})}};
  if (!constant) inputs["az"] = Integers<uint8_t>(DType::kU8, {}, {250});
  return RunModel(model, inputs).ToInts();
}

TEST(OnnxQuantize, IntegerProductsAreExact) {
  for (const bool constant : {true, false}) {
    EXPECT_THAT(IntegerProduct(constant), ElementsAre(-250 * 227 + 5 * -27, -250 * -228 + 5 * -95));
  }
}

/// x, rounded at run time, times weights of integers. The weights' scale is a constant, or an input, where
/// the specification's arithmetic is written out.
struct DynamicNet {
  const char* product;
  std::vector<int64_t> x_extents, weights_extents, scale_extents;
  const char* moved_by = nullptr;  ///< Of the codes.
};

Shape ShapeOf(const std::vector<int64_t>& extents) {
  return {extents.data(), static_cast<int>(extents.size())};
}

TensorData RunDynamic(const DynamicNet& net, bool constant_scale, bool expect_product) {
  OnnxModel model(17);
  model.AddInput("x", net.x_extents);
  std::vector<int32_t> codes;
  for (int i = 0; i < 24; ++i) codes.push_back((i * 37 + 11) % 256);
  model.AddIntegers("w", kU8, net.weights_extents, codes);
  model.AddIntegers("wz", kU8, {}, {120});
  const std::vector<float> scales =
      net.scale_extents.empty() ? std::vector<float>{0.02f} : std::vector<float>{0.02f, 0.5f, 0.001f};
  if (constant_scale) {
    model.AddFloats("ws", net.scale_extents, scales);
  } else {
    model.AddInput("ws", net.scale_extents);
  }
  model.AddNode("DynamicQuantizeLinear", {"x"}, {"codes", "xs", "xz"});
  if (net.moved_by != nullptr) model.AddNode(net.moved_by, {"codes"}, {"moved"});
  model.AddNode(net.product, {net.moved_by == nullptr ? "codes" : "moved", "w", "xz", "wz"}, {"sums"});
  auto* to = model.AddNode("Cast", {"sums"}, {"numbers"})->add_attribute();
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(onnx::TensorProto::FLOAT);
  model.AddNode("Mul", {"xs", "ws"}, {"scales"});
  model.AddNode("Mul", {"numbers", "scales"}, {"y"});
  model.AddOutput("y");
  const auto made = OperatorsOf(model.Import());
  EXPECT_EQ(std::count(made.begin(), made.end(), OpCode::kFakeQuantize), expect_product ? 1 : 0);
  std::vector<float> x;
  for (int i = 0; i < 16; ++i) x.push_back(0.37f * static_cast<float>((i * 5) % 16) - 1.9f);
  std::map<std::string, TensorData> inputs = {{"x", Floats(ShapeOf(net.x_extents), x)}};
  if (!constant_scale) inputs["ws"] = Floats(ShapeOf(net.scale_extents), scales);
  return RunModel(model, inputs);
}

TEST(OnnxQuantize, ProductsOfCodesThatAreMadeAtRunTimeAreOneProduct) {
  const DynamicNet nets[] = {
      {"MatMulInteger", {2, 8}, {8, 3}, {}},
      {"MatMulInteger", {2, 8}, {8, 3}, {3}},
      {"ConvInteger", {1, 4, 2, 2}, {3, 4, 1, 2}, {}},
      {"ConvInteger", {1, 4, 2, 2}, {3, 4, 1, 2}, {1, 3, 1, 1}},
      {"ConvInteger", {2, 2, 4, 1}, {3, 4, 1, 2}, {}, "Transpose"},
      {"MatMulInteger", {8, 2}, {8, 3}, {3}, "Transpose"},
      {"MatMulInteger", {2, 1, 8}, {8, 3}, {}, "Squeeze"},
  };
  for (const DynamicNet& net : nets) {
    SCOPED_TRACE(::testing::Message() << net.product << ", scales of rank " << net.scale_extents.size());
    const TensorData product = RunDynamic(net, true, true);
    const TensorData arithmetic = RunDynamic(net, false, false);
    ASSERT_EQ(product.shape(), arithmetic.shape());
    for (int64_t i = 0; i < product.elements(); ++i)
      EXPECT_NEAR(product.as<float>()[i], arithmetic.as<float>()[i], 1e-5f) << i;
  }
}

TEST(OnnxQuantize, ScalesAlongOtherAxesStayArithmetic) {
  // Three numbers along the width of a picture are no scales of channels.
  RunDynamic({"ConvInteger", {1, 4, 1, 4}, {3, 4, 1, 2}, {3}}, true, false);
  // Nor along a batch, which there is one of; and those of more axes than the product has give it these.
  EXPECT_EQ(RunDynamic({"ConvInteger", {1, 4, 4}, {3, 4, 2}, {3, 1, 1}}, true, false).shape(),
            Shape({3, 3, 3}));
  EXPECT_EQ(RunDynamic({"MatMulInteger", {2, 8}, {8, 3}, {1, 1, 3}}, true, false).shape(), Shape({1, 2, 3}));
}

}  // namespace
}  // namespace skiff
