// Functions in a file: several Signatures, shared variables, run by the device's runtime.
#include "trace/save.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error_capture.h"
#include "core/platform.h"
#include "expect_error.h"
#include "graph/quantization.h"
#include "skiff/delegates.h"
#include "skiff/session.h"
#include "trace/control.h"
#include "trace/effects.h"
#include "trace/function.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A file in memory, opened.
struct Saved {
  explicit Saved(const std::vector<SavedSignature>& signatures) {
    const std::vector<uint8_t> file = SerializeFunctions(signatures);
    memory.reset(platform::AllocateAligned(file.size()));
    std::memcpy(memory.get(), file.data(), file.size());
    auto opened = Model::Open({static_cast<const uint8_t*>(memory.get()), file.size()}, {BuiltinDelegates()});
    EXPECT_TRUE(opened.ok());
    model = std::move(opened.value());
  }
  std::unique_ptr<Session> Start(const char* signature, Variables* variables = nullptr,
                                 Backend backend = Backend::kPlanned) const {
    SessionOptions options;
    options.signature = signature;
    options.variables = variables;
    options.backend = backend;
    auto session = Session::Create(*model, options);
    EXPECT_TRUE(session.ok());
    return std::move(session.value());
  }

  std::unique_ptr<void, void (*)(void*)> memory{nullptr, platform::FreeAligned};
  std::unique_ptr<Model> model;
};

Status RunWith(Session& session, const Tensors& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    SKIFF_RETURN_IF_ERROR(session.SetInput(static_cast<int>(i), inputs[i].data().view()));
  return session.Run();
}

std::vector<float> OutputOf(Session& session, int index = 0) {
  const TensorView view = session.Output(index).value();
  return {view.as<float>(), view.as<float>() + view.shape.elements()};
}

float ValueOf(Variables& variables, const char* name) { return *variables.Get(name).value().as<float>(); }

class SavedFunctions : public testing::Test {
 protected:
  Variable mean_{"mean", Tensor::Of<float>({0, 0})};
  Variable count_{"count", Tensor::Scalar(0.0f)};
  Function<Tensor(const Tensor&)> step_{[this](const Tensor& x) {
    Assert(ReduceMax(x, {.keep_dims = false}) < 100.0f, {"too large:", x});
    count_.AssignAdd(1.0f);
    mean_.Assign(mean_ + (ReduceMean(x, {.axes = {0}, .keep_dims = false}) - mean_) / count_);
    return x - mean_;
  }};
  Function<Tensor()> reset_{[this] {
    mean_.Assign(mean_ * 0.0f);
    count_.Assign(count_ * 0.0f);
    return count_ + 0.0f;
  }};
};

TEST_F(SavedFunctions, KeepStateBetweenRunsAndShareIt) {
  const Saved saved({{"step", step_.Concrete({"f32[rows<=4, 2]"})}, {"reset", reset_.Concrete({})}});
  ASSERT_EQ(saved.model->variables().size(), 2u);
  EXPECT_EQ(saved.model->signature(0).inputs.size(), 1u);
  EXPECT_EQ(saved.model->signature(0).outputs.size(), 1u);
  for (const Backend backend : {Backend::kPlanned, Backend::kReference}) {
    const auto step = saved.Start("step", nullptr, backend);
    EXPECT_EQ(step->FindInput("count"), -1);
    ASSERT_TRUE(RunWith(*step, {Tensor::Of<float>({1, 2, 3, 4}, {2, 2})}).ok());
    EXPECT_THAT(OutputOf(*step), ElementsAre(-1, -1, 1, 1));
    ASSERT_TRUE(RunWith(*step, {Tensor::Of<float>({4, 5}, {1, 2})}).ok());
    EXPECT_THAT(OutputOf(*step), ElementsAre(1, 1));
    EXPECT_EQ(ValueOf(step->variables(), "count"), 2);
    const auto reset = saved.Start("reset", &step->variables(), backend);
    ASSERT_TRUE(RunWith(*reset, {}).ok());
    EXPECT_EQ(ValueOf(step->variables(), "count"), 0);
    ASSERT_TRUE(RunWith(*step, {Tensor::Of<float>({4, 5}, {1, 2})}).ok());
    EXPECT_THAT(OutputOf(*step), ElementsAre(0, 0));
  }
  EXPECT_EQ(count_.Read().item<float>(), 0) << "the host's own state is another one";
}

TEST_F(SavedFunctions, RestoreAndReset) {
  const Saved saved({{"step", step_.Concrete({"f32[3, 2]"})}});
  const auto step = saved.Start(nullptr);
  Variables& variables = step->variables();
  const Tensor two = Tensor::Scalar(2.0f);
  ASSERT_TRUE(variables.Set("count", two.data().view()).ok());
  ASSERT_TRUE(RunWith(*step, {Tensor::Full(DType::kF32, {3, 2}, 3)}).ok());
  EXPECT_EQ(ValueOf(variables, "count"), 3);
  EXPECT_EQ(ValueOf(variables, "mean"), 1);
  variables.Reset();
  EXPECT_EQ(ValueOf(variables, "count"), 0);
  ErrorCapture capture;
  EXPECT_EQ(variables.Set("count", Tensor::Of<float>({1, 2}).data().view()).code(),
            StatusCode::kInvalidArgument);
  EXPECT_STREQ(capture.message(), "variable 'count' is f32 [] and cannot become f32 [2]");
  EXPECT_FALSE(variables.Get("nothing").ok());
}

TEST_F(SavedFunctions, AFailedRunLeavesTheStateAsItWas) {
  const Saved saved({{"step", step_.Concrete({"f32[1, 2]"})}});
  const auto step = saved.Start("step");
  ASSERT_TRUE(RunWith(*step, {Tensor::Of<float>({1, 2}, {1, 2})}).ok());
  ErrorCapture capture;
  EXPECT_EQ(RunWith(*step, {Tensor::Of<float>({1, 200}, {1, 2})}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("too large: [[1, 200]]"));
  EXPECT_EQ(ValueOf(step->variables(), "count"), 1);
}

TEST_F(SavedFunctions, VariablesOfAnotherModelAreRefused) {
  const Saved one({{"step", step_.Concrete({"f32[1, 2]"})}});
  const Saved other({{"step", step_.Concrete({"f32[1, 2]"})}});
  const auto session = one.Start("step");
  SessionOptions options;
  options.variables = &session->variables();
  ErrorCapture capture;
  EXPECT_FALSE(Session::Create(*other.model, options).ok());
  EXPECT_STREQ(capture.message(), "SessionOptions::variables are those of another Model");
}

TEST_F(SavedFunctions, NamesAreUnique) {
  const auto step = step_.Concrete({"f32[1, 2]"});
  EXPECT_ERROR(SerializeFunctions({{"a", step}, {"a", step}}), "two signatures have the name 'a'");
  EXPECT_ERROR(SerializeFunctions({}), "at least one signature");
  EXPECT_ERROR(SerializeFunctions({{std::string("a\0b", 3), step}}), "has a zero byte");
  Variable twin("mean", Tensor::Scalar(1.0f));
  Function use = [&](const Tensor& x) { return x + twin; };
  EXPECT_ERROR(SerializeFunctions({{"a", step}, {"b", use.Concrete({"f32[]"})}}),
               "two variables have the name 'mean'");
}

TEST(Save, SignaturesShareWeights) {
  const Tensor weights = Tensor::Full(DType::kF32, {256, 256}, 0.25);
  Function one = [&](const Tensor& x) { return FullyConnected(x, weights); };
  Function two = [&](const Tensor& x) { return Relu(FullyConnected(x, weights)); };
  const auto alone = SerializeFunctions({{"one", one.Concrete({"f32[n<=4, 256]"})}}).size();
  const auto both = SerializeFunctions({{"one", one.Concrete({"f32[n<=4, 256]"})},
                                        {"two", two.Concrete({"f32[n<=9, 256]"})}})
                        .size();
  EXPECT_LT(both, alone + 4096);
}

TEST(Save, QuantisedVariablesThatACallAssigned) {
  const auto codes = [](const Tensor& x) { return Quantize(x, DType::kU8, PerTensor(0.5f, 3)); };
  Variable kept("kept", codes(Tensor::Of<float>({1, 2})));
  Function exchange = [&](const Tensor& x) {
    Tensor before = Dequantize(kept);
    kept.Assign(codes(x));
    return before;
  };
  exchange(Tensor::Of<float>({5, 6}));
  const Saved saved({{"exchange", exchange.Concrete({"f32[2]"})}});
  const auto session = saved.Start("exchange");
  ASSERT_TRUE(RunWith(*session, {Tensor::Of<float>({7, 8})}).ok());
  EXPECT_THAT(OutputOf(*session), ElementsAre(5, 6));
  ASSERT_TRUE(RunWith(*session, {Tensor::Of<float>({9, 9})}).ok());
  EXPECT_THAT(OutputOf(*session), ElementsAre(7, 8));
}

TEST(Save, LoopsAndChoicesRunOnTheDevice) {
  Variable seen("seen", Tensor::Scalar(int32_t{0}));
  Function collatz = [&](const Tensor& n) {
    return While([](const Tensors& v) { return v[0] != 1; },
                 [&](const Tensors& v) {
                   seen.AssignAdd(1);
                   return Tensors{Cond(
                                      v[0] % 2 == 0, [&] { return v[0] / 2; }, [&] { return v[0] * 3 + 1; }),
                                  v[1] + 1};
                 },
                 {n, Tensor::Scalar(int32_t{0})})[1];
  };
  const Saved saved({{"collatz", collatz.Concrete({"i32[]"})}});
  const auto session = saved.Start("collatz");
  ASSERT_TRUE(RunWith(*session, {Tensor::Scalar(int32_t{27})}).ok());
  EXPECT_EQ(*session->Output(0).value().as<int32_t>(), 111);
  ASSERT_TRUE(RunWith(*session, {Tensor::Scalar(int32_t{1})}).ok());
  EXPECT_EQ(*session->Output(0).value().as<int32_t>(), 0);
  EXPECT_EQ(*session->variables().Get("seen").value().as<int32_t>(), 111);
}

}  // namespace
}  // namespace skiff::eager
