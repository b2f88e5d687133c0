// Functions: when they trace, what they find again, and that graph and eager agree.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "expect_error.h"
#include "graph/quantization.h"
#include "skiff/log.h"
#include "trace/effects.h"
#include "trace/function.h"
#include "trace/ops.h"
#include "trace/variable.h"

namespace skiff::eager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor Row(const std::vector<float>& values) { return Tensor::Of(values); }

TEST(Function, TracesOnceAndComputesTheSame) {
  int runs = 0;
  Function mse = [&](const Tensor& a, const Tensor& b) {
    ++runs;
    return ReduceMean((a - b) * (a - b));
  };
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(mse(Row({1, 2}), Row({3, 5})).item<float>(), 6.5f);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(mse.trace_count(), 1u);
  EXPECT_EQ(mse.statistics().hits, 2u);
  const ScopedRunEagerly eagerly;
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(mse(Row({1, 2}), Row({3, 5})).item<float>(), 6.5f);
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(mse.statistics().eager_calls, 3u);
}

TEST(Function, TensorArgumentsTraceOnceOtherArgumentsOncePerValue) {
  Function by_tensor = [](const Tensor& x, const Tensor& n) { return x * n; };
  Function by_value = [](const Tensor& x, int n) { return x * n; };
  for (const float n : {2.0f, 3.0f}) by_tensor(Row({1}), Tensor::Scalar(n));
  EXPECT_THAT(by_value(Row({1, 2}), 2).ToVector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(by_value(Row({1, 2}), 3).ToVector<float>(), ElementsAre(3, 6));
  EXPECT_EQ(by_tensor.trace_count(), 1u);
  EXPECT_EQ(by_value.trace_count(), 2u);
}

TEST(Function, StringsAreTheirOwnWhateverIsInThem) {
  Function sizes = [](const std::string& a, const std::string& b, const Tensor& x) {
    return x * static_cast<float>(10 * a.size() + b.size());
  };
  EXPECT_EQ(sizes("x\", \"y", "z", Row({1})).item<float>(), 61);
  EXPECT_EQ(sizes("x", "y\", \"z", Row({1})).item<float>(), 16);
  EXPECT_EQ(sizes("x\\", "z", Row({1})).item<float>(), 21);
  EXPECT_EQ(sizes.trace_count(), 3u);
  EXPECT_EQ(sizes.ConcreteFunctions()[0]->static_arguments(), R"("x\", \"y", "z")");
}

TEST(Function, QuantisedResultsStandForTheSameNumbers) {
  const auto quantized = [](const Tensor& x) { return Quantize(x, DType::kU8, PerTensor(0.5f, 3)); };
  Function traced = quantized;
  const Tensor codes = traced(Row({1, 2, 3}));
  EXPECT_TRUE(SameQuantization(codes.data().quantization(), PerTensor(0.5f, 3)));
  EXPECT_THAT(codes.data().ToDoubles(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Dequantize(codes).ToVector<float>(), ElementsAre(1, 2, 3));
}

/// Eager mode has the count at once, a traced function in each run.
TEST(Function, WhatIsCountedIsAsLargeAsItIs) {
  const auto above_zero = [](const Tensor& x) {
    const Tensor places = NonZero(x > 0.0f);
    return Gather(x, Reshape(places, {-1})) * 2.0f;
  };
  Function traced = above_zero;
  Function different = [](const Tensor& x) { return Unique(x).counts; };
  for (const std::vector<float>& row : {std::vector<float>{1, -2, 3}, {-1, -1, -1}, {4, 4, 6}}) {
    const std::vector<float> expected = above_zero(Row(row)).ToVector<float>();
    EXPECT_EQ(traced(Row(row)).ToVector<float>(), expected);
    EXPECT_EQ(different(Row(row)).elements(), Unique(Row(row)).values.elements());
  }
  EXPECT_EQ(traced.trace_count(), 1u);
}

TEST(Function, AnExtentSeenWithASecondValueBecomesOpen) {
  Function doubled = [](const Tensor& x) { return x + x; };
  for (int n = 1; n <= 10; ++n) {
    const Tensor y = doubled(Tensor::Full(DType::kF32, {n, 3}, n));
    EXPECT_EQ(y.shape(), Shape({n, 3}));
    EXPECT_EQ(y.ToVector<float>().back(), 2.0f * static_cast<float>(n));
  }
  EXPECT_EQ(doubled.trace_count(), 2u);
  EXPECT_EQ(doubled.ConcreteFunctions()[1]->SignatureText(), "function(x0: f32[x0#0, 3]) -> (f32[x0#0, 3])");
}

TEST(Function, ExtentsThatWereAlwaysEqualShareASymbol) {
  Function sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  sum(Row({1}), Row({2}));
  EXPECT_THAT(sum(Row({1, 2}), Row({3, 4})).ToVector<float>(), ElementsAre(4, 6));
  EXPECT_EQ(sum.ConcreteFunctions()[1]->arguments()[1].Text(), "f32[x0#0]");
  EXPECT_THAT(sum(Row({1, 2, 3}), Row({1})).ToVector<float>(), ElementsAre(2, 3, 4));
  EXPECT_EQ(sum.trace_count(), 3u);
}

TEST(Function, CodeThatNeedsNumbersIsTracedForEach) {
  Function mean = [](const Tensor& x) { return ReduceSum(x) / static_cast<float>(x.dim(0)); };
  for (int n = 1; n <= 4; ++n) EXPECT_FLOAT_EQ(mean(Tensor::Full(DType::kF32, {n}, 3)).item<float>(), 3.0f);
  EXPECT_EQ(mean.trace_count(), 4u);
  Function exact([](const Tensor& x) { return x * 2; }, {.relax_shapes = false, .retrace_warning = 0});
  for (int n = 1; n <= 4; ++n) exact(Tensor::Zeros(DType::kF32, {n}));
  EXPECT_EQ(exact.trace_count(), 4u);
}

TEST(Function, AnInputSignatureFixesOneTrace) {
  FunctionOptions options{.name = "peak", .input_signature = {"f32[n<=8, 2]"}};
  options.buckets = {{{"n", DimRange(1)}}, {{"n", DimRange(2, 4)}}};
  Function peak([](const Tensor& x) { return ReduceMax(x, {.axes = {0}, .keep_dims = false}); }, options);
  for (int n = 1; n <= 8; ++n)
    EXPECT_THAT(peak(Tensor::Full(DType::kF32, {n, 2}, n)).ToVector<float>(), ElementsAre(n, n));
  EXPECT_EQ(peak.trace_count(), 1u);
  EXPECT_ERROR(peak(Tensor::Zeros(DType::kF32, {9, 2})),
               "'peak' was called with (f32[9, 2]), which its input_signature (f32[n<=8, 2])");
  EXPECT_ERROR(peak(Tensor::Zeros(DType::kI32, {1, 2})), "i32[1, 2]");
  EXPECT_EQ(peak.trace_count(), 1u) << "a call that is refused traces nothing";
}

TEST(Function, ResultsMayBeManyAndNone) {
  Function both = [](const Tensors& xs) { return std::pair(xs[0] + xs[1], xs[0] - xs[1]); };
  const auto [sum, difference] = both({Row({5}), Row({3})});
  EXPECT_EQ(sum.item<float>(), 8);
  EXPECT_EQ(difference.item<float>(), 2);
  Function constant = [](const Tensor& x) { return Tensors{Row({4}), x, x}; };
  const Tensors results = constant(Row({1, 2}));
  EXPECT_THAT(results[0].ToVector<float>(), ElementsAre(4));
  EXPECT_THAT(results[2].ToVector<float>(), ElementsAre(1, 2));
}

TEST(Function, InlinesOthers) {
  Function square = [](const Tensor& x) { return x * x; };
  Function quartic = [&](const Tensor& x) { return square(square(x)); };
  EXPECT_EQ(quartic(Row({3})).item<float>(), 81);
  EXPECT_EQ(square.trace_count(), 0u);
  EXPECT_EQ(square.statistics().inlined_calls, 2u);
  EXPECT_THAT(quartic.ConcreteFunctions()[0]->GraphText(), HasSubstr("Mul(Mul"));
}

/// Both are being traced when they call each other.
TEST(Function, ThatCallEachOtherAreTracedSideBySide) {
  std::latch both(2);
  std::function<Tensor(const Tensor&)> call_left, call_right;
  Function left([&](const Tensor& x, bool calls) {
    if (!calls) return x + 1.0f;
    both.arrive_and_wait();
    return call_right(x);
  });
  Function right([&](const Tensor& x, bool calls) {
    if (!calls) return x + 2.0f;
    both.arrive_and_wait();
    return call_left(x);
  });
  call_left = [&](const Tensor& x) { return left(x, false); };
  call_right = [&](const Tensor& x) { return right(x, false); };
  float from_left = 0;
  std::thread other([&] { from_left = left(Tensor::Scalar(0.0f), true).item<float>(); });
  EXPECT_EQ(right(Tensor::Scalar(0.0f), true).item<float>(), 1);
  other.join();
  EXPECT_EQ(from_left, 2);
}

TEST(Function, TellsItsStatisticsWhileAnotherThreadCompiles) {
  Function f([](const Tensor& x, int n) { return x * n; });
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (const int n : {1, 2, 3}) f(Row({1}), n);
    over = true;
  });
  double seconds = 0;
  do {
    const double now = f.statistics().compile_seconds;
    EXPECT_GE(now, seconds);
    seconds = now;
    for (const auto& concrete : f.ConcreteFunctions()) EXPECT_LE(concrete->calls(), 1u);
  } while (!over);
  other.join();
  EXPECT_GT(f.statistics().compile_seconds, 0);
}

TEST(Function, KeepsTheLastTraces) {
  Function f([](const Tensor& x, int n) { return x * n; },
             {.max_concrete_functions = 2, .retrace_warning = 0});
  for (const int n : {1, 2, 3, 2, 1}) f(Row({1}), n);
  EXPECT_EQ(f.ConcreteFunctions().size(), 2u);
  EXPECT_EQ(f.trace_count(), 4u);
  EXPECT_EQ(f.statistics().dropped, 2u);
}

TEST(Function, ForgetsTheKindsOfCallsOfLongAgo) {
  Function f([](const Tensor& x, int n) { return x * n; },
             {.max_concrete_functions = 1, .retrace_warning = 0});
  for (int n = 0; n < 100; ++n) f(Row({1}), n);
  EXPECT_EQ(f.trace_count(), 100u);
  EXPECT_EQ(f.statistics().families, 64u);
  f(Row({1, 2}), 99);
  EXPECT_EQ(f.ConcreteFunctions()[0]->arguments()[0].Text(), "f32[x0#0]") << "the last ones are remembered";
}

TEST(Function, ConcreteFunctionsCanBeAskedFor) {
  Function f = [](const Tensor& x, int n) { return x * n; };
  const auto concrete = f.Concrete({"f32[n<=4, 2]"}, 3);
  EXPECT_EQ(concrete->SignatureText(), "function(x0: f32[n<=4, 2], 3) -> (f32[n, 2])");
  EXPECT_EQ(concrete.get(), f.Concrete({"f32[n<=4, 2]"}, 3).get());
  EXPECT_EQ(f(Tensor::Full(DType::kF32, {2, 2}, 5), 3).ToVector<float>()[0], 15);
  EXPECT_EQ(f.trace_count(), 1u);
  EXPECT_EQ(concrete->calls(), 1u);
}

TEST(Function, AnUnnamedExtentIsEqualToNoOther) {
  Function sum = [](const Tensor& a, const Tensor& b) { return ReduceSum(a) + ReduceSum(b); };
  const auto concrete = sum.Concrete({"f32[?]", "f32[?, ?]"});
  EXPECT_EQ(concrete->Call({Row({1, 2}), Tensor::Full(DType::kF32, {3, 1}, 4)})[0].item<float>(), 15);
  EXPECT_EQ(concrete.get(), sum.Concrete({"f32[?]", "f32[?, ?]"}).get());
  EXPECT_EQ(sum(Row({1}), Tensor::Full(DType::kF32, {2, 3}, 1)).item<float>(), 7);
  EXPECT_EQ(sum.trace_count(), 1u);
}

std::vector<std::string> g_logged;

TEST(Function, AdvisesOnceAgainstRetracing) {
  g_logged.clear();
  SetLogSink([](void*, LogLevel, const char* message) { g_logged.emplace_back(message); }, nullptr);
  Function f([](const Tensor& x) { return x * static_cast<float>(x.dim(0)); }, {.name = "scaled"});
  for (int n = 1; n < 9; ++n) f(Tensor::Zeros(DType::kF32, {n, 4}));
  Function g([](const Tensor& x, float n) { return x * n; }, {.name = "times"});
  for (int n = 1; n < 9; ++n) g(Row({1}), static_cast<float>(n));
  SetLogSink(nullptr, nullptr);
  ASSERT_EQ(g_logged.size(), 2u);
  EXPECT_THAT(g_logged[0], HasSubstr("'scaled' was traced 5 times"));
  EXPECT_THAT(g_logged[0], HasSubstr("extent 0 of argument 'x0' was 1, 2, 3, 4, 5"));
  EXPECT_THAT(g_logged[0], HasSubstr("input_signature = {\"f32[n0, 4]\"}"));
  EXPECT_THAT(g_logged[1], HasSubstr("Tensor::Scalar"));
}

TEST(Function, MisuseNamesThePlaceAndTheRemedy) {
  Function branch = [](const Tensor& x) { return ReduceMax(x) > 0 ? x : -x; };
  EXPECT_ERROR(branch(Row({1})), "is used as a C++ bool");
  EXPECT_ERROR(branch(Row({1})), "function_test.cpp:");
  EXPECT_ERROR(branch(Row({1})), "Cond()");
  Tensor leaked;
  Function leak = [&](const Tensor& x) { return leaked = x * 2; };
  leak(Row({1}));
  EXPECT_ERROR(leaked + 1, "the trace of 'function', which is over");
  EXPECT_ERROR(leaked.data(), "Return it from the function");
  Function use = [&](const Tensor& x) { return x + leaked; };
  EXPECT_ERROR(use(Row({1})), "which is over");
  Function create = [](const Tensor& x) {
    Variable inside("inside", Row({0}));
    return x + inside;
  };
  EXPECT_ERROR(create(Row({1})), "variable 'inside' is created while 'function' is traced");
}

TEST(Function, PassesCanBeOffAndTheReferenceCanRun) {
  const auto net = [](const Tensor& x) {
    return Relu(FullyConnected(x, Tensor::Full(DType::kF32, {4, 3}, 0.5),
                               Tensor::Full(DType::kF32, {4}, -1))) *
               2 +
           1;
  };
  Function fast(net);
  FunctionOptions plain{.name = "plain", .backend = Backend::kReference};
  for (const Pass& pass : Pipeline()) {
    if (!pass.required) plain.pipeline.disabled.insert(pass.name);
  }
  Function slow(net, plain);
  const Tensor x = Tensor::Of<float>({1, 2, 3, -1, 0, 1}, {2, 3});
  EXPECT_EQ(slow(x).ToVector<float>(), net(x).ToVector<float>());
  EXPECT_EQ(fast(x).ToVector<float>(), net(x).ToVector<float>());
}

TEST(Variable, IsSharedAndAssignedInTheOrderOfTheProgram) {
  Variable count("count", Tensor::Scalar(int32_t{10}));
  Function add = [&](const Tensor& x) {
    Tensor before = count;
    count.AssignAdd(x);
    count.Assign(count * 2);
    return before;
  };
  Function read = [&] { return count + 0; };
  EXPECT_EQ(add(Tensor::Scalar(int32_t{1})).item<int32_t>(), 10);
  EXPECT_EQ(add(Tensor::Scalar(int32_t{2})).item<int32_t>(), 22);
  EXPECT_EQ(count.Read().item<int32_t>(), 48);
  EXPECT_EQ(read().item<int32_t>(), 48);
  count.Assign(Tensor::Scalar(int32_t{5}));
  EXPECT_EQ(read().item<int32_t>(), 5);
  EXPECT_EQ(add.trace_count(), 1u);
  EXPECT_ERROR(count.Assign(Row({1})), "variable 'count' is i32[] and cannot become f32[1]");
}

TEST(Variable, QuantisedOnesKeepTheirScale) {
  const auto codes = [](const Tensor& x, float scale) {
    return Quantize(x, DType::kU8, PerTensor(scale, 3));
  };
  Variable kept("kept", codes(Row({1, 2}), 0.5f));
  Function exchange = [&](const Tensor& x) {
    Tensor before = Dequantize(kept);
    kept.Assign(codes(x, 0.5f));
    return before;
  };
  EXPECT_THAT(exchange(Row({5, 6})).ToVector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(exchange(Row({7, 8})).ToVector<float>(), ElementsAre(5, 6));
  EXPECT_THAT(Dequantize(kept).ToVector<float>(), ElementsAre(7, 8));
  const std::string refusal =
      "variable 'kept' is u8[2] {scale=0.5, zero_point=3} and cannot become u8[2] {scale=0.25, zero_point=3}";
  Function rescale = [&](const Tensor& x) { kept.Assign(codes(x, 0.25f)); };
  EXPECT_ERROR(rescale(Row({5, 6})), refusal);
  EXPECT_ERROR(kept.Assign(codes(Row({5, 6}), 0.25f)), refusal);
  EXPECT_ERROR(kept.Assign(Tensor::Of<uint8_t>({1, 2})), "cannot become u8[2]");
  EXPECT_THAT(Dequantize(kept).ToVector<float>(), ElementsAre(7, 8));
}

TEST(Variable, IsReadAndAssignedByThreads) {
  Variable value("value", Row({0, 0}));
  const auto work = [&](float number) {
    Function put = [&](const Tensor& x) { value.Assign(x); };
    const Tensor x = Row({number, number});
    for (int i = 0; i < 500; ++i) {
      put(x);
      const std::vector<float> seen = value.Read().ToVector<float>();
      ASSERT_EQ(seen[0], seen[1]);
    }
  };
  std::thread other(work, 1.0f);
  work(2.0f);
  other.join();
}

TEST(Function, LargeInputsAreLentAndMayChange) {
  Function sum = [](const Tensor& x) { return ReduceSum(x); };
  for (int i = 1; i < 4; ++i)
    EXPECT_FLOAT_EQ(sum(Tensor::Full(DType::kF32, {64, 1024}, i)).item<float>(),
                    65536.0f * static_cast<float>(i));
}

}  // namespace
}  // namespace skiff::eager
