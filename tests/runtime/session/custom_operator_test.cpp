// Operators of an application's own: registered, missing, refusing, on open shapes and on integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error_capture.h"
#include "graph/custom_operators.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "ops/op_codes.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The rows of a matrix, every `options[0]`-th of them, times `*user`.
Status EveryNthShape(void*, const CustomCall& call) {
  if (call.inputs.size() != 1 || call.inputs[0].shape.rank() != 2)
    return Fail(StatusCode::kInvalidArgument, "it reads one matrix");
  const int64_t step = call.options.empty() ? 1 : call.options[0];
  call.outputs[0].dtype = call.inputs[0].dtype;
  call.outputs[0].shape = {(call.inputs[0].shape[0] + step - 1) / step, call.inputs[0].shape[1]};
  return OkStatus();
}

Status EveryNth(void* user, const CustomCall& call) {
  const float factor = *static_cast<const float*>(user);
  const int64_t step = call.options.empty() ? 1 : call.options[0];
  const TensorView& x = call.inputs[0];
  for (int64_t i = 0; i < call.outputs[0].shape.elements(); ++i) {
    const int64_t columns = x.shape[1];
    const float element = x.as<const float>()[i / columns * step * columns + i % columns];
    if (element > 1e6f)
      return Fail(StatusCode::kInvalidArgument, "element %lld is too large", static_cast<long long>(i));
    call.outputs[0].as<float>()[i] = element * factor;
  }
  return OkStatus();
}

float factor = 3;
const CustomOperator kEveryNth = {"test::EveryNth", EveryNthShape, EveryNth, &factor};

/// y = every second row of x + x, times 3.
Graph TwiceEveryNth(std::vector<Dim> dims, uint8_t step,
                    const std::vector<StatedType>& stated = {StatedType()}) {
  RegisterCustomOperator(kEveryNth);
  Graph graph;
  graph.name = "g";
  const ValueId x = graph.AddInput("x", DType::kF32, std::move(dims));
  const ValueId sum = graph.Emit(OpCode::kAdd, {x, x}, ClampAttrs{});
  CustomConstants constants = MakeCustomConstants(kEveryNth.name, {&step, 1}, stated);
  const ValueId types = constants.types ? graph.AddConstant("types", *constants.types) : kNoValue;
  const ValueId y = graph.Emit(OpCode::kCustom,
                               {graph.AddConstant("name", constants.name),
                                graph.AddConstant("options", constants.options), types, sum},
                               CustomAttrsFor(kEveryNth.name), "rows");
  graph.AddOutput("y", graph.Emit(OpCode::kTanh, {y}, NoAttrs{}));
  return graph;
}

std::unique_ptr<Model> Open(const ConvertResult& converted, const AlignedBytes& bytes, bool registered,
                            const CustomOperator& op = kEveryNth) {
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  if (registered) options.custom_operators = {&op, 1};
  auto model = Model::Open(bytes.span(), options);
  EXPECT_TRUE(model.ok()) << converted.file.size();
  return model.ok() ? std::move(model.value()) : nullptr;
}

TEST(CustomOperators, ComputeWhatTheEagerInterpreterComputes) {
  const Graph graph = TwiceEveryNth({5, 4}, 2);
  const auto converted = ConvertGraph(graph, {});
  const AlignedBytes bytes(converted->file);
  const auto model = Open(*converted, bytes, true);
  const auto inputs = RandomInputs(graph, 1);
  const TensorData expected = Evaluate(graph, inputs).at("y");
  EXPECT_EQ(expected.shape(), Shape({3, 4}));
  EXPECT_NEAR(expected.as<float>()[4], std::tanh(2 * 3 * inputs.at("x").as<float>()[8]), 1e-6);
  for (const Backend backend : {Backend::kPlanned, Backend::kReference}) {
    auto session = Session::Create(*model, {.backend = backend});
    ASSERT_TRUE(session.ok());
    EXPECT_LT(Compare(RunSession(*session.value(), inputs).at("y"), expected).difference, 1e-5);
  }
}

TEST(CustomOperators, OpenShapesFollowTheRule) {
  for (const uint8_t step : {1, 3}) {
    Graph net = TwiceEveryNth({Dim::OfSymbol(0), 4}, step);
    net.AddSymbol("rows");
    const auto converted = ConvertGraph(net, {});
    const AlignedBytes bytes(converted->file);
    const auto model = Open(*converted, bytes, true);
    auto session = Session::Create(*model, {});
    ASSERT_TRUE(session.ok());
    for (const int64_t count : {1, 2, 7, 31, 3}) {
      const std::map<std::string, TensorData> inputs = {
          {"x", RandomTensor(DType::kF32, Shape({count, 4}), static_cast<uint32_t>(count))}};
      const TensorData expected = Evaluate(net, inputs).at("y");
      const TensorData got = RunSession(*session.value(), inputs).at("y");
      EXPECT_EQ(got.shape(), Shape({(count + step - 1) / step, 4}));
      EXPECT_LT(Compare(got, expected).difference, 1e-5);
    }
  }
}

/// As many rows as the elements of a constant say.
Status CountedRowsShape(void*, const CustomCall& call) {
  const TensorView& counts = call.inputs[1];
  if (counts.data == nullptr) return Fail(StatusCode::kInvalidArgument, "its counts must be constant");
  float sum = 0;
  for (int64_t i = 0; i < counts.shape.elements(); ++i) sum += counts.as<const float>()[i];
  call.outputs[0].dtype = DType::kF32;
  call.outputs[0].shape = {static_cast<int64_t>(sum), call.inputs[0].shape[0]};
  return OkStatus();
}
Status CountedRows(void*, const CustomCall& call) {
  std::fill_n(call.outputs[0].as<float>(), call.outputs[0].shape.elements(), 1.0f);
  return OkStatus();
}
const CustomOperator kCountedRows = {"test::CountedRows", CountedRowsShape, CountedRows, nullptr};

/// Its rule sees the numbers of weights that the file has in f16, before anything is prepared.
TEST(CustomOperators, RulesSeeNarrowWeights) {
  RegisterCustomOperator(kCountedRows);
  for (const Dim& extent : {Dim(2), Dim::OfSymbol(0)}) {
    Graph graph;
    graph.name = "g";
    const ValueId x = graph.AddInput("x", DType::kF32, {extent});
    if (!extent.constant()) graph.AddSymbol("n");
    TensorData counts(DType::kF32, Shape{4096});
    std::fill_n(static_cast<float*>(counts.mutable_data()), 4096, 0.5f);
    CustomConstants constants = MakeCustomConstants(kCountedRows.name, {}, {StatedType()});
    const ValueId y = graph.Emit(
        OpCode::kCustom,
        {graph.AddConstant("name", constants.name), graph.AddConstant("options", constants.options), kNoValue,
         x, graph.AddConstant("counts", counts)},
        CustomAttrsFor(kCountedRows.name), "rows");
    graph.AddOutput("y", y);
    const auto converted = ConvertGraph(graph, {});
    const AlignedBytes bytes(converted->file);
    const auto model = Open(*converted, bytes, true, kCountedRows);
    ASSERT_TRUE(model);
    auto session = Session::Create(*model, {});
    ASSERT_TRUE(session.ok());
    const TensorData got =
        RunSession(*session.value(), {{"x", RandomTensor(DType::kF32, Shape{2}, 1)}}).at("y");
    EXPECT_EQ(got.shape(), Shape({2048, 2}));
  }
}

TEST(CustomOperators, UnregisteredOnesAreNamedWhenASessionIsMade) {
  const Graph graph = TwiceEveryNth({6, 4}, 2, {{true, DType::kF32, {3, 4}}});
  const auto converted = ConvertGraph(graph, {});
  const AlignedBytes bytes(converted->file);
  const auto model = Open(*converted, bytes, false);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->signature(0).outputs[0].shape, Shape({3, 4}));
  ErrorCapture capture;
  const auto session = Session::Create(*model, {});
  EXPECT_EQ(session.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(),
              AllOf(HasSubstr("'test::EveryNth'"), HasSubstr("ModelOptions::custom_operators")));
}

TEST(CustomOperators, ARuleThatDisagreesWithTheFileIsAnError) {
  const auto converted = ConvertGraph(TwiceEveryNth({6, 4}, 2), {});
  const AlignedBytes bytes(converted->file);
  CustomOperator other = kEveryNth;
  other.infer = [](void*, const CustomCall& call) {
    call.outputs[0].dtype = DType::kF32;
    call.outputs[0].shape = {6, 4};
    return OkStatus();
  };
  ErrorCapture capture;
  EXPECT_FALSE(Model::Open(bytes.span(), {BuiltinDelegates(), nullptr, {&other, 1}}).ok());
  EXPECT_THAT(capture.message(), HasSubstr("is stored as f32 [3, 4], the operator makes f32 [6, 4]"));
}

TEST(CustomOperators, HalfAnOperatorIsRefused) {
  const auto converted = ConvertGraph(TwiceEveryNth({6, 4}, 2), {});
  const AlignedBytes bytes(converted->file);
  CustomOperator half = kEveryNth;
  half.run = nullptr;
  ErrorCapture capture;
  EXPECT_EQ(Model::Open(bytes.span(), {BuiltinDelegates(), nullptr, {&half, 1}}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("custom operator 0 'test::EveryNth' must have"));
  EXPECT_THROW(RegisterCustomOperator(half), Error);
  EXPECT_THROW(RegisterCustomOperator({}), Error);
}

TEST(CustomOperators, ErrorsOfKernelsNameTheOperator) {
  const auto converted = ConvertGraph(TwiceEveryNth({2, 2}, 1), {});
  const AlignedBytes bytes(converted->file);
  const auto model = Open(*converted, bytes, true);
  auto session = Session::Create(*model, {});
  ASSERT_TRUE(session.ok());
  const std::vector<float> numbers = {1, 2, 3, 4e7f};
  const TensorData x(DType::kF32, Shape({2, 2}), numbers.data());
  ErrorCapture capture;
  ASSERT_TRUE(session.value()->SetInput("x", x.view()).ok());
  EXPECT_EQ(session.value()->Run().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("custom operator 'test::EveryNth': element 3 is too large"));
  const TensorData good = RandomTensor(DType::kF32, Shape({2, 2}), 1);
  ASSERT_TRUE(session.value()->SetInput("x", good.view()).ok());
  EXPECT_TRUE(session.value()->Run().ok());
}

/// The plan that is running points to the inputs.
TEST(CustomOperators, CannotChangeTheSessionThatRunsThem) {
  static Session* running = nullptr;
  static int refused = 0;
  static float large[4096 * 4] = {};
  CustomOperator meddler = kEveryNth;
  meddler.run = [](void* user, const CustomCall& call) {
    ErrorCapture capture;
    const Shape shape = {4096, 4};
    const TensorView view(large, DType::kF32, shape);
    const Status tried[] = {running->SetInput(0, view),       running->SetInput("x", view),
                            running->BindInput(0, view),      running->InputBuffer(0, shape).status(),
                            running->InputBuffer(0).status(), running->Run()};
    EXPECT_THAT(capture.message(), HasSubstr("let no custom operator use the session"));
    for (const Status& status : tried) refused += status.code() == StatusCode::kInvalidArgument ? 1 : 0;
    return EveryNth(user, call);
  };
  Graph graph = TwiceEveryNth({Dim::OfSymbol(0), 4}, 1);
  graph.AddSymbol("rows");
  const auto converted = ConvertGraph(graph, {});
  const AlignedBytes bytes(converted->file);
  const auto model = Open(*converted, bytes, true, meddler);
  auto session = Session::Create(*model, {});
  ASSERT_TRUE(session.ok());
  running = session.value().get();
  const TensorData x = RandomTensor(DType::kF32, Shape({2, 4}), 1);
  for (int run = 1; run <= 2; ++run) {
    ASSERT_TRUE(running->SetInput(0, x.view()).ok());
    EXPECT_TRUE(running->Run().ok());
    EXPECT_EQ(refused, 6 * run);
  }
}

TEST(CustomOperators, RulesThatRefuseStopTheConversion) {
  try {
    ConvertGraph(TwiceEveryNth({5}, 1), {});
    FAIL() << "it was converted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("test::EveryNth: it reads one matrix"));
  }
}

TEST(CustomOperators, SeeIntegersAsTheyAre) {
  // Negates i8 codes, scales and all.
  const CustomOperator negate = {
      "test::Negate",
      [](void*, const CustomCall& call) {
        call.outputs[0].dtype = call.inputs[0].dtype;
        call.outputs[0].shape = call.inputs[0].shape;
        return call.inputs[0].dtype == DType::kF32 ? OkStatus() : Status(StatusCode::kInvalidArgument);
      },
      [](void*, const CustomCall& call) {
        const TensorView& x = call.inputs[0];
        if (x.dtype != DType::kI8 || x.quantization == nullptr || x.quantization->scale != 0.5f)
          return Fail(StatusCode::kInternal, "these are no integers of the unit 0.5");
        for (int64_t i = 0; i < x.shape.elements(); ++i)
          call.outputs[0].as<int8_t>()[i] = static_cast<int8_t>(-x.as<int8_t>()[i]);
        return OkStatus();
      }};
  RegisterCustomOperator(negate);
  Graph graph;
  graph.name = "g";
  const QuantizationPtr half = PerTensor(0.5f, 0);
  const ValueId x = graph.AddInput("x", DType::kI8, {4}, half);
  CustomConstants constants = MakeCustomConstants(negate.name, {}, {StatedType()});
  const NodeId node = graph.AddNode(OpCode::kCustom,
                                    {graph.AddConstant("name", constants.name),
                                     graph.AddConstant("options", constants.options), kNoValue, x},
                                    {"y"});
  graph.node(node).As<CustomAttrs>() = CustomAttrsFor(negate.name);
  Value& y = graph.value(graph.node(node).outputs[0]);
  y.dtype = DType::kI8;
  y.quantization = half;
  graph.AddOutput("y", graph.node(node).outputs[0]);
  const auto converted = ConvertGraph(graph, {});
  const AlignedBytes bytes(converted->file);
  const auto model = Open(*converted, bytes, true, negate);
  auto session = Session::Create(*model, {});
  ASSERT_TRUE(session.ok());
  const std::vector<int8_t> codes = {1, -2, 100, 0};
  const TensorData input = TensorData(DType::kI8, Shape({4}), codes.data()).Quantized(half);
  const TensorData got = RunSession(*session.value(), {{"x", input}}).at("y");
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(got.as<int8_t>()[i], -codes[i]);
}

}  // namespace
}  // namespace skiff::testing
