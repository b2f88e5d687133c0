#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

TEST(Binary, Arithmetic) {
  const Tensor a = F32({4}, {1, -6, 0.5, kNan});
  const Tensor b = F32({4}, {4, 3, -2, 1});
  ExpectValues(RunOp(OpCode::kAdd, {a, b}), {5, -3, -1.5, kNan});
  ExpectValues(RunOp(OpCode::kSub, {a, b}), {-3, -9, 2.5, kNan});
  ExpectValues(RunOp(OpCode::kMul, {a, b}), {4, -18, -1, kNan});
  ExpectValues(RunOp(OpCode::kDiv, {a, b}), {0.25, -2, -0.25, kNan});
  ExpectValues(RunOp(OpCode::kPow, {F32({3}, {2, 9, -8}), F32({3}, {10, 0.5, 3})}), {1024, 3, -512});
  ExpectValues(RunOp(OpCode::kPRelu, {F32({2, 2}, {-1, 2, -3, kNan}), F32({2}, {0.5, 7})}),
               {-0.5, 2, -1.5, kNan});
  ExpectValues(RunOp(OpCode::kDiv, {F32({2}, {1, 0}), F32({2}, {0, 0})}), {kInf, kNan});
}

TEST(Binary, MinAndMaxPropagateNan) {
  const Tensor a = F32({4}, {1, kNan, 2, -kInf});
  const Tensor b = F32({4}, {2, 1, kNan, 0});
  ExpectValues(RunOp(OpCode::kMin, {a, b}), {1, kNan, kNan, -kInf});
  ExpectValues(RunOp(OpCode::kMax, {a, b}), {2, kNan, kNan, 0});
}

TEST(Binary, Broadcasting) {
  const Tensor x = Iota(DType::kF32, {2, 3}, 0);
  ExpectTensor(RunOp(OpCode::kAdd, {x, F32({3}, {10, 20, 30})}), {2, 3}, {10, 21, 32, 13, 24, 35});
  ExpectTensor(RunOp(OpCode::kAdd, {F32({2, 1}, {10, 20}), x}), {2, 3}, {10, 11, 12, 23, 24, 25});
  ExpectTensor(RunOp(OpCode::kSub, {x, F32({}, {1})}), {2, 3}, {-1, 0, 1, 2, 3, 4});
  ExpectTensor(RunOp(OpCode::kMul, {F32({3, 1}, {1, 2, 3}), F32({1, 2}, {10, 100})}), {3, 2},
               {10, 100, 20, 200, 30, 300});
  ExpectTensor(RunOp(OpCode::kAdd, {F32({0, 3}, {}), F32({1, 3}, {1, 2, 3})}), {0, 3}, {});
  ExpectTensor(RunOp(OpCode::kAdd, {F32({2, 1, 2}, {1, 2, 3, 4}), F32({2, 1}, {10, 20})}), {2, 2, 2},
               {11, 12, 21, 22, 13, 14, 23, 24});
  ExpectError(Op(OpCode::kAdd, {x, F32({2}, {1, 2})}), "on axis -1 it has 2, they have 3");
}

TEST(Binary, LongRows) {
  const Tensor a = Iota(DType::kF32, {2, 3, 500}, 0);
  const Tensor b = Iota(DType::kF32, {3, 1}, 1);
  std::vector<double> expected;
  for (int i = 0; i < 3000; ++i) expected.push_back(i * (i / 500 % 3 + 1));
  ExpectValues(RunOp(OpCode::kMul, {a, b}), expected);
}

TEST(Binary, FusedClamp) {
  const ClampAttrs relu6{0.0f, 6.0f};
  ExpectValues(RunOp(OpCode::kAdd, {F32({4}, {-3, 1, 5, kNan}), F32({}, {2})}, relu6), {0, 3, 6, kNan});
  ExpectValues(RunOp(OpCode::kMul, {List({-3, 1, 5}), List({2})}, relu6), {0, 2, 6});
}

TEST(Binary, IntegersWrapAndNeverTrap) {
  const auto i32 = [](const std::vector<double>& values) {
    return Make(DType::kI32, {static_cast<int64_t>(values.size())}, values);
  };
  ExpectValues(RunOp(OpCode::kDiv, {i32({7, -7, 7, 5, -2147483648.0}), i32({2, 2, -2, 0, -1})}),
               {3, -3, -3, 0, -2147483648.0});
  ExpectValues(RunOp(OpCode::kAdd, {i32({2147483647}), i32({1})}), {-2147483648.0});
  ExpectValues(RunOp(OpCode::kMul, {i32({65536}), i32({65536})}), {0});
  ExpectValues(RunOp(OpCode::kSub, {Make(DType::kU8, {1}, {3}), Make(DType::kU8, {1}, {5})}), {254});
  ExpectValues(RunOp(OpCode::kMul, {Make(DType::kI8, {1}, {100}), Make(DType::kI8, {1}, {3})}), {44});
  const auto lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(RunOp(OpCode::kDiv, {List({lowest, lowest}), List({-1, 0})}).bytes, List({lowest, 0}).bytes);
  EXPECT_EQ(RunOp(OpCode::kSub, {List({lowest}), List({1})}).bytes,
            List({std::numeric_limits<int64_t>::max()}).bytes);
  // u64 compares and divides as unsigned.
  const Tensor big = MakeExact<uint64_t>(DType::kU64, {1}, {uint64_t{1} << 63});
  const Tensor two = MakeExact<uint64_t>(DType::kU64, {1}, {2});
  EXPECT_EQ(RunOp(OpCode::kMax, {big, two}).bytes, big.bytes);
  EXPECT_EQ(RunOp(OpCode::kDiv, {big, two}).bytes,
            MakeExact<uint64_t>(DType::kU64, {1}, {uint64_t{1} << 62}).bytes);
}

TEST(Binary, Power) {
  ExpectValues(RunOp(OpCode::kPow, {List({2, -3, 1, -1, 0, 5}), List({10, 3, -4, -3, 0, -1})}),
               {1024, -27, 1, -1, 1, 0});
  ExpectTensor(RunOp(OpCode::kPow, {F32({2}, {2, 3}), List({3})}), {2}, {8, 27});
  EXPECT_EQ(Op(OpCode::kPow, {List({2}), F32({1}, {0.5})}).Run().status.code(), StatusCode::kUnsupported);
}

TEST(Binary, Logic) {
  const Tensor a = Make(DType::kBool, {4}, {0, 0, 1, 1});
  const Tensor b = Make(DType::kBool, {4}, {0, 1, 0, 1});
  ExpectValues(RunOp(OpCode::kAnd, {a, b}), {0, 0, 0, 1});
  ExpectValues(RunOp(OpCode::kOr, {a, b}), {0, 1, 1, 1});
  ExpectValues(RunOp(OpCode::kXor, {a, b}), {0, 1, 1, 0});
  EXPECT_EQ(Op(OpCode::kAnd, {List({1}), List({1})}).Run().status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(Op(OpCode::kAdd, {a, b}).Run().status.code(), StatusCode::kUnsupported);
}

/// A product of two halves has 22 bits, a sum may have more than f32 holds: one rounding each.
TEST(Binary, HalfIsRoundedOnce) {
  const Tensor a = Make(DType::kF16, {1}, {2048});
  const Tensor b = Make(DType::kF16, {1}, {1.0009765625});
  ExpectValues(RunOp(OpCode::kAdd, {a, b}), {2050});
  ExpectValues(RunOp(OpCode::kMul, {b, b}), {1.001953125});
}

TEST(Binary, MayRunInPlace) {
  Tensor a = Iota(DType::kF32, {2, 300}, 0);
  Tensor b = Iota(DType::kF32, {300}, 1);
  const TensorView inputs[] = {a.View(), b.View()};
  AttrStorage attrs;
  InitAttrs(OpCode::kAdd, attrs);
  ASSERT_TRUE(FindOp(OpCode::kAdd)->kernel({OpCode::kAdd, &attrs, {inputs, 2}, {inputs, 1}}).ok());
  EXPECT_EQ(Values(a)[301], 303);
}

TEST(Compare, EveryRelation) {
  const Tensor a = F32({4}, {1, 2, 3, kNan});
  const Tensor b = F32({4}, {2, 2, 2, kNan});
  ExpectValues(RunOp(OpCode::kEqual, {a, b}), {0, 1, 0, 0});
  ExpectValues(RunOp(OpCode::kLess, {a, b}), {1, 0, 0, 0});
  ExpectValues(RunOp(OpCode::kLessOrEqual, {a, b}), {1, 1, 0, 0});
  ExpectValues(RunOp(OpCode::kGreater, {a, b}), {0, 0, 1, 0});
  ExpectValues(RunOp(OpCode::kGreaterOrEqual, {a, b}), {0, 1, 1, 0});
}

TEST(Compare, IntegersAreExactAndBroadcast) {
  const int64_t big = (int64_t{1} << 60) + 1;
  const Tensor result = RunOp(OpCode::kEqual, {I64({2, 1}, {big, big - 1}), List({big, big - 1})});
  EXPECT_EQ(result.dtype, DType::kBool);
  ExpectTensor(result, {2, 2}, {1, 0, 0, 1});
  ExpectValues(RunOp(OpCode::kEqual, {Make(DType::kBool, {2}, {0, 1}), Make(DType::kBool, {}, {1})}), {0, 1});
}

TEST(Where, ChoosesAndBroadcasts) {
  const Tensor condition = Make(DType::kBool, {2, 1}, {1, 0});
  ExpectTensor(RunOp(OpCode::kWhere, {condition, F32({3}, {1, 2, 3}), F32({}, {-1})}), {2, 3},
               {1, 2, 3, -1, -1, -1});
  ExpectTensor(RunOp(OpCode::kWhere, {condition, List({7}), List({9})}), {2, 1}, {7, 9});
  ExpectError(Op(OpCode::kWhere, {F32({1}, {1}), F32({1}, {1}), F32({1}, {1})}), "bool");
}

TEST(Binary, IntegersWrapAroundBeforeTheyAreClamped) {
  const ClampAttrs relu6{0.0f, 6.0f};
  const Tensor x = Make(DType::kI32, {2}, {2147483646.0, -2147483647.0});
  ExpectValues(RunOp(OpCode::kAdd, {x, Make(DType::kI32, {2}, {16, -9})}, relu6), {0, 6});
}

}  // namespace
}  // namespace skiff::test
