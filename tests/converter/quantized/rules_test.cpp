// What types of quantised tensors may be: what the rules refuse, what the text form says, what evaluation
// keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/converter/quantized/exact.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

/// "" where the graph is sound.
std::string Refusal(Graph graph) {
  try {
    InferShapes(graph);
    Verify(graph);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

struct Wrong {
  const char* name;
  const char* statements;
  const char* message;
};

void PrintTo(const Wrong& wrong, std::ostream* stream) { *stream << wrong.name; }

class WrongTypes : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongTypes, AreRefusedWithNodeAndReason) {
  const std::string text = std::string("graph g { ") + GetParam().statements + " output y }";
  EXPECT_THAT(Refusal(ParseGraph(text)), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Quantized, WrongTypes,
    ::testing::Values(
        Wrong{"PackedWithoutAQuantisation",
              "input x: i8[4] {scale=1} const w: i4[4] = [1, 2, 3, 4] y: i8 {scale=1} = Add(x, w)",
              "node 'y' (Add), which comes from Add 'y': the inputs have different dtypes: f32 and i4"},
        Wrong{"PackedResult", "input x: i8[4] {scale=1} y: i4 {scale=1} = Add(x, x)",
              "node 'y' (Add), which comes from Add 'y': output 0 is i4, which is for constants"},
        Wrong{"PackedInput", "input x: i4[4] {scale=1} y: i8 {scale=1} = Add(x, x)",
              "'x', is i4, which only constants can be"},
        Wrong{"PackedMoved", "const w: u4[4] {scale=1} = [1, 2, 3, 4] y = Identity(w)",
              "Identity cannot move u4"},
        Wrong{"DifferentQuantisationMoved", "input x: i8[4] {scale=1} y: i8 {scale=0.5} = Identity(x)",
              "node 'y' (Identity), which comes from Identity 'y': input 0 and output 0 differ in "
              "quantisation; a Requantize must stand between"},
        Wrong{"DifferentQuantisationJoined",
              "input x: i8[4] {scale=1} input z: i8[4] {scale=1, zero_point=1} y = Concat(x, z)",
              "input 1 and output 0 differ in quantisation"},
        Wrong{"PlainAndQuantisedJoined", "input x: i8[4] {scale=1} input z: f32[4] y = Concat(x, z)",
              "input 1 and output 0 differ in quantisation"},
        Wrong{"QuantisedIndices", "input x: i8[4] {scale=1} input i: i32[2] {scale=1} y = Gather(x, i)",
              "Gather"},
        Wrong{"ManyScalesMoved",
              "input x: i8[2, 4] {scale=[1, 2], axis=0} const s: i64[1] = [8] y = Reshape(x, s)",
              "node 'y' (Reshape), which comes from Reshape 'y': input 0 has more than one scale, which "
              "Reshape cannot move"},
        Wrong{"NoQuantisedUse", "input x: i8[4] {scale=1} const axis: i64[] = 0 y = CumSum(x, axis)",
              "node 'y' (CumSum), which comes from CumSum 'y': CumSum takes no quantised tensors; a "
              "Dequantize must stand before it"},
        Wrong{"CastOfQuantised", "input x: i8[4] {scale=1} y = Cast(x) {to=f32}",
              "Cast takes no quantised tensors"},
        Wrong{"QuantizeToNumbers", "input x: f32[4] y = Quantize(x)",
              "node 'y' (Quantize), which comes from Quantize 'y': its output has no quantisation"},
        Wrong{"DequantizeOfNumbers", "input x: f32[4] y = Dequantize(x)", "its input has no quantisation"},
        Wrong{"DequantizeToQuantised", "input x: i8[4] {scale=1} y: i8 {scale=2} = Dequantize(x)",
              "that is what Requantize is for"},
        Wrong{"RequantizeToNumbers", "input x: i8[4] {scale=1} y = Requantize(x)",
              "its output has no quantisation"},
        Wrong{"CodesOfNumbers", "input x: i8[4] y = ToCodes(x) {to=i8}", "its input has no quantisation"},
        Wrong{"CodesOfAnotherDType", "input x: i8[4] {scale=1} y = ToCodes(x) {to=u8}",
              "its input is i8 and its output is u8; no element may change"},
        Wrong{"FromCodesToNumbers", "input x: i8[4] y = FromCodes(x)", "its output has no quantisation"},
        Wrong{"FromCodesOfQuantised", "input x: i8[4] {scale=1} y: i8 {scale=2} = FromCodes(x)",
              "its input is f32; integers were expected"},
        Wrong{"FromCodesOfFloats", "input x: f32[4] y: i8 {scale=2} = FromCodes(x)",
              "its input is f32; integers were expected"},
        Wrong{"LookupOfFloats",
              "input x: f32[4] const t: i8[256] {scale=1} = seed 1 y: i8 {scale=1} = Lookup(x, t)",
              "input 0 is f32; integers of 8 bits were expected"},
        Wrong{"LookupOfWords",
              "input x: i16[4] {scale=1} const t: i8[256] {scale=1} = seed 1 y = Lookup(x, t)",
              "input 0 is i16; integers of 8 bits were expected"},
        Wrong{"LookupInFloats", "input x: i8[4] {scale=1} const t: f32[256] = seed 1 y = Lookup(x, t)",
              "input 1 is f32; integers of 8 bits were expected"},
        Wrong{"LookupInAShortTable",
              "input x: i8[4] {scale=1} const t: i8[255] {scale=1} = seed 1 y = Lookup(x, t)",
              "its table has another shape than [256]"},
        Wrong{"LookupWithAnotherScale",
              "input x: i8[4] {scale=1} const t: i8[256] {scale=1} = seed 1 y: i8 {scale=2} = Lookup(x, t)",
              "input 1 and output 0 differ in quantisation"},
        Wrong{"QuantisedTruth", "input x: i8[4] {scale=1} y: i8 {scale=1} = Less(x, x)",
              "node 'y' (Less), which comes from Less 'y': output 0 is bool, which stands for no real number "
              "and cannot be quantised"},
        Wrong{"QuantisedIndex", "input x: i8[4] {scale=1} y: i32 {scale=1} = ArgMax(x)",
              "output 0 is i64, which stands for no real number"},
        Wrong{"PlainIntegersAmongReals", "input x: i8[4] {scale=1} input z: i8[4] y = Add(x, z)",
              "node 'y' (Add)"},
        Wrong{"ScalesOfAnotherLength",
              "input x: i8[4] {scale=1} y: i8 {scale=[1, 2, 3], axis=0} = Requantize(x)",
              "node 'y' (Requantize), which comes from Requantize 'y': the quantisation of output 0 is "
              "wrong: it has another number of scales than its shape asks for"},
        Wrong{"AxisBeyondTheRank",
              "input x: i8[4] {scale=1} y: i8 {scale=[1, 2, 3, 4], axis=1} = Requantize(x)",
              "the quantisation of output 0 is wrong: the axis of its scales is not one of its axes"},
        Wrong{"ScalesAlongAnOpenDimension",
              "input x: i8[n] {scale=1} y: i8 {scale=[1, 2], axis=0} = Requantize(x)",
              "the quantisation of output 0 is wrong: its scales are along an open dimension"},
        Wrong{"BranchesThatDiffer",
              "input c: bool[] input x: i8[4] {scale=1} y = If(c, x) then { input x a: i8 {scale=1} = Neg(x) "
              "output a } "
              "else { input x b: i8 {scale=2} = Neg(x) output b }",
              "i8[4] {scale=2}"},
        Wrong{
            "ALoopVariableThatChanges",
            "input x: i8[4] {scale=1} input c: bool[] y = While(x, c) condition { input x input c output c } "
            "body { input x input c a: i8 {scale=2} = Neg(x) output a }",
            "changes its type from i8[4] {scale=1} to i8[4] {scale=2}"}),
    [](const auto& info) { return std::string(info.param.name); });

struct Damage {
  const char* name;
  DType dtype;
  Quantization quantization;
  const char* message;
};

Quantization Of(float scale, int32_t zero_point) {
  Quantization quantization;
  quantization.scale = scale;
  quantization.zero_point = zero_point;
  return quantization;
}

/// Values that no node touches, too: of ports and constants.
TEST(WrongQuantisations, AreFoundWhereverTheyStand) {
  const Damage kDamages[] = {
      {"zero", DType::kI8, Of(0, 0), "a scale is not a positive number"},
      {"negative", DType::kI8, Of(-1, 0), "a scale is not a positive number"},
      {"infinite", DType::kI8, Of(INFINITY, 0), "a scale is not a positive number"},
      {"not a number", DType::kI8, Of(NAN, 0), "a scale is not a positive number"},
      {"above i8", DType::kI8, Of(1, 128), "a zero point is outside of its dtype"},
      {"below u8", DType::kU8, Of(1, -1), "a zero point is outside of its dtype"},
      {"of floats", DType::kF32, Of(1, 0), "its dtype cannot be quantised"},
      {"of i64", DType::kI64, Of(1, 0), "its dtype cannot be quantised"},
  };
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.name);
    const auto quantization = std::make_shared<const Quantization>(damage.quantization);
    Graph through;
    const ValueId x = through.AddInput("x", damage.dtype, {Dim(4)}, quantization);
    through.AddOutput("y", x);
    EXPECT_THAT(Refusal(through),
                HasSubstr(std::string("the quantisation of 'x' is wrong: ") + damage.message));
    Graph of_constant;
    of_constant.AddInput("x", DType::kF32, {Dim(4)});
    of_constant.AddOutput(
        "y", of_constant.AddConstant("c", TensorData(damage.dtype, Shape{4}).Quantized(quantization)));
    EXPECT_THAT(Refusal(of_constant),
                HasSubstr(std::string("the quantisation of 'c' is wrong: ") + damage.message));
    Graph computed;
    const ValueId input = computed.AddInput("x", damage.dtype, {Dim(4)}, quantization);
    computed.AddOutput("y", computed.Emit(OpCode::kDequantize, {input}, NoAttrs(), "y"));
    EXPECT_THAT(Refusal(computed), HasSubstr(damage.message));
  }
}

TEST(QuantizedTypes, FollowWhatIsMoved) {
  Graph graph = ParseGraph(R"(graph g {
    input x: u8[1, 2, 3, 4] {scale=0.5, zero_point=3}
    const w: i8[2, 1, 1, 4] {scale=[1, 2], axis=0} = seed 1
    const flat: i64[2] = [6, 4]
    row = Reshape(x, flat)
    first, second = Split(row, _) {axis=1, parts=2}
    turned = Transpose(w) {perm=[3, 1, 2, 0]}
    real = Tanh(second)
    output first
    output turned
    output real
  })");
  InferShapes(graph);
  Verify(graph);
  const auto type = [&](const char* name) {
    const Value& value = graph.value(graph.FindValue(name));
    return std::string(DTypeName(value.dtype)) + QuantizationText(value.quantization);
  };
  EXPECT_EQ(type("row"), "u8 {scale=0.5, zero_point=3}");
  EXPECT_EQ(type("first"), "u8 {scale=0.5, zero_point=3}");
  EXPECT_EQ(type("turned"), "i8 {scale=[1, 2], axis=3}");
  EXPECT_EQ(type("real"), "f32");
}

const char* const kQuantisedText = R"(graph quantised {
  input x: u8[batch, 2, 2, 4] {scale=0.1, zero_point=128}
  input wide: i16[2, 3] {scale=[1e-07, 0.25], axis=0}
  input none: i8[0, 3] {scale=[], axis=0}
  const w: i8[4, 1, 1, 4] {scale=[0.1, 0.25, 3, 1e-30], zero_point=[0, -1, 127, -128], axis=0} = [1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 127, -128]
  const packed: i4[3, 3] {scale=[1, 2, 3, 4, 5, 6], zero_point=[0, 1, 2, 3, -8, 7], axis=1, block=2} = [7, -8, 1, 2, 3, 4, 5, 6, -1]
  const nibbles: u4[3] {scale=0.5, zero_point=15} = [0, 15, 9]
  y: i8[batch, 2, 2, 4] {scale=0.05, zero_point=-3} = Conv2d(x, w, _)
  untyped: i8 {scale=2} = Requantize(wide)
  real: f32[3, 3] = Dequantize(packed)
  other = Dequantize(nibbles)
  output y = y
  output untyped = untyped
  output real = real
  output other = other
  output none = none
}
)";

TEST(QuantizedText, PrintAndParseAreInverse) {
  const Graph graph = ParseGraph(kQuantisedText);
  EXPECT_EQ(PrintGraph(graph), kQuantisedText);
  EXPECT_EQ(PrintGraph(ParseGraph(PrintGraph(graph))), kQuantisedText);
  const TensorData& packed = *graph.value(graph.FindValue("packed")).constant;
  EXPECT_EQ(packed.ToInts(), (std::vector<int64_t>{7, -8, 1, 2, 3, 4, 5, 6, -1}));
  EXPECT_EQ(packed.size_bytes(), 5u);
  // Two scales in each row, for elements 0 and 1, and for 2.
  EXPECT_EQ(packed.ToDoubles(), (std::vector<double>{7, -8, 0, 0, 3, 4, 5 * 5 + 40, 6 * 5 + 40, -8 * 6}));
}

struct BadText {
  const char* text;
  const char* message;
};

class BadQuantisedTexts : public ::testing::TestWithParam<BadText> {};

TEST_P(BadQuantisedTexts, NameThePlace) {
  try {
    ParseGraph(GetParam().text);
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Text, BadQuantisedTexts,
    ::testing::Values(BadText{"graph g {\n  input x: f32[2] {scale=1}\n}",
                              "graph text, line 2, column 12: f32 cannot be quantised"},
                      BadText{"graph g {\n  input x: i8[2] {zero_point=1}\n}",
                              "graph text, line 2, column 18: a quantisation needs a scale"},
                      BadText{"graph g {\n  input x: i8[2] {scale=[1, 2]}\n}",
                              "graph text, line 2, column 18: more than one scale needs an axis"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1, block=2}\n}",
                              "graph text, line 2, column 18: a block needs an axis"},
                      BadText{"graph g {\n  input x: i8[2] {scale=[1, 2], zero_point=[1], axis=0}\n}",
                              "graph text, line 2, column 18: 1 zero points for 2 scales"},
                      BadText{"graph g {\n  input x: i8[2] {scales=1}\n}",
                              "graph text, line 2, column 19: a quantisation has no 'scales'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1, scale=2}\n}",
                              "graph text, line 2, column 28: 'scale' is given twice"},
                      BadText{"graph g {\n  input x: i8[2] {scale=big}\n}",
                              "graph text, line 2, column 25: a number was expected, got 'big'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1, zero_point=1.5}\n}",
                              "graph text, line 2, column 39: an integer was expected, got '1.5'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1, zero_point=4294967297}\n}",
                              "graph text, line 2, column 39: a zero point has 32 bits, got '4294967297'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=[1, 2], axis=-1}\n}",
                              "graph text, line 2, column 38: an axis is from 0 to 7, got '-1'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=[1, 2], axis=4294967296}\n}",
                              "graph text, line 2, column 38: an axis is from 0 to 7, got '4294967296'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1, axis=0, block=0}\n}",
                              "graph text, line 2, column 42: a block has one element or more, got '0'"},
                      BadText{"graph g {\n  input x: i8[2] {scale=0}\n}",
                              "graph text, line 2, column 18: the quantisation of i8[2] is wrong: a scale is "
                              "not a positive number"},
                      BadText{"graph g {\n  input x: i8[2] {scale=1e39}\n}",
                              "graph text, line 2, column 18: the quantisation of i8[2] is wrong: a scale is "
                              "not a positive number"},
                      BadText{"graph g {\n  input x: u8[2] {scale=1, zero_point=-1}\n}",
                              "graph text, line 2, column 18: the quantisation of u8[2] is wrong: a zero "
                              "point is outside of its dtype"},
                      BadText{"graph g {\n  input x: i8[2, 3] {scale=[1, 2], axis=1}\n}",
                              "graph text, line 2, column 21: the quantisation of i8[2, 3] is wrong: it has "
                              "another number of scales than its "
                              "shape asks for"},
                      BadText{"graph g {\n  input x: i8[2, n] {scale=[1, 2], axis=1}\n}",
                              "graph text, line 2, column 21: the quantisation of i8[2, n] is wrong: its "
                              "scales are along an open dimension"},
                      BadText{"graph g {\n  const x: i4[2] {scale=1} = [1, 8]\n}",
                              "graph text, line 2, column 12: 8 is no i4"},
                      BadText{"graph g {\n  const x: u4[2] {scale=1} = [-1, 8]\n}",
                              "graph text, line 2, column 12: -1 is no u4"}));

/// Bodies in the text need no types; what they are given keeps its meaning.
TEST(QuantizedEvaluation, PassesQuantisedTensorsIntoBodies) {
  const Graph graph = ParseGraph(R"(graph g {
    input c: bool[]
    input x: i8[3] {scale=0.5, zero_point=1}
    y = If(c, x) then { input x a: i8 {scale=1} = Neg(x) output a } else { input x b: i8 {scale=1} = Abs(x) output b }
    output y
  })");
  const TensorData x = OfCodes(DType::kI8, Shape{3}, {-3, 1, 9});
  const auto run = [&](uint8_t c) {
    return Evaluate(graph, {{"c", TensorData(DType::kBool, Shape{}, &c)}, {"x", x}}).at("y");
  };
  EXPECT_EQ(run(1).ToInts(), (std::vector<int64_t>{2, 0, -4}));
  EXPECT_EQ(run(0).ToInts(), (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(QuantizationText(run(0).quantization()), " {scale=1}");
}

TEST(QuantizedEvaluation, RefusesALoopVariableWhoseMeaningChanges) {
  const Graph graph = ParseGraph(R"(graph g {
    input x: i8[3] {scale=1}
    input n: i64[]
    const zero: i64[] = 0
    i, y = While(zero, x, n) condition { input i input x input n go = Less(i, n) output go }
      body { input i input x input n const one: i64[] = 1 next = Add(i, one) a: i8 {scale=2} = Neg(x) output next output a }
    output y
  })");
  const int64_t n = 2;
  try {
    Evaluate(graph,
             {{"x", OfCodes(DType::kI8, Shape{3}, {1, 2, 3})}, {"n", TensorData(DType::kI64, Shape{}, &n)}});
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("changes its type from i8[3] {scale=1} to i8[3] {scale=2}"));
  }
}

TEST(QuantizedEvaluation, TakesIntegersForAPortAndRefusesThoseOfAnotherMeaning) {
  const Graph graph = ParseGraph("graph g { input x: i8[2] {scale=0.5} y = Dequantize(x) output y }");
  const TensorData x = OfCodes(DType::kI8, Shape{2}, {1, -4});
  EXPECT_EQ(Evaluate(graph, {{"x", x}}).at("y").ToDoubles(), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(Evaluate(graph, {{"x", x.Quantized(PerTensor(0.5f))}}).at("y").ToDoubles(),
            (std::vector<double>{0.5, -2}));
  EXPECT_THROW(Evaluate(graph, {{"x", x.Quantized(PerTensor(0.25f))}}), Error);
}

/// Halves are real numbers, too.
TEST(QuantizedTypes, HalvesCanBeQuantised) {
  const char* const text = "graph g { input x: f16[4] y: i8[4] {scale=0.25} = Quantize(x) output y }";
  const OpenedModel model(text);
  auto session = Session::Create(*model.model, {});
  ASSERT_TRUE(session.ok());
  const std::map<std::string, TensorData> inputs = {{"x", RandomTensor(DType::kF16, {4}, 1)}};
  EXPECT_EQ(RunSession(**session, inputs).at("y").ToInts(),
            Evaluate(ParseGraph(text), inputs).at("y").ToInts());
}

}  // namespace
}  // namespace skiff::testing
