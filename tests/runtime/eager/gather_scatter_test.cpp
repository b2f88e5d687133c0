// Operators that address elements by indices from a tensor.
#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

void ExpectIndexError(OpRun run) { EXPECT_EQ(run.Run().status.code(), StatusCode::kInvalidArgument); }

TEST(GatherElements, AlongEachAxis) {
  const Tensor x = Iota(DType::kF32, {2, 3}, 0);
  ExpectTensor(RunOp(OpCode::kGatherElements, {x, I64({2, 2}, {2, 0, -1, 1})}, AxisAttrs{1}), {2, 2},
               {2, 0, 5, 4});
  ExpectTensor(RunOp(OpCode::kGatherElements, {x, I64({3, 2}, {1, 0, 0, 0, -1, -2})}, AxisAttrs{0}), {3, 2},
               {3, 1, 0, 1, 3, 1});
  ExpectTensor(RunOp(OpCode::kGatherElements, {x, Make(DType::kI32, {1, 1}, {2})}, AxisAttrs{-1}), {1, 1},
               {2});
  ExpectTensor(RunOp(OpCode::kGatherElements, {x, I64({0, 3}, {})}, AxisAttrs{0}), {0, 3}, {});
}

TEST(GatherElements, RefusesWhatLiesOutside) {
  const Tensor x = Iota(DType::kU8, {2, 3}, 0);
  for (int64_t index : {int64_t{3}, int64_t{-4}, kHuge, -kHuge - 1}) {
    ExpectIndexError(Op(OpCode::kGatherElements, {x, I64({1, 1}, {index})}, AxisAttrs{1}));
  }
  ExpectIndexError(Op(OpCode::kGatherElements, {F32({0}, {}), List({0})}, AxisAttrs{0}));
  ExpectError(Op(OpCode::kGatherElements, {x, I64({3, 1}, {0, 0, 0})}, AxisAttrs{1}), "only 2");
  ExpectError(Op(OpCode::kGatherElements, {x, List({0})}, AxisAttrs{1}), "rank 1");
  ExpectError(Op(OpCode::kGatherElements, {x, F32({1, 1}, {0})}, AxisAttrs{1}), "i64");
}

TEST(GatherND, TuplesSlicesAndBatches) {
  const Tensor x = Iota(DType::kF32, {2, 2, 2}, 0);
  ExpectTensor(RunOp(OpCode::kGatherND, {x, I64({2, 3}, {0, 0, 1, 1, -1, 0})}, GatherNDAttrs{}), {2}, {1, 6});
  ExpectTensor(RunOp(OpCode::kGatherND, {x, I64({1, 2, 1}, {1, 0})}, GatherNDAttrs{}), {1, 2, 2, 2},
               {4, 5, 6, 7, 0, 1, 2, 3});
  ExpectTensor(RunOp(OpCode::kGatherND, {x, I64({2, 1}, {1, 0})}, GatherNDAttrs{1}), {2, 2}, {2, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kGatherND, {x, I64({2, 2, 1}, {1, 0, 0, 1})}, GatherNDAttrs{2}), {2, 2},
               {1, 2, 4, 7});
  ExpectTensor(RunOp(OpCode::kGatherND, {x, I64({0, 3}, {})}, GatherNDAttrs{}), {0}, {});
}

TEST(GatherND, RefusesWhatLiesOutside) {
  const Tensor x = Iota(DType::kF32, {2, 3}, 0);
  for (int64_t index : {int64_t{3}, int64_t{-4}, kHuge, -kHuge - 1}) {
    ExpectIndexError(Op(OpCode::kGatherND, {x, I64({1, 2}, {0, index})}, GatherNDAttrs{}));
  }
  ExpectError(Op(OpCode::kGatherND, {x, I64({1, 3}, {0, 0, 0})}, GatherNDAttrs{}), "1 to 2");
  ExpectError(Op(OpCode::kGatherND, {x, I64({1, 0}, {})}, GatherNDAttrs{}), "1 to 2");
  ExpectError(Op(OpCode::kGatherND, {x, I64({}, {0})}, GatherNDAttrs{}), "batch_dims");
  ExpectError(Op(OpCode::kGatherND, {x, I64({3, 1}, {0, 0, 0})}, GatherNDAttrs{1}), "batch axis 0");
  ExpectError(Op(OpCode::kGatherND, {x, I64({2, 1}, {0, 0})}, GatherNDAttrs{-1}), "batch_dims is -1");
  // Extents that no memory backs must not be walked over.
  Tensor nothing{DType::kF32, {int64_t{1} << 40, 0}, {}};
  Tensor indices{DType::kI64, {int64_t{1} << 40, 0, 1}, {}};
  EXPECT_TRUE(Op(OpCode::kGatherND, {nothing, indices}, GatherNDAttrs{1}).Run().status.ok());
}

TEST(ScatterElements, WritesAndReduces) {
  const Tensor x = F32({1, 5}, {1, 2, 3, 4, 5});
  const Tensor indices = I64({1, 3}, {1, -4, 3});
  const Tensor updates = F32({1, 3}, {10, 3, -1});
  const auto run = [&](ScatterReduction reduction) {
    return RunOp(OpCode::kScatterElements, {x, indices, updates}, ScatterAttrs{1, reduction});
  };
  ExpectTensor(run(ScatterReduction::kNone), {1, 5}, {1, 3, 3, -1, 5});
  ExpectValues(run(ScatterReduction::kAdd), {1, 15, 3, 3, 5});
  ExpectValues(run(ScatterReduction::kMul), {1, 60, 3, -4, 5});
  ExpectValues(run(ScatterReduction::kMin), {1, 2, 3, -1, 5});
  ExpectValues(run(ScatterReduction::kMax), {1, 10, 3, 4, 5});
  // The other axis, with fewer indices than there are columns.
  ExpectValues(RunOp(OpCode::kScatterElements,
                     {Iota(DType::kI8, {2, 3}, 0), I64({1, 2}, {1, 0}), Make(DType::kI8, {1, 2}, {70, 80})},
                     ScatterAttrs{}),
               {0, 80, 2, 70, 4, 5});
}

TEST(ScatterElements, IntegersWrapAndNanStays) {
  const auto run = [](const Tensor& x, const Tensor& updates, ScatterReduction reduction) {
    return RunOp(OpCode::kScatterElements, {x, List({0, 0}), updates}, ScatterAttrs{0, reduction});
  };
  ExpectValues(run(Make(DType::kU8, {1}, {200}), Make(DType::kU8, {2}, {100, 1}), ScatterReduction::kAdd),
               {45});
  const auto lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(run(List({lowest}), List({-1, 1}), ScatterReduction::kMul).bytes, List({lowest}).bytes);
  for (const ScatterReduction reduction : {ScatterReduction::kMin, ScatterReduction::kMax}) {
    ExpectValues(run(F32({1}, {1}), F32({2}, {kNan, 2}), reduction), {kNan});
    ExpectValues(run(F32({1}, {kNan}), F32({2}, {0, 2}), reduction), {kNan});
  }
  const Tensor flags = Make(DType::kBool, {1}, {0});
  ExpectValues(run(flags, Make(DType::kBool, {2}, {1, 0}), ScatterReduction::kMax), {1});
  EXPECT_EQ(Op(OpCode::kScatterElements, {flags, List({0}), flags}, ScatterAttrs{0, ScatterReduction::kAdd})
                .Run()
                .status.code(),
            StatusCode::kUnsupported);
}

TEST(ScatterElements, RefusesWhatLiesOutside) {
  const Tensor x = F32({2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor one = F32({1, 1}, {9});
  for (int64_t index : {int64_t{3}, int64_t{-4}, kHuge, -kHuge - 1}) {
    ExpectIndexError(Op(OpCode::kScatterElements, {x, I64({1, 1}, {index}), one}, ScatterAttrs{1, {}}));
  }
  ExpectError(
      Op(OpCode::kScatterElements, {x, I64({3, 1}, {0, 0, 0}), F32({3, 1}, {1, 2, 3})}, ScatterAttrs{1, {}}),
      "only 2");
  ExpectError(Op(OpCode::kScatterElements, {x, I64({1, 1}, {0}), F32({1, 2}, {1, 2})}, ScatterAttrs{}),
              "extents of the indices");
  ExpectError(Op(OpCode::kScatterElements, {x, I64({1, 1}, {0}), I64({1, 1}, {0})}, ScatterAttrs{}), "f32");
  ExpectError(Op(OpCode::kScatterElements, {x, I64({1, 1}, {0}), one},
                 ScatterAttrs{0, static_cast<ScatterReduction>(9)}),
              "reduction");
}

TEST(ScatterND, ElementsAndSlices) {
  const Tensor x = Iota(DType::kF32, {2, 3}, 0);
  ExpectTensor(RunOp(OpCode::kScatterND, {x, I64({2, 2}, {0, -1, 1, 0}), F32({2}, {70, 80})}, ScatterAttrs{}),
               {2, 3}, {0, 1, 70, 80, 4, 5});
  const Tensor twice = I64({2, 1}, {1, 1});
  const Tensor rows = F32({2, 3}, {10, 20, 30, 1, 2, 3});
  const auto run = [&](ScatterReduction reduction) {
    return RunOp(OpCode::kScatterND, {x, twice, rows}, ScatterAttrs{0, reduction});
  };
  ExpectValues(run(ScatterReduction::kNone), {0, 1, 2, 1, 2, 3});
  ExpectValues(run(ScatterReduction::kAdd), {0, 1, 2, 14, 26, 38});
  ExpectValues(run(ScatterReduction::kMax), {0, 1, 2, 10, 20, 30});
  // A slice that is longer than what a kernel holds at a time.
  const Tensor wide = RunOp(
      OpCode::kScatterND, {Iota(DType::kI32, {1, 600}, 0), I64({1, 1}, {0}), Iota(DType::kI32, {1, 600}, 0)},
      ScatterAttrs{0, ScatterReduction::kAdd});
  EXPECT_EQ(wide.bytes,
            RunOp(OpCode::kAdd, {Iota(DType::kI32, {1, 600}, 0), Iota(DType::kI32, {1, 600}, 0)}).bytes);
}

TEST(ScatterND, RefusesWhatLiesOutside) {
  const Tensor x = F32({2, 3}, {0, 1, 2, 3, 4, 5});
  for (int64_t index : {int64_t{2}, int64_t{-3}, kHuge, -kHuge - 1}) {
    ExpectIndexError(
        Op(OpCode::kScatterND, {x, I64({1, 1}, {index}), F32({1, 3}, {1, 2, 3})}, ScatterAttrs{}));
  }
  ExpectError(Op(OpCode::kScatterND, {x, I64({1, 1}, {0}), F32({3}, {1, 2, 3})}, ScatterAttrs{}), "rank 1");
  ExpectError(Op(OpCode::kScatterND, {x, I64({1, 1}, {0}), F32({1, 2}, {1, 2})}, ScatterAttrs{}), "axis 1");
  ExpectError(Op(OpCode::kScatterND, {x, I64({1, 3}, {0, 0, 0}), F32({1}, {1})}, ScatterAttrs{}), "1 to 2");
}

}  // namespace
}  // namespace skiff::test
