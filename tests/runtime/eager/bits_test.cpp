// Remainders, shifts, bits, and tests of floats.
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

}  // namespace
}  // namespace skiff::test
