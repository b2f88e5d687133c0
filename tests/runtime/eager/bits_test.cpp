// Remainders, shifts, bits, and tests of floats.
#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

Tensor Line(DType dtype, const std::vector<double>& values) {
  return Make(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(Mod, TheSignIsTheDivisorsOrTheDividends) {
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kF64, DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    const Tensor a = Line(dtype, {7, -7, 7, -7, 6, -6});
    const Tensor b = Line(dtype, {3, 3, -3, -3, 3, -3});
    ExpectValues(RunOp(OpCode::kMod, {a, b}, ModAttrs{}), {1, 2, -2, -1, 0, 0});
    ExpectValues(RunOp(OpCode::kMod, {a, b}, ModAttrs{true}), {1, -1, 1, -1, 0, 0});
  }
  const Tensor x = F32({4}, {5.5, -5.5, kInf, 1});
  ExpectValues(RunOp(OpCode::kMod, {x, F32({4}, {2, 2, 2, 0})}, ModAttrs{true}), {1.5, -1.5, kNan, kNan});
  ExpectValues(RunOp(OpCode::kMod, {x, F32({4}, {2, 2, 2, 0})}, ModAttrs{}), {1.5, 0.5, kNan, kNan});
}

TEST(Mod, IntegersNeverTrap) {
  const auto lowest = std::numeric_limits<int64_t>::min();
  for (const bool truncate : {true, false}) {
    const ModAttrs attrs{truncate};
    EXPECT_EQ(RunOp(OpCode::kMod, {List({lowest, lowest, 5}), List({-1, 0, 0})}, attrs).bytes,
              List({0, 0, 0}).bytes);
    const Tensor big = MakeExact<uint64_t>(DType::kU64, {1}, {~uint64_t{0}});
    EXPECT_EQ(RunOp(OpCode::kMod, {big, MakeExact<uint64_t>(DType::kU64, {1}, {10})}, attrs).bytes,
              MakeExact<uint64_t>(DType::kU64, {1}, {5}).bytes);
    const Tensor flags = Line(DType::kBool, {1});
    EXPECT_EQ(Op(OpCode::kMod, {flags, flags}, attrs).Run().status.code(), StatusCode::kUnsupported);
  }
}

TEST(Shift, WhatIsShiftedOutIsGone) {
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    const auto width = static_cast<double>(8 * DTypeSize(dtype));
    const Tensor by = Line(dtype, {1, 0, width - 1, width, 200});
    ExpectValues(RunOp(OpCode::kShiftRight, {Line(dtype, {16, 9, 100, 255, 255}), by}), {8, 9, 0, 0, 0});
    ExpectValues(RunOp(OpCode::kShiftLeft, {Line(dtype, {16, 9, 2, 255, 255}), by}), {32, 9, 0, 0, 0});
  }
  ExpectValues(RunOp(OpCode::kShiftLeft, {Line(DType::kU8, {255}), Line(DType::kU8, {4})}), {240});
  const Tensor many = MakeExact<uint64_t>(DType::kU64, {1}, {~uint64_t{0}});
  EXPECT_EQ(RunOp(OpCode::kShiftLeft, {many, many}).bytes, MakeExact<uint64_t>(DType::kU64, {1}, {0}).bytes);
  for (DType dtype : {DType::kI32, DType::kBool, DType::kF32}) {
    EXPECT_EQ(Op(OpCode::kShiftLeft, {Line(dtype, {1}), Line(dtype, {1})}).Run().status.code(),
              StatusCode::kUnsupported);
  }
}

TEST(Bits, EveryIntegerDType) {
  for (DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64,
                      DType::kU64}) {
    const Tensor a = Line(dtype, {12, 5});
    const Tensor b = Line(dtype, {10, 0});
    ExpectValues(RunOp(OpCode::kBitwiseAnd, {a, b}), {8, 0});
    ExpectValues(RunOp(OpCode::kBitwiseOr, {a, b}), {14, 5});
    ExpectValues(RunOp(OpCode::kBitwiseXor, {a, b}), {6, 5});
    ExpectValues(RunOp(OpCode::kBitwiseNot, {RunOp(OpCode::kBitwiseNot, {a})}), {12, 5});
  }
  ExpectValues(RunOp(OpCode::kBitwiseNot, {Line(DType::kI16, {0, -1, 5})}), {-1, 0, -6});
  ExpectValues(RunOp(OpCode::kBitwiseNot, {Line(DType::kU8, {0, 255, 5})}), {255, 0, 250});
  EXPECT_EQ(Op(OpCode::kBitwiseAnd, {F32({}, {1}), F32({}, {1})}).Run().status.code(),
            StatusCode::kUnsupported);
}

TEST(FloatTests, NanAndInfinity) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const Tensor x = Line(dtype, {1, kNan, kInf, -kInf, 0});
    ExpectValues(RunOp(OpCode::kIsNaN, {x}), {0, 1, 0, 0, 0});
    ExpectValues(RunOp(OpCode::kIsInf, {x}, IsInfAttrs{}), {0, 0, 1, 1, 0});
    ExpectValues(RunOp(OpCode::kIsInf, {x}, IsInfAttrs{.negative = false}), {0, 0, 1, 0, 0});
    ExpectValues(RunOp(OpCode::kIsInf, {x}, IsInfAttrs{.positive = false}), {0, 0, 0, 1, 0});
    EXPECT_EQ(RunOp(OpCode::kIsNaN, {x}).dtype, DType::kBool);
  }
  ExpectError(Op(OpCode::kIsNaN, {List({1})}), "floating point");
}

TEST(ReducePrecision, NumbersOfEachFormat) {
  struct Case {
    FloatFormat format;
    std::vector<double> expected;
    std::vector<double> not_saturated;
  };
  // Ties to even; the smallest; below half of it; beyond the largest.
  const std::vector<double> x = {1.0625, 1.1875, 0x1p-9, 0x1p-18, -0x1p-30, 300, -1e6, kInf, kNan};
  const Case cases[] = {
      {FloatFormat::kFloat8E4M3Fn, {1, 1.25, 0x1p-9, 0, -0.0, 288, -448, 448, kNan}, {288, kNan, kNan, kNan}},
      {FloatFormat::kFloat8E4M3Fnuz, {1, 1.25, 0x1p-9, 0, 0, 240, -240, 240, kNan}, {kNan, kNan, kNan, kNan}},
      {FloatFormat::kFloat8E5M2,
       {1, 1.25, 0x1p-9, 0, -0.0, 320, -57344, 57344, kNan},
       {320, -kInf, kInf, kNan}},
      {FloatFormat::kFloat8E5M2Fnuz,
       {1, 1.25, 0x1p-9, 0, 0, 320, -57344, 57344, kNan},
       {320, kNan, kNan, kNan}},
      {FloatFormat::kFloat4E2M1Fn, {1, 1, 0, 0, -0.0, 6, -6, 6, 0}, {6, -6, 6, 0}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.format));
    const Tensor y = RunOp(OpCode::kReducePrecision, {F32({9}, x)}, ReducePrecisionAttrs{c.format});
    ExpectValues(y, c.expected);
    EXPECT_EQ(std::signbit(Values(y)[4]), std::signbit(c.expected[4]));
    const std::vector<double> last(x.end() - 4, x.end());
    ExpectValues(RunOp(OpCode::kReducePrecision, {F32({4}, last)}, ReducePrecisionAttrs{c.format, false}),
                 c.not_saturated);
  }
}

TEST(ReducePrecision, EveryNumberOfTheFormatStays) {
  // Mantissas of 3 bits, exponents from subnormal numbers on, in the dtype with the fewest bits.
  std::vector<double> numbers;
  for (int exponent = -6; exponent <= 8; ++exponent)
    for (int mantissa = exponent == -6 ? 0 : 8; mantissa < (exponent == 8 ? 15 : 16); ++mantissa)
      numbers.push_back(std::ldexp(mantissa, exponent - 3));
  const auto count = static_cast<int64_t>(numbers.size());
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64})
    ExpectValues(RunOp(OpCode::kReducePrecision, {Make(dtype, {count}, numbers)}, ReducePrecisionAttrs{}),
                 numbers);
}

TEST(ReducePrecision, PowersOfTwo) {
  const auto to_powers = [](const std::vector<double>& x, RoundingMode rounding, bool saturate = true) {
    return RunOp(OpCode::kReducePrecision, {F32({static_cast<int64_t>(x.size())}, x)},
                 ReducePrecisionAttrs{FloatFormat::kFloat8E8M0Fnu, saturate, rounding});
  };
  ExpectValues(to_powers({1.1, 1.5, 3, 0, kInf, kNan}, RoundingMode::kUp),
               {2, 2, 4, 0x1p-127, 0x1p127, kNan});
  ExpectValues(to_powers({1.1, 1.5, 3, 3.9}, RoundingMode::kDown), {1, 1, 2, 2});
  ExpectValues(to_powers({1.1, 1.5, 2.9, 3}, RoundingMode::kNearestEven), {1, 2, 2, 4});
  ExpectValues(to_powers({0, kInf, 0x1p127, 0x1.8p127}, RoundingMode::kNearestEven, false),
               {kNan, kNan, 0x1p127, kNan});
  ExpectError(Op(OpCode::kReducePrecision, {List({1})}), "floating point");
}

TEST(FakeQuantize, RowsByTheirOwnEnds) {
  const auto round = [](const std::vector<double>& x, FakeQuantizeAttrs attrs) {
    return RunOp(OpCode::kFakeQuantize, {F32({2, static_cast<int64_t>(x.size()) / 2}, x)}, attrs);
  };
  // Steps of 1 from -128 to 127, and of 0.1 from 0 on: halves to the even code.
  const Tensor y = round({-128, 127, 0.5, 1.5, 25.5, 0.04, 0.06, 10}, {});
  ExpectValues(y, {-128, 127, 0, 2, 25.5, 0, 0.1f, 10});
  ExpectValues(round({-128, 127, 0.5, 1.5, 25.5, 0.04, 0.06, 10}, {0}), {-128, 127, 0, 2, 26, 0, 0, 10});
  ExpectValues(round({-127, 3, 0.6, 1.5, 5, 6, 7, 12.7f}, {-1, true}), {-127, 3, 1, 2, 5, 6, 7, 12.7f});
}

TEST(FakeQuantize, BlocksOfRowsByTheirOwnEnds) {
  const auto round = [](FakeQuantizeAttrs attrs) {
    return RunOp(OpCode::kFakeQuantize, {F32({2, 4}, {-127, 0.6, 12.7f, 0.26f, 0.6, 254, 0, kNan})}, attrs);
  };
  ExpectValues(round({-1, true, 2}), {-127, 1, 12.7f, 0.3f, 0, 254, kNan, kNan});
  ExpectValues(round({0, true, 4}), {-127, 1, 13, 0, kNan, kNan, kNan, kNan});
  const Tensor x = F32({3, 4}, std::vector<double>(12, 1));
  ExpectError(Op(OpCode::kFakeQuantize, {x}, FakeQuantizeAttrs{-1, true, 3}), "no multiple of blocks of 3");
  ExpectError(Op(OpCode::kFakeQuantize, {x}, FakeQuantizeAttrs{0, true, 12}), "no multiple of blocks of 12");
  ExpectError(Op(OpCode::kFakeQuantize, {x}, FakeQuantizeAttrs{-1, true, -4}), "blocks of -4");
  ExpectError(Op(OpCode::kFakeQuantize, {F32({}, {3})}, FakeQuantizeAttrs{-1, true, 2}), "no multiple");
}

TEST(FakeQuantize, RowsWithoutARange) {
  const auto round = [](const std::vector<double>& x) {
    return RunOp(OpCode::kFakeQuantize, {F32({static_cast<int64_t>(x.size()) / 2, 2}, x)});
  };
  ExpectValues(round({0, 0, kNan, 1, kInf, 1, -1, -kInf}), {0, 0, kNan, kNan, kNan, kNan, kNan, kNan});
  ExpectValues(round({1e-45, 0, -1e-40, 1e-40}), {0, 0, 0, 0});
  ExpectValues(RunOp(OpCode::kFakeQuantize, {F32({}, {3})}), {3});
  ExpectError(Op(OpCode::kFakeQuantize, {List({1})}), "floating point");
  ExpectError(Op(OpCode::kFakeQuantize, {F32({2}, {1, 2})}, FakeQuantizeAttrs{1}), "axis");
}

}  // namespace
}  // namespace skiff::test
