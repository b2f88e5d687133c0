#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

struct UnaryCase {
  OpCode op;
  double x;
  double expected;
};

/// Values from tables of the functions, to 10 digits.
TEST(Unary, KnownValues) {
  const UnaryCase cases[] = {
      {OpCode::kAbs, -2.5, 2.5},
      {OpCode::kNeg, -2.5, 2.5},
      {OpCode::kExp, 1.0, 2.7182818285},
      {OpCode::kExp, -kInf, 0.0},
      {OpCode::kLog, 10.0, 2.3025850930},
      {OpCode::kLog, 0.0, -kInf},
      {OpCode::kLog, -1.0, kNan},
      {OpCode::kSqrt, 2.0, 1.4142135624},
      {OpCode::kSqrt, -1.0, kNan},
      {OpCode::kReciprocal, 4.0, 0.25},
      {OpCode::kReciprocal, 0.0, kInf},
      {OpCode::kSigmoid, 1.0, 0.7310585786},
      {OpCode::kSigmoid, -1000.0, 0.0},
      {OpCode::kSigmoid, 1000.0, 1.0},
      {OpCode::kTanh, 0.5, 0.4621171573},
      {OpCode::kErf, 0.5, 0.5204998778},
      {OpCode::kFloor, -1.5, -2.0},
      {OpCode::kCeil, -1.5, -1.0},
      {OpCode::kRound, 0.5, 0.0},
      {OpCode::kRound, 1.5, 2.0},
      {OpCode::kRound, 2.5, 2.0},
      {OpCode::kRound, -1.5, -2.0},
      {OpCode::kRound, -2.6, -3.0},
      {OpCode::kSign, -3.0, -1.0},
      {OpCode::kSign, 0.0, 0.0},
      {OpCode::kSign, kNan, kNan},
      {OpCode::kSin, 1.0, 0.8414709848},
      {OpCode::kCos, 1.0, 0.5403023059},
      {OpCode::kTan, 1.0, 1.5574077247},
      {OpCode::kAsin, 0.5, 0.5235987756},
      {OpCode::kAcos, 0.5, 1.0471975512},
      {OpCode::kAtan, 1.0, 0.7853981634},
      {OpCode::kSinh, 1.0, 1.1752011936},
      {OpCode::kCosh, 1.0, 1.5430806348},
      {OpCode::kAsinh, 1.0, 0.881373587},
      {OpCode::kAcosh, 2.0, 1.3169578969},
      {OpCode::kAtanh, 0.5, 0.5493061443},
      {OpCode::kSoftplus, 0.0, 0.6931471806},
      {OpCode::kSoftplus, 1000.0, 1000.0},
      {OpCode::kSoftplus, -1000.0, 0.0},
      {OpCode::kSoftplus, kNan, kNan},
      {OpCode::kHardSwish, -4.0, 0.0},
      {OpCode::kHardSwish, 1.0, 0.6666666667},
      {OpCode::kHardSwish, 4.0, 4.0},
      {OpCode::kSilu, 1.0, 0.7310585786},
      {OpCode::kGelu, 1.0, 0.8413447461},
      {OpCode::kGelu, -1.0, -0.1586552539},
      {OpCode::kLeakyRelu, -2.0, -0.02},
      {OpCode::kLeakyRelu, 3.0, 3.0},
      {OpCode::kHardSigmoid, 1.0, 0.7},
      {OpCode::kHardSigmoid, 9.0, 1.0},
      {OpCode::kHardSigmoid, -9.0, 0.0},
      {OpCode::kHardSigmoid, kNan, kNan},
  };
  for (const UnaryCase& c : cases) {
    SCOPED_TRACE(FindOp(c.op)->name);
    const double size = std::isfinite(c.expected) ? std::fabs(c.expected) : 0;
    ExpectValues(RunOp(c.op, {F32({1}, {c.x})}), {c.expected}, 1e-9 + size * 6e-8);
    ExpectValues(RunOp(c.op, {Make(DType::kF16, {1}, {c.x})}), {c.expected}, 1e-7 + size * 1e-3);
    ExpectValues(RunOp(c.op, {Make(DType::kF64, {1}, {c.x})}), {c.expected}, 1e-9 + size * 2e-8);
  }
}

TEST(Unary, AttributesDecide) {
  ExpectValues(RunOp(OpCode::kGelu, {F32({1}, {1})}, GeluAttrs{GeluKind::kTanh}), {0.8411919906}, 1e-7);
  ExpectValues(RunOp(OpCode::kElu, {F32({2}, {-1, 2})}, AlphaAttrs{2.0f}), {-1.2642411177, 2}, 1e-7);
  ExpectValues(RunOp(OpCode::kHardSigmoid, {F32({1}, {1})}, HardSigmoidAttrs{0.5f, 0.25f}), {0.75});
}

TEST(Unary, ClampPassesNanAndTakesIntegers) {
  const ClampAttrs relu6{0.0f, 6.0f};
  ExpectValues(RunOp(OpCode::kClamp, {F32({5}, {-1, 3, 7, kNan, -kInf})}, relu6), {0, 3, 6, kNan, 0});
  ExpectValues(RunOp(OpCode::kClamp, {Make(DType::kI32, {3}, {-1, 3, 7})}, relu6), {0, 3, 6});
  ExpectValues(RunOp(OpCode::kClamp, {Make(DType::kU8, {3}, {0, 3, 200})}, ClampAttrs{1.5f, 6.5f}),
               {2, 3, 6});
  ExpectValues(RunOp(OpCode::kClamp, {F32({2}, {-kInf, kInf})}, ClampAttrs{}), {-kInf, kInf});
  // A bound that only f32 can hold must not move i64 values near it.
  const auto largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(RunOp(OpCode::kClamp, {List({largest, -5})}, ClampAttrs{0.0f}).bytes, List({largest, 0}).bytes);
}

TEST(Unary, IntegersWrap) {
  ExpectValues(RunOp(OpCode::kAbs, {Make(DType::kI8, {3}, {-128, -5, 7})}), {-128, 5, 7});
  ExpectValues(RunOp(OpCode::kNeg, {Make(DType::kI32, {2}, {-2147483648.0, 5})}), {-2147483648.0, -5});
  const auto lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(RunOp(OpCode::kNeg, {List({lowest})}).bytes, List({lowest}).bytes);
  ExpectValues(RunOp(OpCode::kSign, {Make(DType::kI16, {3}, {-9, 0, 9})}), {-1, 0, 1});
  ExpectValues(RunOp(OpCode::kNot, {Make(DType::kBool, {2}, {0, 1})}), {1, 0});
}

TEST(Unary, UnsupportedDType) {
  ExpectError(Op(OpCode::kExp, {List({1})}), "must be floating point, not i64");
  EXPECT_EQ(Op(OpCode::kNot, {F32({1}, {1})}).Run().status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(Op(OpCode::kAbs, {Make(DType::kBool, {1}, {1})}).Run().status.code(), StatusCode::kUnsupported);
}

TEST(Unary, LongerThanAChunkAndEmpty) {
  const Tensor x = Iota(DType::kF32, {3, 200}, -300);
  std::vector<double> expected;
  for (double value : Values(x)) expected.push_back(-value);
  ExpectTensor(RunOp(OpCode::kNeg, {x}), {3, 200}, expected);
  ExpectTensor(RunOp(OpCode::kNeg, {F32({2, 0}, {})}), {2, 0}, {});
  ExpectTensor(RunOp(OpCode::kNeg, {F32({}, {4})}), {}, {-4});
}

TEST(Unary, MayRunInPlace) {
  Tensor x = Iota(DType::kF32, {700}, 1);
  const TensorView view = x.View();
  AttrStorage attrs;
  const KernelArgs args{OpCode::kNeg, &attrs, {&view, 1}, {&view, 1}};
  ASSERT_TRUE(FindOp(OpCode::kNeg)->kernel(args).ok());
  EXPECT_EQ(Values(x).front(), -1);
  EXPECT_EQ(Values(x).back(), -700);
}

TEST(Cast, RoundsOnceToHalf) {
  // 2049 + 2^-20 lies just above the tie between 2048 and 2050; rounded to f32 first it would fall on the
  // tie.
  const Tensor x = Make(DType::kF64, {2}, {2049.0 + std::ldexp(1.0, -20), 2049.0 - std::ldexp(1.0, -20)});
  ExpectValues(RunOp(OpCode::kCast, {x}, CastAttrs{static_cast<int64_t>(DType::kF16)}), {2050, 2048});
}

Tensor CastTo(DType to, const Tensor& x) {
  return RunOp(OpCode::kCast, {x}, CastAttrs{static_cast<int64_t>(to)});
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  const Tensor x = F32({7}, {-1.9, 1.9, 300, -300, kNan, kInf, -kInf});
  ExpectValues(CastTo(DType::kI8, x), {-1, 1, 127, -128, 0, 127, -128});
  ExpectValues(CastTo(DType::kU8, x), {0, 1, 255, 0, 0, 255, 0});
  ExpectValues(CastTo(DType::kI32, x), {-1, 1, 300, -300, 0, 2147483647.0, -2147483648.0});
  ExpectValues(CastTo(DType::kBool, x), {1, 1, 1, 1, 1, 1, 1});
  const auto lowest = std::numeric_limits<int64_t>::min();
  const auto highest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CastTo(DType::kI64, x).bytes, List({-1, 1, 300, -300, 0, highest, lowest}).bytes);
  const std::vector<uint64_t> unsigned_values = {0, 1, 300, 0, 0, std::numeric_limits<uint64_t>::max(), 0};
  EXPECT_EQ(CastTo(DType::kU64, x).bytes, MakeExact(DType::kU64, {7}, unsigned_values).bytes);
}

TEST(Cast, IntegersAndBool) {
  ExpectValues(CastTo(DType::kI8, List({300, -129, 5})), {44, 127, 5});
  ExpectValues(CastTo(DType::kF32, List({-3, 16777217, 16777219})), {-3, 16777216, 16777220});
  ExpectValues(CastTo(DType::kF32, Make(DType::kBool, {2}, {0, 1})), {0, 1});
  ExpectValues(CastTo(DType::kBool, F32({4}, {0, -0.0, 0.25, kNan})), {0, 0, 1, 1});
  ExpectValues(CastTo(DType::kF64, CastTo(DType::kU64, List({-1}))), {18446744073709551616.0});
  ExpectValues(CastTo(DType::kF16, F32({3}, {1.0, 65519, 65520})), {1, 65504, kInf});
  // 2^53 + 2^29 + 1 is just above a tie of f32; through a nearest f64 it would fall on the tie.
  const int64_t above_tie = (int64_t{1} << 53) + (int64_t{1} << 29) + 1;
  ExpectValues(CastTo(DType::kF32, List({above_tie})), {std::ldexp(1.0, 53) + std::ldexp(1.0, 30)});
}

TEST(Cast, UnknownDType) { ExpectError(Op(OpCode::kCast, {F32({1}, {1})}, CastAttrs{77}), "dtype 77"); }

}  // namespace
}  // namespace skiff::test
