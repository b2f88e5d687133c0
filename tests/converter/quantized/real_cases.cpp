// Operators that are computed element by element on real numbers.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "tests/converter/quantized/operator_cases.h"

namespace skiff::testing {
namespace {

using Real = long double;
using Function = Real (*)(Real x, const Operands& o);

struct Row {
  const char* op;
  const char* name;
  const char* attrs;
  Function function;
};

Real Sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

Real Gelu(Real x, const Operands& o) {
  if (o.As<GeluAttrs>().approximate == GeluKind::kErf) return x * (1 + std::erf(x / std::sqrt(Real(2)))) / 2;
  const Real root = std::sqrt(2 / std::acos(Real(-1)));
  return x * (1 + std::tanh(root * (x + Real(0.044715L) * x * x * x))) / 2;
}

Real Elu(Real x, const Operands& o) { return x < 0 ? Real(o.As<AlphaAttrs>().alpha) * (std::exp(x) - 1) : x; }

Real HardSigmoid(Real x, const Operands& o) {
  const auto& attrs = o.As<HardSigmoidAttrs>();
  return std::fmin(std::fmax(Real(attrs.alpha) * x + Real(attrs.beta), Real(0)), Real(1));
}

Real Clamp(Real x, const Operands& o) {
  return std::fmin(std::fmax(x, Real(o.As<ClampAttrs>().min)), Real(o.As<ClampAttrs>().max));
}

constexpr Row kUnary[] = {
    {"Exp", "", "", [](Real x, const Operands&) { return std::exp(x); }},
    {"Log", "", "", [](Real x, const Operands&) { return std::log(x); }},
    {"Sqrt", "", "", [](Real x, const Operands&) { return std::sqrt(x); }},
    {"Reciprocal", "", "", [](Real x, const Operands&) { return 1 / x; }},
    {"Sigmoid", "", "", [](Real x, const Operands&) { return Sigmoid(x); }},
    {"Tanh", "", "", [](Real x, const Operands&) { return std::tanh(x); }},
    {"Erf", "", "", [](Real x, const Operands&) { return std::erf(x); }},
    {"Floor", "", "", [](Real x, const Operands&) { return std::floor(x); }},
    {"Ceil", "", "", [](Real x, const Operands&) { return std::ceil(x); }},
    {"Round", "", "", [](Real x, const Operands&) { return std::nearbyint(x); }},
    {"Sign", "", "", [](Real x, const Operands&) { return Real((x > 0) - (x < 0)); }},
    {"Sin", "", "", [](Real x, const Operands&) { return std::sin(x); }},
    {"Cos", "", "", [](Real x, const Operands&) { return std::cos(x); }},
    {"Softplus", "", "", [](Real x, const Operands&) { return std::log1p(std::exp(x)); }},
    {"HardSwish", "", "",
     [](Real x, const Operands&) { return x * std::fmin(std::fmax(x + 3, Real(0)), Real(6)) / 6; }},
    {"Silu", "", "", [](Real x, const Operands&) { return x * Sigmoid(x); }},
    {"Gelu", "", "", Gelu},
    {"Gelu", "_tanh", "{approximate=tanh}", Gelu},
    {"Clamp", "", "{min=-1.71875, max=2.3125}", Clamp},
    {"Elu", "", "{alpha=0.7}", Elu},
    {"HardSigmoid", "", "", HardSigmoid},
};

struct Types {
  const char* name;
  const char* x;
  const char* result;
};

void AddUnary(CaseTable& table) {
  constexpr Types kTypes[] = {
      {"ties", "u8[6, 7, 16] {scale=0.0625, zero_point=100}", ": i8 {scale=0.03125, zero_point=-3}"},
      {"any_scale", "i8[6, 7, 16] {scale=0.07, zero_point=-9}", ": u8 {scale=0.013, zero_point=80}"},
      {"channels", "i8[6, 16, 4] {scale=[0.125, 0.1, 0.05, 0.02], zero_point=[0, 3, -5, 7], axis=2}",
       ": u8 {scale=0.02, zero_point=40}"},
      {"to_channels", "u8[6, 16, 2] {scale=0.05, zero_point=128}",
       ": i8 {scale=[0.05, 0.01], zero_point=[-3, 9], axis=2}"},
      {"wide", "i16[500] {scale=0.00048828125}", ": i16 {scale=0.0001, zero_point=7}"},
      {"to_floats", "u8[6, 7, 16] {scale=0.03, zero_point=100}", ""},
      {"from_floats", "f32[300]", ": i8 {scale=0.02, zero_point=-3}"},
  };
  for (const Row& row : kUnary) {
    for (const Types& types : kTypes) {
      const Function function = row.function;
      table.push_back({fmt::format("{}_{}{}", row.op, types.name, row.name),
                       fmt::format("input x: {} y{} = {}(x) {}", types.x, types.result, row.op, row.attrs),
                       [function](const Operands& o) -> Expected {
                         Reals y = RealsOf(o.inputs[0]);
                         for (Real& number : y.numbers) number = function(number, o);
                         return y;
                       }});
    }
  }
}

using Combination = Real (*)(Real a, Real b);

/// Of two operands that are broadcast.
Reals Combined(const Operands& o, size_t first, Combination combine) {
  const Reals a = RealsOf(o.inputs[first]);
  const Reals b = RealsOf(o.inputs[first + 1]);
  Reals y{BroadcastShape(a.shape, b.shape), {}};
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    y.numbers.push_back(
        combine(a.numbers[BroadcastAt(a.shape, y.shape, i)], b.numbers[BroadcastAt(b.shape, y.shape, i)]));
  }
  return y;
}

struct BinaryRow {
  const char* op;
  const char* name;
  const char* attrs;
  Combination combine;
};

struct Pair {
  const char* name;
  const char* a;
  const char* b;  ///< With the keyword.
  const char* result;
};

void AddBinary(CaseTable& table) {
  constexpr BinaryRow kRows[] = {
      {"Mul", "", "", [](Real a, Real b) { return a * b; }},
      {"Mul", "_limited", "{min=-2.3125, max=3.6875}",
       [](Real a, Real b) { return std::fmin(std::fmax(a * b, Real(-2.3125)), Real(3.6875)); }},
      {"Div", "", "", [](Real a, Real b) { return a / b; }},
      {"Pow", "", "", [](Real a, Real b) { return std::pow(a, b); }},
      {"PRelu", "", "", [](Real a, Real b) { return a < 0 ? a * b : a; }},
  };
  constexpr Pair kPairs[] = {
      {"ties", "u8[9, 5, 7] {scale=0.125, zero_point=100}", "input b: i8[5, 1] {scale=0.0625, zero_point=3}",
       ": i8 {scale=0.25, zero_point=-3}"},
      {"any_scale", "i8[9, 5, 7] {scale=0.06, zero_point=5}", "input b: u8[5, 7] {scale=0.03, zero_point=77}",
       ": u8 {scale=0.1, zero_point=90}"},
      {"channels", "i8[9, 5, 4] {scale=[0.125, 0.1, 0.05, 0.02], zero_point=[0, 3, -5, 7], axis=2}",
       "input b: f32[5, 4]", ": u8 {scale=0.07, zero_point=30}"},
      {"packed", "i8[9, 12] {scale=0.1, zero_point=5}",
       "const b: i4[12] {scale=[0.5, 0.3], zero_point=[1, -7], axis=0, block=6} = seed 3",
       ": i16 {scale=0.01, zero_point=300}"},
      {"to_floats", "u8[9, 7] {scale=0.1}", "input b: i8[9, 7] {scale=0.05, zero_point=3}", ""},
  };
  for (const BinaryRow& row : kRows) {
    for (const Pair& pair : kPairs) {
      const Combination combine = row.combine;
      table.push_back(
          {fmt::format("{}_{}{}", row.op, pair.name, row.name),
           fmt::format("input a: {} {} y{} = {}(a, b) {}", pair.a, pair.b, pair.result, row.op, row.attrs),
           [combine](const Operands& o) -> Expected { return Combined(o, 0, combine); }});
    }
  }
}

/// Both sides are multiples of 2^-32 and compared as such.
template <class Relation>
Expectation Comparison(Relation relation) {
  return [relation](const Operands& o) -> Expected {
    const Exact a = ExactOf(o.inputs[0]);
    const Exact b = ExactOf(o.inputs[1]);
    Stored truths{BroadcastShape(a.shape, b.shape), {}};
    for (int64_t i = 0; i < truths.shape.elements(); ++i) {
      truths.elements.push_back(relation(a.numbers[BroadcastAt(a.shape, truths.shape, i)],
                                         b.numbers[BroadcastAt(b.shape, truths.shape, i)])
                                    ? 1
                                    : 0);
    }
    return truths;
  };
}

void AddComparisons(CaseTable& table) {
  const struct {
    const char* op;
    Expectation expectation;
  } kRows[] = {
      {"Equal", Comparison(std::equal_to<>())},
      {"Less", Comparison(std::less<>())},
      {"LessOrEqual", Comparison(std::less_equal<>())},
      {"Greater", Comparison(std::greater<>())},
      {"GreaterOrEqual", Comparison(std::greater_equal<>())},
  };
  // Each has operands that are equal although their integers are not.
  constexpr Pair kPairs[] = {
      {"one_scale", "u8[90, 30] {scale=0.1, zero_point=100}", "input b: i8[30] {scale=0.1, zero_point=3}",
       ""},
      {"two_scales", "i8[90, 30] {scale=0.25}", "input b: u8[90, 1] {scale=0.75, zero_point=20}", ""},
      {"channels", "i8[900, 3] {scale=[0.5, 0.1, 0.2], zero_point=[0, 3, -5], axis=1}",
       "const b: i4[3] {scale=0.5} = [3, 0, 0]", ""},
      {"floats", "i8[90, 30] {scale=0.0625, zero_point=3}", "input b: f32[30]", ""},
  };
  for (const auto& row : kRows) {
    for (const Pair& pair : kPairs) {
      table.push_back({fmt::format("{}_{}", row.op, pair.name),
                       fmt::format("input a: {} {} y = {}(a, b)", pair.a, pair.b, row.op), row.expectation});
    }
  }
}

void AddChoices(CaseTable& table) {
  constexpr Pair kPairs[] = {
      {"ties", "u8[6, 7] {scale=0.25, zero_point=100}", "input b: i8[7] {scale=0.125, zero_point=3}",
       ": i8 {scale=0.5, zero_point=-3}"},
      {"floats", "f32[6, 7]", "input b: i8[7] {scale=0.1, zero_point=3}",
       ": u8 {scale=0.03, zero_point=128}"},
      {"to_floats", "u8[6, 7] {scale=0.1, zero_point=100}", "input b: i8[7] {scale=0.1, zero_point=3}", ""},
  };
  for (const Pair& pair : kPairs) {
    table.push_back(
        {fmt::format("Where_{}", pair.name),
         fmt::format("input c: bool[6, 1] input a: {} {} y{} = Where(c, a, b)", pair.a, pair.b, pair.result),
         [](const Operands& o) -> Expected {
           const std::vector<int64_t> truths = o.inputs[0].ToInts();
           Reals y = Combined(o, 1, [](Real a, Real) { return a; });
           const Reals other = Combined(o, 1, [](Real, Real b) { return b; });
           for (size_t i = 0; i < y.numbers.size(); ++i) {
             if (truths[i / 7] == 0) y.numbers[i] = other.numbers[i];
           }
           return y;
         }});
  }
}

}  // namespace

void AddRealCases(CaseTable& table) {
  AddUnary(table);
  AddBinary(table);
  AddComparisons(table);
  AddChoices(table);
}

}  // namespace skiff::testing
