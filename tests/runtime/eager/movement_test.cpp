#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

const Tensor kGrid = Iota(DType::kF32, {2, 3}, 0);

Tensor Transposed(const Tensor& x, Ints perm) {
  TransposeAttrs attrs;
  attrs.perm = perm;
  return RunOp(OpCode::kTranspose, {x}, attrs);
}

TEST(Transpose, SmallAndReversed) {
  ExpectTensor(Transposed(kGrid, {}), {3, 2}, {0, 3, 1, 4, 2, 5});
  ExpectTensor(Transposed(Iota(DType::kU8, {2, 1, 3}, 0), {1, 2, 0}), {1, 3, 2}, {0, 3, 1, 4, 2, 5});
  ExpectTensor(Transposed(F32({}, {7}), {}), {}, {7});
  ExpectTensor(Transposed(F32({2, 0}, {}), {1, 0}), {0, 2}, {});
}

/// Extents beyond the copy's tiles, every dtype size, and every order of the axes.
TEST(Transpose, MatchesIndexArithmetic) {
  const std::vector<Ints> perms = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const std::vector<int64_t> shape = {3, 37, 18};
  for (DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kI64}) {
    const Tensor x = Iota(dtype, shape, 0);
    const std::vector<double> in = Values(x);
    for (const Ints& perm : perms) {
      const Tensor out = Transposed(x, perm);
      std::vector<double> expected;
      int64_t index[3];
      for (index[0] = 0; index[0] < out.shape[0]; ++index[0]) {
        for (index[1] = 0; index[1] < out.shape[1]; ++index[1]) {
          for (index[2] = 0; index[2] < out.shape[2]; ++index[2]) {
            int64_t source[3];
            for (int i = 0; i < 3; ++i) source[perm[i]] = index[i];
            expected.push_back(in[static_cast<size_t>((source[0] * 37 + source[1]) * 18 + source[2])]);
          }
        }
      }
      ExpectValues(out, expected);
    }
  }
}

TEST(ChannelShuffle, TransposesGroups) {
  ExpectTensor(RunOp(OpCode::kChannelShuffle, {Iota(DType::kF32, {2, 6}, 0)}, GroupsAttrs{2}), {2, 6},
               {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  ExpectError(Op(OpCode::kChannelShuffle, {kGrid}, GroupsAttrs{2}), "3 channels");
  ExpectError(Op(OpCode::kChannelShuffle, {kGrid}, GroupsAttrs{0}), "positive");
}

TEST(Concat, AnyAxis) {
  const Tensor a = F32({1, 2}, {1, 2});
  const Tensor b = F32({1, 3}, {3, 4, 5});
  ExpectTensor(RunOp(OpCode::kConcat, {a, b}, AxisAttrs{-1}), {1, 5}, {1, 2, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kConcat, {kGrid, kGrid}, AxisAttrs{0}), {4, 3},
               {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kConcat, {kGrid, F32({2, 0}, {}), F32({2, 1}, {8, 9})}, AxisAttrs{1}), {2, 4},
               {0, 1, 2, 8, 3, 4, 5, 9});
  ExpectTensor(RunOp(OpCode::kConcat, {a}, AxisAttrs{0}), {1, 2}, {1, 2});
  ExpectError(Op(OpCode::kConcat, {kGrid, a}, AxisAttrs{0}), "extent 2 on axis 1");
  ExpectError(Op(OpCode::kConcat, {kGrid, List({1})}, AxisAttrs{0}), "dtype f32");
  ExpectError(Op(OpCode::kConcat, {kGrid, kGrid}, AxisAttrs{2}), "axis 2");
}

TEST(Split, SizesAndParts) {
  Outcome outcome = Op(OpCode::kSplit, {kGrid, List({1, 2})}, SplitAttrs{1, 0}, 2).Run();
  ASSERT_TRUE(outcome.status.ok()) << outcome.message;
  ExpectTensor(outcome[0], {2, 1}, {0, 3});
  ExpectTensor(outcome[1], {2, 2}, {1, 2, 4, 5});
  outcome = Op(OpCode::kSplit, {Iota(DType::kI32, {7}, 0)}, SplitAttrs{0, 3}, 3).Run();
  ASSERT_TRUE(outcome.status.ok()) << outcome.message;
  ExpectTensor(outcome[0], {3}, {0, 1, 2});
  ExpectTensor(outcome[1], {3}, {3, 4, 5});
  ExpectTensor(outcome[2], {1}, {6});
  outcome = Op(OpCode::kSplit, {kGrid, List({0, 2})}, SplitAttrs{0, 0}, 2).Run();
  ASSERT_TRUE(outcome.status.ok()) << outcome.message;
  ExpectTensor(outcome[0], {0, 3}, {});
  ExpectError(Op(OpCode::kSplit, {kGrid, List({1, 1})}, SplitAttrs{1, 0}, 2), "add up to 2");
  ExpectError(Op(OpCode::kSplit, {kGrid, List({4, -1})}, SplitAttrs{1, 0}, 2), "would be -1");
  ExpectError(Op(OpCode::kSplit, {kGrid, List({3})}, SplitAttrs{1, 0}, 2), "1 sizes for 2 outputs");
  ExpectError(Op(OpCode::kSplit, {kGrid}, SplitAttrs{1, 5}, 2), "parts is 5");
  ExpectError(Op(OpCode::kSplit, {Iota(DType::kI32, {5}, 0)}, SplitAttrs{0, 4}, 4), "would be -1");
  const int64_t huge = std::numeric_limits<int64_t>::max();
  ExpectError(Op(OpCode::kSplit, {kGrid, List({huge, huge})}, SplitAttrs{1, 0}, 2), "63 bits");
}

Tensor Sliced(const Tensor& x, std::vector<int64_t> starts, std::vector<int64_t> ends,
              std::vector<int64_t> axes, std::vector<int64_t> steps) {
  return RunOp(OpCode::kSlice, {x, List(starts), List(ends), List(axes), List(steps)});
}

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

TEST(Slice, StartsEndsAndSteps) {
  const Tensor row = Iota(DType::kF32, {6}, 0);
  ExpectTensor(Sliced(row, {1}, {4}, {0}, {1}), {3}, {1, 2, 3});
  ExpectTensor(Sliced(row, {-3}, {-1}, {0}, {1}), {2}, {3, 4});
  ExpectTensor(Sliced(row, {0}, {kHighest}, {0}, {2}), {3}, {0, 2, 4});
  ExpectTensor(Sliced(row, {1}, {kHighest}, {-1}, {2}), {3}, {1, 3, 5});
  ExpectTensor(Sliced(row, {-1}, {kLowest}, {0}, {-1}), {6}, {5, 4, 3, 2, 1, 0});
  ExpectTensor(Sliced(row, {4}, {0}, {0}, {-2}), {2}, {4, 2});
  ExpectTensor(Sliced(row, {20}, {-20}, {0}, {-4}), {2}, {5, 1});
  ExpectTensor(Sliced(row, {3}, {2}, {0}, {1}), {0}, {});
  ExpectTensor(Sliced(row, {20}, {30}, {0}, {1}), {0}, {});
  ExpectTensor(Sliced(row, {kLowest}, {kHighest}, {0}, {kHighest}), {1}, {0});
  ExpectTensor(Sliced(row, {kHighest}, {kLowest}, {0}, {kLowest}), {1}, {5});
  ExpectTensor(Sliced(F32({0}, {}), {-1}, {kLowest}, {0}, {-1}), {0}, {});
}

TEST(Slice, AxesAndDefaults) {
  ExpectTensor(Sliced(kGrid, {1, -1}, {kHighest, kLowest}, {0, 1}, {1, -1}), {1, 3}, {5, 4, 3});
  ExpectTensor(Sliced(kGrid, {1}, {2}, {1}, {1}), {2, 1}, {1, 4});
  ExpectTensor(RunOp(OpCode::kSlice, {kGrid, List({0, 1}), List({2, 3})}), {2, 2}, {1, 2, 4, 5});
  ExpectTensor(RunOp(OpCode::kSlice, {kGrid, List({1}), List({9}), Absent(), List({1})}), {1, 3}, {3, 4, 5});
  ExpectTensor(RunOp(OpCode::kSlice, {kGrid, List({}), List({})}), {2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor i32 = Make(DType::kI32, {1}, {-1});
  ExpectTensor(RunOp(OpCode::kSlice, {kGrid, i32, Make(DType::kI32, {1}, {2147483647})}), {1, 3}, {3, 4, 5});
  ExpectError(Op(OpCode::kSlice, {kGrid, List({0}), List({1}), List({0}), List({0})}), "step");
  ExpectError(Op(OpCode::kSlice, {kGrid, List({0}), List({1}), List({2})}), "outside");
  ExpectError(Op(OpCode::kSlice, {kGrid, List({0, 0}), List({1, 1}), List({0, -2})}), "twice");
  ExpectError(Op(OpCode::kSlice, {kGrid, List({0}), List({1, 1})}), "the ends are 2");
  ExpectError(Op(OpCode::kSlice, {kGrid, List({0, 0, 0}), List({1, 1, 1})}), "rank 2");
  ExpectError(Op(OpCode::kSlice, {kGrid, F32({1}, {0}), List({1})}), "i64 or i32");
}

TEST(Slice, RefusesValuesThatChanged) {
  OpRun run = Op(OpCode::kSlice, {kGrid, List({0}), List({1})});
  Outcome shapes = run.Infer();
  ASSERT_TRUE(shapes.status.ok());
  run.inputs[2] = List({2});
  std::vector<TensorView> in;
  for (Tensor& tensor : run.inputs) in.push_back(tensor.View());
  shapes.outputs[0].bytes.resize(12);
  const TensorView out = shapes.outputs[0].View();
  EXPECT_EQ(FindOp(OpCode::kSlice)->kernel({OpCode::kSlice, &run.attrs, {in.data(), 3}, {&out, 1}}).code(),
            StatusCode::kInvalidArgument);
}

TEST(Gather, AxesAndNegativeIndices) {
  ExpectTensor(RunOp(OpCode::kGather, {kGrid, I64({}, {1})}, AxisAttrs{0}), {3}, {3, 4, 5});
  ExpectTensor(RunOp(OpCode::kGather, {kGrid, List({2, -3})}, AxisAttrs{1}), {2, 2}, {2, 0, 5, 3});
  ExpectTensor(RunOp(OpCode::kGather, {kGrid, Make(DType::kI32, {1, 2}, {0, -1})}, AxisAttrs{-2}), {1, 2, 3},
               {0, 1, 2, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kGather, {kGrid, List({})}, AxisAttrs{0}), {0, 3}, {});
  EXPECT_EQ(Op(OpCode::kGather, {kGrid, List({2})}, AxisAttrs{0}).Run().status.code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Op(OpCode::kGather, {kGrid, List({-3})}, AxisAttrs{0}).Run().status.code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Op(OpCode::kGather, {F32({0}, {}), List({0})}, AxisAttrs{0}).Run().status.code(),
            StatusCode::kInvalidArgument);
  ExpectError(Op(OpCode::kGather, {kGrid, F32({1}, {0})}, AxisAttrs{0}), "i64 or i32");
  ExpectError(Op(OpCode::kGather, {F32({}, {0}), List({0})}, AxisAttrs{0}), "axis 0");
  ExpectError(Op(OpCode::kGather, {kGrid, I64({1, 1, 1, 1, 1, 1, 1, 1}, {0})}, AxisAttrs{0}), "rank 9");
}

Tensor Padded(PadMode mode, const Tensor& x, std::vector<int64_t> pads, const Tensor& value = Absent(),
              const Tensor& axes = Absent()) {
  return RunOp(OpCode::kPad, {x, List(pads), value, axes}, PadAttrs{mode});
}

TEST(Pad, Modes) {
  const Tensor row = F32({4}, {1, 2, 3, 4});
  ExpectTensor(Padded(PadMode::kConstant, row, {2, 1}), {7}, {0, 0, 1, 2, 3, 4, 0});
  ExpectTensor(Padded(PadMode::kConstant, row, {1, 1}, F32({}, {9})), {6}, {9, 1, 2, 3, 4, 9});
  ExpectTensor(Padded(PadMode::kReflect, row, {3, 2}), {9}, {4, 3, 2, 1, 2, 3, 4, 3, 2});
  ExpectTensor(Padded(PadMode::kReflect, row, {0, 8}), {12}, {1, 2, 3, 4, 3, 2, 1, 2, 3, 4, 3, 2});
  ExpectTensor(Padded(PadMode::kEdge, row, {2, 3}), {9}, {1, 1, 1, 2, 3, 4, 4, 4, 4});
  ExpectTensor(Padded(PadMode::kWrap, row, {5, 2}), {11}, {4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2});
  ExpectTensor(Padded(PadMode::kReflect, F32({1}, {7}), {2, 2}), {5}, {7, 7, 7, 7, 7});
}

TEST(Pad, NegativePadsCropFirst) {
  const Tensor row = F32({4}, {1, 2, 3, 4});
  ExpectTensor(Padded(PadMode::kConstant, row, {-1, -1}), {2}, {2, 3});
  ExpectTensor(Padded(PadMode::kConstant, row, {-2, 1}), {3}, {3, 4, 0});
  ExpectTensor(Padded(PadMode::kReflect, row, {-1, 2}), {5}, {2, 3, 4, 3, 2});
  ExpectTensor(Padded(PadMode::kEdge, row, {1, -2}), {3}, {1, 1, 2});
  ExpectTensor(Padded(PadMode::kConstant, row, {-5, 4}), {3}, {0, 0, 0});
  ExpectTensor(Padded(PadMode::kConstant, row, {-2, -2}), {0}, {});
  ExpectTensor(Padded(PadMode::kConstant, F32({0}, {}), {1, 1}), {2}, {0, 0});
}

TEST(Pad, SeveralAxes) {
  ExpectTensor(Padded(PadMode::kConstant, kGrid, {1, 0, 0, 1}), {3, 4}, {0, 0, 0, 0, 0, 1, 2, 0, 3, 4, 5, 0});
  ExpectTensor(Padded(PadMode::kEdge, kGrid, {1, 1, 0, 0}), {3, 4}, {0, 0, 1, 2, 0, 0, 1, 2, 3, 3, 4, 5});
  ExpectTensor(Padded(PadMode::kReflect, kGrid, {1, 1}, Absent(), List({-2})), {4, 3},
               {3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2});
  ExpectTensor(Padded(PadMode::kWrap, Make(DType::kU8, {2, 2}, {1, 2, 3, 4}), {0, 1, 1, 0}), {3, 3},
               {2, 1, 2, 4, 3, 4, 2, 1, 2});
  ExpectTensor(Padded(PadMode::kConstant, F32({}, {3}), {}), {}, {3});
  ExpectTensor(Padded(PadMode::kEdge, F32({}, {3}), {}), {}, {3});
}

TEST(Pad, Errors) {
  const auto run = [](const Tensor& x, std::vector<int64_t> pads, PadMode mode,
                      const Tensor& axes = Absent()) {
    return Op(OpCode::kPad, {x, List(pads), Absent(), axes}, PadAttrs{mode});
  };
  ExpectError(run(kGrid, {1, 1}, PadMode::kConstant), "twice as many pads");
  ExpectError(run(kGrid, {-3, 0, 0, 0}, PadMode::kConstant), "would be -1");
  ExpectError(run(kGrid, {kHighest, 0, 0, 0}, PadMode::kConstant), "beyond 2^46");
  ExpectError(run(kGrid, {kLowest, 0, kLowest, 0}, PadMode::kConstant), "beyond 2^46");
  ExpectError(run(F32({0}, {}), {1, 0}, PadMode::kReflect), "no element left to reflect");
  ExpectError(run(F32({2}, {1, 2}), {-3, 4}, PadMode::kEdge), "no element left to edge");
  ExpectError(run(kGrid, {1, 1, 1, 1}, PadMode::kEdge, List({1, 1})), "twice or lies outside");
  ExpectError(run(kGrid, {1, 1}, static_cast<PadMode>(9)), "mode");
  ExpectError(Op(OpCode::kPad, {kGrid, List({0, 0, 0, 0}), List({1})}, PadAttrs{}), "constant");
}

TEST(Expand, BothWays) {
  ExpectTensor(RunOp(OpCode::kExpand, {F32({2, 1}, {1, 2}), List({3})}), {2, 3}, {1, 1, 1, 2, 2, 2});
  ExpectTensor(RunOp(OpCode::kExpand, {F32({3}, {1, 2, 3}), List({2, 1})}), {2, 3}, {1, 2, 3, 1, 2, 3});
  ExpectTensor(RunOp(OpCode::kExpand, {F32({}, {7}), List({2, 2})}), {2, 2}, {7, 7, 7, 7});
  ExpectTensor(RunOp(OpCode::kExpand, {F32({1, 2}, {1, 2}), List({0, 1})}), {0, 2}, {});
  ExpectTensor(RunOp(OpCode::kExpand, {F32({1, 2, 1}, {1, 2}), List({2, 1, 3})}), {2, 2, 3},
               {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  ExpectError(Op(OpCode::kExpand, {kGrid, List({2, 4})}), "extent 3 cannot be expanded to 4");
  ExpectError(Op(OpCode::kExpand, {F32({1}, {1}), List({-2})}), "negative");
  ExpectError(Op(OpCode::kExpand, {kGrid, List({1, 1, 1, 1, 1, 1, 1, 1, 1})}), "at most 8");
}

TEST(Tile, Repeats) {
  ExpectTensor(RunOp(OpCode::kTile, {kGrid, List({1, 2})}), {2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kTile, {kGrid, List({2, 1})}), {4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  ExpectTensor(RunOp(OpCode::kTile, {F32({2, 1}, {1, 2}), List({2, 2})}), {4, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  ExpectTensor(RunOp(OpCode::kTile, {kGrid, List({0, 2})}), {0, 6}, {});
  ExpectTensor(
      RunOp(OpCode::kTile, {Iota(DType::kU8, {2, 1, 2, 1, 1, 1, 1, 2}, 0), List({2, 1, 2, 1, 1, 1, 1, 2})}),
      {4, 1, 4, 1, 1, 1, 1, 4},
      {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 4, 5, 4, 5, 6, 7, 6, 7,
       0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 4, 5, 4, 5, 6, 7, 6, 7});
  ExpectError(Op(OpCode::kTile, {kGrid, List({2})}), "1 repeats were given for 2 axes");
  ExpectError(Op(OpCode::kTile, {kGrid, List({-1, 1})}), "negative repeat");
  ExpectError(Op(OpCode::kTile, {kGrid, List({kHighest, 1})}), "63 bits");
}

TEST(Fill, EveryKindOfValue) {
  FillAttrs attrs;
  attrs.value = 1.5f;
  attrs.integer = -1;
  const auto fill = [&](DType dtype, std::vector<int64_t> shape) {
    attrs.dtype = static_cast<int64_t>(dtype);
    return RunOp(OpCode::kFill, {List(shape)}, attrs);
  };
  ExpectTensor(fill(DType::kF32, {2, 1}), {2, 1}, {1.5, 1.5});
  ExpectTensor(fill(DType::kF16, {2}), {2}, {1.5, 1.5});
  ExpectTensor(fill(DType::kI64, {}), {}, {-1});
  ExpectTensor(fill(DType::kU8, {3}), {3}, {255, 255, 255});
  ExpectTensor(fill(DType::kBool, {1}), {1}, {1});
  ExpectTensor(fill(DType::kF64, {0, 4}), {0, 4}, {});
  attrs.dtype = 99;
  ExpectError(Op(OpCode::kFill, {List({1})}, attrs), "dtype 99");
  ExpectError(Op(OpCode::kFill, {List({-1})}, FillAttrs{}), "would be -1");
}

Tensor RangeOf(DType dtype, double start, double limit, double delta) {
  return RunOp(OpCode::kRange,
               {Make(dtype, {}, {start}), Make(dtype, {}, {limit}), Make(dtype, {}, {delta})});
}

TEST(Range, CountsAndValues) {
  ExpectTensor(RangeOf(DType::kI64, 3, 9, 3), {2}, {3, 6});
  ExpectTensor(RangeOf(DType::kI32, 10, 4, -2), {3}, {10, 8, 6});
  ExpectTensor(RangeOf(DType::kI32, 10, 4, 2), {0}, {});
  ExpectTensor(RangeOf(DType::kF32, 0, 1, 0.25), {4}, {0, 0.25, 0.5, 0.75});
  ExpectTensor(RangeOf(DType::kF32, 1, 0, -0.4), {3}, {1, 0.6, 0.2}, 1e-6);
  ExpectTensor(RangeOf(DType::kF64, 0, 10, 4), {3}, {0, 4, 8});
  EXPECT_EQ(RangeOf(DType::kI64, 0, 600, 1).shape, std::vector<int64_t>{600});
  EXPECT_EQ(Values(RangeOf(DType::kI64, 0, 600, 1))[599], 599);
}

TEST(Range, Errors) {
  const auto range = [](int64_t start, int64_t limit, int64_t delta) {
    return Op(OpCode::kRange, {I64({}, {start}), I64({}, {limit}), I64({}, {delta})});
  };
  ExpectError(range(0, 5, 0), "not 0");
  ExpectError(range(kLowest, kHighest, 1), "2^63");
  EXPECT_EQ(range(kHighest, kLowest, kLowest).Infer()[0].shape, std::vector<int64_t>{2});
  const auto floats = [](double start, double limit, double delta) {
    return Op(OpCode::kRange, {F32({}, {start}), F32({}, {limit}), F32({}, {delta})});
  };
  ExpectError(floats(0, 5, 0), "finite range");
  ExpectError(floats(0, kInf, 1), "finite range");
  ExpectError(floats(kNan, 1, 1), "finite range");
  ExpectError(Op(OpCode::kRange, {List({0, 1}), List({5}), List({1})}), "one number");
  ExpectError(Op(OpCode::kRange, {F32({}, {0}), I64({}, {5}), I64({}, {1})}), "different dtypes");
  ExpectError(
      Op(OpCode::kRange, {Make(DType::kU8, {}, {0}), Make(DType::kU8, {}, {5}), Make(DType::kU8, {}, {1})}),
      "u8");
}

}  // namespace
}  // namespace skiff::test
