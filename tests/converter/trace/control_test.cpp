// Cond, While and effects: eager and traced do the same.
#include "trace/control.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/quantization.h"
#include "skiff/print.h"
#include "trace/effects.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

using testing::ElementsAre;

Tensor Number(float value) { return Tensor::Scalar(value); }
Tensor Whole(int32_t value) { return Tensor::Scalar(value); }

/// Collects printed lines while it lives.
class Printed {
 public:
  Printed() {
    lines().clear();
    SetPrintSink([](void*, const char* text) { lines().emplace_back(text); }, nullptr);
  }
  ~Printed() { SetPrintSink(nullptr, nullptr); }
  static std::vector<std::string>& lines() {
    static std::vector<std::string> all;
    return all;
  }
};

/// Runs a check in both modes.
template <class Check>
void InBothModes(Check&& check) {
  for (const bool eagerly : {true, false}) {
    const ScopedRunEagerly mode(eagerly);
    SCOPED_TRACE(eagerly ? "eager" : "traced");
    check();
  }
}

TEST(Cond, ChoosesInBothModes) {
  Function f = [](const Tensor& x) {
    return Cond(
        x > 0, [&] { return x + 1; }, [&] { return x; });
  };
  InBothModes([&] {
    EXPECT_EQ(f(Number(2)).item<float>(), 3);
    EXPECT_EQ(f(Number(-2)).item<float>(), -2);
  });
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST(Cond, BranchesCaptureAndNest) {
  Function sign = [](const Tensor& x, const Tensor& scale) {
    Tensor zero = scale * 0;
    return Cond(
        x > 0, [&] { return scale; },
        [&] {
          return Cond(
              x < 0, [&] { return -scale + zero; }, [&] { return zero; });
        });
  };
  InBothModes([&] {
    for (const float x : {3.0f, -3.0f, 0.0f}) {
      EXPECT_THAT(sign(Number(x), Tensor::Of<float>({5, 6})).ToVector<float>(), ElementsAre(x > 0   ? 5
                                                                                            : x < 0 ? -5
                                                                                                    : 0,
                                                                                            x > 0   ? 6
                                                                                            : x < 0 ? -6
                                                                                                    : 0));
    }
  });
}

TEST(While, LoopsInBothModes) {
  Function power = [](const Tensor& x, const Tensor& n) {
    return While([&](const Tensors& v) { return v[0] < n; },
                 [&](const Tensors& v) {
                   return Tensors{v[0] + 1, MatMul(v[1], x)};
                 },
                 {Whole(0), x * 0 + Tensor::Of<float>({1, 0, 0, 1}, {2, 2})})[1];
  };
  const Tensor x = Tensor::Of<float>({1, 1, 1, 0}, {2, 2});
  InBothModes([&] {
    EXPECT_THAT(power(x, Whole(10)).ToVector<float>(), ElementsAre(89, 55, 55, 34));
    EXPECT_THAT(power(x, Whole(0)).ToVector<float>(), ElementsAre(1, 0, 0, 1));
  });
  EXPECT_EQ(power.trace_count(), 1u);
}

TEST(While, ItsVariablesMayBeQuantised) {
  const auto codes = [](const Tensor& x, float scale) {
    return Quantize(x, DType::kU8, PerTensor(scale, 3));
  };
  const auto below_ten = [](const Tensor& v) {
    return ReduceMax(Dequantize(v), {.keep_dims = false}) < 10.0f;
  };
  Function doubled = [&](const Tensor& x) {
    return Dequantize(While(
        below_ten, [&](const Tensor& v) { return codes(Dequantize(v) * 2.0f, 0.5f); }, codes(x, 0.5f)));
  };
  Function rescaled = [&](const Tensor& x) {
    return While(
        below_ten, [&](const Tensor& v) { return codes(Dequantize(v) * 2.0f, 0.25f); }, codes(x, 0.5f));
  };
  InBothModes([&] {
    EXPECT_THAT(doubled(Tensor::Of<float>({1, 3})).ToVector<float>(), ElementsAre(4, 12));
    EXPECT_ERROR(rescaled(Tensor::Of<float>({1, 3})),
                 "changes its type from u8[2] {scale=0.5, zero_point=3} to u8[2] {scale=0.25, zero_point=3}");
  });
}

TEST(While, SwapsItsVariables) {
  Function swap = [](const Tensor& a, const Tensor& b) {
    return While([](const Tensors& v) { return v[2] > 0; },
                 [](const Tensors& v) {
                   return Tensors{v[1], v[0], v[2] - 1};
                 },
                 {a, b, Whole(3)});
  };
  InBothModes([&] {
    const Tensors swapped = swap(Number(1), Number(2));
    EXPECT_EQ(swapped[0].item<float>(), 2);
    EXPECT_EQ(swapped[1].item<float>(), 1);
  });
}

TEST(Control, CarriesVariablesThroughBodies) {
  Variable total("total", Whole(0));
  Variable calls("calls", Whole(0));
  Function sum = [&](const Tensor& n) {
    While([&](const Tensor& i) { return i <= n; },
          [&](const Tensor& i) {
            Cond(
                i % 2 == 0, [&] { total.AssignAdd(i); }, [&] { calls.AssignAdd(1); });
            return i + 1;
          },
          Whole(1));
    return total + 0;
  };
  InBothModes([&] {
    total.Assign(Whole(0));
    calls.Assign(Whole(0));
    EXPECT_EQ(sum(Whole(7)).item<int32_t>(), 2 + 4 + 6);
    EXPECT_EQ(calls.Read().item<int32_t>(), 4);
    EXPECT_EQ(sum(Whole(3)).item<int32_t>(), 12 + 2);
  });
}

TEST(Control, SharesAnOpenExtent) {
  Function smooth = [](const Tensor& x, const Tensor& n) {
    return While([&](const Tensors& v) { return v[1] < n; },
                 [&](const Tensors& v) {
                   return Tensors{Cond(
                                      ReduceMax(v[0], {.keep_dims = false}) > 100.0f,
                                      [&] { return v[0] / 2; }, [&] { return v[0] * 2 + x; }),
                                  v[1] + 1};
                 },
                 {x, Whole(0)})[0];
  };
  for (int n = 1; n < 6; ++n) {
    const Tensor x = Tensor::Full(DType::kF32, {n, 2}, n);
    std::vector<float> expected;
    {
      const ScopedRunEagerly eagerly;
      expected = smooth(x, Whole(6)).ToVector<float>();
    }
    EXPECT_EQ(smooth(x, Whole(6)).ToVector<float>(), expected);
  }
  EXPECT_EQ(smooth.trace_count(), 2u);
}

TEST(Print, RunsAtEveryCallWhereCodeRunsOncePerTrace) {
  const Printed printed;
  int code = 0;
  Function f = [&](const Tensor& x) {
    ++code;
    Print({"x is", x, "!"});
    return x * 2;
  };
  for (int i = 0; i < 5; ++i) f(Number(static_cast<float>(i)));
  EXPECT_EQ(code, 1);
  EXPECT_THAT(Printed::lines(), ElementsAre("x is 0 !", "x is 1 !", "x is 2 !", "x is 3 !", "x is 4 !"));
}

TEST(Print, KeepsTheOrderOfTheProgramInBothModes) {
  Function f = [](const Tensor& n) {
    Print({"begin"});
    While([&](const Tensor& i) { return i < n; },
          [](const Tensor& i) {
            Cond(
                i == 1, [&] { Print({"one"}); }, [] {});
            Print({"i =", i});
            return i + 1;
          },
          Whole(0));
    Print({"end", n});
    return n;
  };
  InBothModes([&] {
    const Printed printed;
    f(Whole(2));
    EXPECT_THAT(Printed::lines(), ElementsAre("begin", "i = 0", "one", "i = 1", "end 2"));
  });
}

TEST(Print, ShowsTheEndsOfLargeTensors) {
  const Printed printed;
  Print({Tensor::Of<float>({1.5f, -2, 1e10f}), Tensor::Full(DType::kBool, {2, 1}, 1),
         Tensor::Zeros(DType::kI64, {0, 3})});
  std::vector<int32_t> many(1000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int32_t>(i);
  Print({Tensor::Of(many, {500, 2})});
  EXPECT_EQ(Printed::lines()[0], "[1.5, -2, 1e+10] [[true], [true]] []");
  EXPECT_EQ(Printed::lines()[1], "[[0, 1], [2, 3], [4, 5], ..., [994, 995], [996, 997], [998, 999]]");
}

TEST(Assert, FiresInBothModes) {
  Function f = [](const Tensor& x) {
    Assert(x > 0, {"x must be positive, is", x});
    return x;
  };
  InBothModes([&] {
    EXPECT_EQ(f(Number(1)).item<float>(), 1);
    EXPECT_ERROR(f(Number(-1)), "x must be positive, is -1");
    EXPECT_ERROR(f(Number(-1)), "control_test.cpp:");
    EXPECT_EQ(f(Number(2)).item<float>(), 2);
  });
}

TEST(Assert, LeavesVariablesAloneWhenItFires) {
  Variable state("state", Whole(1));
  Function f = [&](const Tensor& x) {
    state.Assign(x);
    Assert(x > 0, {"no"});
  };
  f(Whole(5));
  EXPECT_ERROR(f(Whole(-5)), "no");
  EXPECT_EQ(state.Read().item<int32_t>(), 5);
}

TEST(CheckNumerics, FiresInBothModes) {
  Function f = [](const Tensor& x) { return CheckNumerics(Log(x), "log of x"); };
  InBothModes([&] {
    EXPECT_EQ(f(Number(1)).item<float>(), 0);
    EXPECT_ERROR(f(Number(-1)), "log of x: element 0 of f32 [] is NaN");
    EXPECT_ERROR(f(Number(0)), "is -Inf");
  });
}

TEST(CheckNumerics, AsAModeNamesTheFirstOperator) {
  Function f = [](const Tensor& x) {
    const Tensor root = Sqrt(x);
    return Exp(root + 1) * 2;
  };
  InBothModes([&] {
    EXPECT_TRUE(std::isnan(f(Number(-1)).item<float>()));
    const ScopedCheckEveryResult checked;
    EXPECT_ERROR(f(Number(-1)), "Sqrt at control_test.cpp:");
    EXPECT_GT(f(Number(4)).item<float>(), 0);
  });
}

TEST(Control, LoopVariablesMayGrow) {
  Function doubles = [](const Tensor& x) {
    return While([](const Tensor& v) { return ReduceSum(v, {.keep_dims = false}) < 10.0f; },
                 [](const Tensor& v) {
                   return Concat({v, v}, 0);
                 },
                 x);
  };
  InBothModes([&] {
    EXPECT_EQ(doubles(Tensor::Of<float>({1})).shape(), (Shape{16}));
    EXPECT_EQ(doubles(Tensor::Of<float>({4, 1})).shape(), (Shape{4}));
    EXPECT_EQ(doubles(Tensor::Of<float>({12})).shape(), (Shape{1}));
  });
}

TEST(Control, MisuseNamesThePlaceAndTheRemedy) {
  Function types = [](const Tensor& x) {
    return Cond(
        x > 0, [&] { return x; }, [&] { return Cast(x, DType::kI32); });
  };
  EXPECT_ERROR(types(Number(1)), "control_test.cpp:");
  EXPECT_ERROR(types(Number(1)), "i32");
  Function turns = [](const Tensor& x) {
    return While([](const Tensor& v) { return ReduceSum(v, {.keep_dims = false}) < 10.0f; },
                 [](const Tensor& v) {
                   return Reshape(v, {1, -1});
                 },
                 x);
  };
  InBothModes([&] {
    EXPECT_ERROR(turns(Tensor::Of<float>({1})), "loop variable 0");
    EXPECT_ERROR(turns(Tensor::Of<float>({1})), "control_test.cpp:");
  });
  Tensor escaped;
  Function escapes = [&](const Tensor& x) {
    Cond(
        x > 0, [&] { escaped = x * 2; }, [&] { escaped = x * 3; });
    return escaped + 1;
  };
  EXPECT_ERROR(escapes(Number(1)), "Return it from the body");
  EXPECT_ERROR(Cond(
                   Number(1), [] {}, [] {}),
               "must be a bool of one element, not f32[]");
}

}  // namespace
}  // namespace skiff::eager
