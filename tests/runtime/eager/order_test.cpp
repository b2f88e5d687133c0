// Operators that find, order and add up elements along an axis.
#include <algorithm>
#include <numeric>

#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(Arg, AxesTiesAndNan) {
  const Tensor x = F32({2, 3}, {3, 1, 3, -2, 7, -2});
  ExpectTensor(RunOp(OpCode::kArgMax, {x}, ArgAttrs{.axis = 1}), {2, 1}, {0, 1});
  ExpectTensor(RunOp(OpCode::kArgMax, {x}, ArgAttrs{-1, false, true}), {2}, {2, 1});
  ExpectTensor(RunOp(OpCode::kArgMin, {x}, ArgAttrs{1, false, true}), {2}, {1, 2});
  ExpectTensor(RunOp(OpCode::kArgMin, {x}, ArgAttrs{0, false, false}), {3}, {1, 0, 1});
  const Tensor nan = F32({4}, {1, kNan, kInf, kNan});
  for (OpCode op : {OpCode::kArgMax, OpCode::kArgMin}) {
    ExpectValues(RunOp(op, {nan}, ArgAttrs{0, true, false}), {1});
    ExpectValues(RunOp(op, {nan}, ArgAttrs{0, true, true}), {3});
  }
  EXPECT_EQ(RunOp(OpCode::kArgMax, {x}, ArgAttrs{}).dtype, DType::kI64);
}

TEST(Arg, EveryDType) {
  for (DType dtype : {DType::kF16, DType::kF64, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32,
                      DType::kU32, DType::kI64, DType::kU64}) {
    const Tensor x = Make(dtype, {2, 2}, {3, 5, 9, 2});
    ExpectTensor(RunOp(OpCode::kArgMax, {x}, ArgAttrs{1, false, false}), {2}, {1, 0});
    ExpectTensor(RunOp(OpCode::kArgMin, {x}, ArgAttrs{0, false, false}), {2}, {0, 1});
  }
  const Tensor big = MakeExact<uint64_t>(DType::kU64, {2}, {1, uint64_t{1} << 63});
  ExpectValues(RunOp(OpCode::kArgMax, {big}, ArgAttrs{}), {1});
}

TEST(Arg, WideRowsAndEmptyTensors) {
  const Tensor x = Iota(DType::kI32, {3, 600}, 0);
  ExpectValues(RunOp(OpCode::kArgMax, {x}, ArgAttrs{0, false, false}), std::vector<double>(600, 2));
  ExpectValues(RunOp(OpCode::kArgMax, {x}, ArgAttrs{1, false, false}), {599, 599, 599});
  ExpectTensor(RunOp(OpCode::kArgMax, {F32({0, 3}, {})}, ArgAttrs{1, false, false}), {0}, {});
  ExpectError(Op(OpCode::kArgMax, {F32({0, 3}, {})}, ArgAttrs{}), "no element");
  ExpectError(Op(OpCode::kArgMax, {F32({3}, {1, 2, 3})}, ArgAttrs{.axis = 1}), "axis 1");
  ExpectError(Op(OpCode::kArgMin, {F32({}, {1})}, ArgAttrs{}), "rank 0");
}

std::vector<Tensor> TopK(const Tensor& x, int64_t k, const TopKAttrs& attrs = {}) {
  const Outcome outcome = Op(OpCode::kTopK, {x, List({k})}, attrs, 2).Run();
  EXPECT_TRUE(outcome.status.ok()) << outcome.message;
  return outcome.outputs;
}

void ExpectTopK(const std::vector<Tensor>& outputs, const std::vector<int64_t>& shape,
                const std::vector<double>& values, const std::vector<double>& indices) {
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor(outputs[0], shape, values);
  ExpectTensor(outputs[1], shape, indices);
  EXPECT_EQ(outputs[1].dtype, DType::kI64);
}

TEST(TopK, BestFirstAndTiesByIndex) {
  const Tensor x = F32({2, 4}, {1, 4, 4, 2, 7, 7, 7, 7});
  ExpectTopK(TopK(x, 3), {2, 3}, {4, 4, 2, 7, 7, 7}, {1, 2, 3, 0, 1, 2});
  ExpectTopK(TopK(x, 2, {-1, false}), {2, 2}, {1, 2, 7, 7}, {0, 3, 0, 1});
  ExpectTopK(TopK(x, 1, {0, true}), {1, 4}, {7, 7, 7, 7}, {1, 1, 1, 1});
  ExpectTopK(TopK(x, 0), {2, 0}, {}, {});
  ExpectTopK(TopK(F32({0, 2}, {}), 1), {0, 1}, {}, {});
}

TEST(TopK, NanIsTheLargestNumber) {
  const Tensor x = F32({5}, {1, kNan, kInf, kNan, -kInf});
  ExpectTopK(TopK(x, 4), {4}, {kNan, kNan, kInf, 1}, {1, 3, 2, 0});
  ExpectTopK(TopK(x, 4, {0, false}), {4}, {-kInf, 1, kInf, kNan}, {4, 0, 2, 1});
}

TEST(TopK, AgreesWithSorting) {
  for (int64_t k : {1, 2, 7, 255, 256, 600, 601}) {
    for (const bool largest : {true, false}) {
      // Few values, so that there are many ties.
      std::vector<double> values;
      for (double value : RandomValues(601 * 2, static_cast<uint32_t>(k)))
        values.push_back(std::floor(40 * value));
      const std::vector<Tensor> outputs = TopK(Make(DType::kI16, {601, 2}, values), k, {0, largest});
      for (size_t column = 0; column < 2; ++column) {
        std::vector<size_t> order(601);
        std::iota(order.begin(), order.end(), 0u);
        const auto at = [&](size_t i) { return values[2 * i + column] * (largest ? -1 : 1); };
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return at(a) < at(b); });
        const std::vector<double> got = Values(outputs[0]);
        const std::vector<double> indices = Values(outputs[1]);
        for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
          ASSERT_EQ(indices[2 * i + column], static_cast<double>(order[i])) << "k " << k << ", place " << i;
          ASSERT_EQ(got[2 * i + column], values[2 * order[i] + column]);
        }
      }
    }
  }
}

TEST(TopK, RefusesWhatCannotBe) {
  const Tensor x = F32({3}, {1, 2, 3});
  const auto op = [&](const Tensor& k) { return Op(OpCode::kTopK, {x, k}, TopKAttrs{}, 2); };
  ExpectError(op(List({4})), "k is 4");
  ExpectError(op(List({-1})), "k is -1");
  ExpectError(op(List({1, 2})), "one number");
  ExpectError(op(List({})), "one number");
  ExpectError(op(F32({1}, {1})), "i64");
  ExpectError(Op(OpCode::kTopK, {x, List({1})}, TopKAttrs{.axis = kHuge}, 2), "axis");
}

TEST(CumSum, Directions) {
  const Tensor x = F32({2, 3}, {1, 2, 3, 10, 20, 30});
  const Tensor last = List({-1});
  ExpectTensor(RunOp(OpCode::kCumSum, {x, last}, CumSumAttrs{}), {2, 3}, {1, 3, 6, 10, 30, 60});
  ExpectValues(RunOp(OpCode::kCumSum, {x, last}, CumSumAttrs{true, false}), {0, 1, 3, 0, 10, 30});
  ExpectValues(RunOp(OpCode::kCumSum, {x, last}, CumSumAttrs{false, true}), {6, 5, 3, 60, 50, 30});
  ExpectValues(RunOp(OpCode::kCumSum, {x, last}, CumSumAttrs{true, true}), {5, 3, 0, 50, 30, 0});
  ExpectValues(RunOp(OpCode::kCumSum, {x, I64({}, {0})}, CumSumAttrs{}), {1, 2, 3, 11, 22, 33});
  ExpectTensor(RunOp(OpCode::kCumSum, {F32({0, 2}, {}), last}, CumSumAttrs{}), {0, 2}, {});
}

TEST(CumSum, RowsLongerThanAChunk) {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      std::vector<double> expected(601);
      for (int i = 0; i < 601; ++i) {
        const int before = reverse ? 600 - i : i;
        expected[static_cast<size_t>(i)] = before + (exclusive ? 0 : 1);
      }
      const Tensor ones = Make(DType::kI32, {601}, std::vector<double>(601, 1));
      ExpectValues(RunOp(OpCode::kCumSum, {ones, List({0})}, CumSumAttrs{exclusive, reverse}), expected);
    }
  }
}

TEST(CumSum, IntegersWrapAndFloatsAddInDouble) {
  ExpectValues(RunOp(OpCode::kCumSum, {Make(DType::kU8, {3}, {200, 100, 1}), List({0})}, CumSumAttrs{}),
               {200, 44, 45});
  const std::vector<double> tenths(1000, 0.1f);
  const Tensor sums = RunOp(OpCode::kCumSum, {F32({1000}, tenths), List({0})}, CumSumAttrs{});
  EXPECT_EQ(Values(sums).back(), static_cast<double>(static_cast<float>(1000.0 * static_cast<double>(0.1f))));
}

TEST(CumSum, TheAxisIsChecked) {
  const Tensor x = F32({2}, {1, 2});
  for (int64_t axis : {int64_t{1}, int64_t{-2}, kHuge, -kHuge - 1}) {
    EXPECT_EQ(Op(OpCode::kCumSum, {x, List({axis})}).Run().status.code(), StatusCode::kInvalidArgument);
  }
  ExpectError(Op(OpCode::kCumSum, {x, List({0, 0})}), "one number");
  ExpectError(Op(OpCode::kCumSum, {x, F32({1}, {0})}), "i64");
}

TEST(ReverseSequence, TimeBeforeAndBehindBatch) {
  const Tensor x = Iota(DType::kF32, {3, 2, 2}, 0);
  ExpectValues(RunOp(OpCode::kReverseSequence, {x, List({3, 2})}, ReverseAttrs{1, 0}),
               {8, 9, 6, 7, 4, 5, 2, 3, 0, 1, 10, 11});
  ExpectValues(RunOp(OpCode::kReverseSequence, {x, List({2, 1, 0})}, ReverseAttrs{0, 1}),
               {2, 3, 0, 1, 4, 5, 6, 7, 8, 9, 10, 11});
  // An axis between the two, and one in front.
  ExpectValues(RunOp(OpCode::kReverseSequence, {x, List({2, 1, 2})}, ReverseAttrs{0, -1}),
               {1, 0, 3, 2, 4, 5, 6, 7, 9, 8, 11, 10});
  ExpectValues(RunOp(OpCode::kReverseSequence, {x, List({2, 1})}, ReverseAttrs{1, 2}),
               {1, 0, 2, 3, 5, 4, 6, 7, 9, 8, 10, 11});
}

TEST(ReverseSequence, LengthsAreChecked) {
  const Tensor x = Iota(DType::kI16, {3, 2}, 0);
  for (int64_t length : {int64_t{-1}, int64_t{4}, kHuge}) {
    EXPECT_EQ(Op(OpCode::kReverseSequence, {x, List({1, length})}, ReverseAttrs{}).Run().status.code(),
              StatusCode::kInvalidArgument);
  }
  ExpectError(Op(OpCode::kReverseSequence, {x, List({1})}, ReverseAttrs{}), "2 batches");
  ExpectError(Op(OpCode::kReverseSequence, {x, List({1, 1})}, ReverseAttrs{1, -1}), "both");
}

TEST(Trilu, DiagonalsNearAndFar) {
  const Tensor x = Iota(DType::kF32, {2, 3}, 1);
  const auto run = [&](bool upper, int64_t k) {
    return RunOp(OpCode::kTrilu, {x, I64({}, {k})}, TriluAttrs{upper});
  };
  ExpectValues(run(true, 0), {1, 2, 3, 0, 5, 6});
  ExpectValues(run(true, 1), {0, 2, 3, 0, 0, 6});
  ExpectValues(run(true, -1), {1, 2, 3, 4, 5, 6});
  ExpectValues(run(false, 0), {1, 0, 0, 4, 5, 0});
  ExpectValues(run(false, -1), {0, 0, 0, 4, 0, 0});
  ExpectValues(run(true, kHuge), {0, 0, 0, 0, 0, 0});
  ExpectValues(run(true, -kHuge - 1), {1, 2, 3, 4, 5, 6});
  ExpectValues(run(false, kHuge), {1, 2, 3, 4, 5, 6});
  ExpectValues(RunOp(OpCode::kTrilu, {Iota(DType::kU8, {2, 2, 2}, 1)}, TriluAttrs{false}),
               {1, 0, 3, 4, 5, 0, 7, 8});
  ExpectTensor(RunOp(OpCode::kTrilu, {F32({3, 0}, {})}, TriluAttrs{}), {3, 0}, {});
  ExpectError(Op(OpCode::kTrilu, {F32({3}, {1, 2, 3})}, TriluAttrs{}), "rank 2");
}

}  // namespace
}  // namespace skiff::test
