#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

const Tensor kGrid = Iota(DType::kF32, {2, 3, 4}, 0);

/// A tensor with extents only: the shape rule does not need its elements.
Tensor Extents(std::vector<int64_t> shape) { return {DType::kF32, std::move(shape), {}}; }

std::vector<int64_t> ReshapedTo(const Tensor& x, std::vector<int64_t> target, bool allow_zero = false) {
  const Outcome outcome = Op(OpCode::kReshape, {x, List(target)}, ReshapeAttrs{allow_zero}).Infer();
  EXPECT_TRUE(outcome.status.ok()) << outcome.message;
  return outcome.status.ok() ? outcome[0].shape : std::vector<int64_t>{};
}

using Dims = std::vector<int64_t>;

TEST(Reshape, TargetRules) {
  EXPECT_EQ(ReshapedTo(kGrid, {6, 4}), (Dims{6, 4}));
  EXPECT_EQ(ReshapedTo(kGrid, {-1}), (Dims{24}));
  EXPECT_EQ(ReshapedTo(kGrid, {0, -1}), (Dims{2, 12}));
  EXPECT_EQ(ReshapedTo(kGrid, {0, 0, 2, -1}), (Dims{2, 3, 2, 2}));
  EXPECT_EQ(ReshapedTo(F32({1}, {5}), {}), (Dims{}));
  EXPECT_EQ(ReshapedTo(Extents({0, 4}), {0, 2, 2}), (Dims{0, 2, 2}));
  EXPECT_EQ(ReshapedTo(Extents({0, 4}), {0, -1}), (Dims{0, 4}));
  EXPECT_EQ(ReshapedTo(Extents({0, 2, 6}), {0, 6}), (Dims{0, 6}));
  EXPECT_EQ(ReshapedTo(Extents({0, 4}), {7, 0}, true), (Dims{7, 0}));
  ExpectValues(RunOp(OpCode::kReshape, {F32({4}, {1, 2, 3, 4}), List({2, 2})}, ReshapeAttrs{}), {1, 2, 3, 4});
}

TEST(Reshape, Errors) {
  const auto reshape = [](const Tensor& x, std::vector<int64_t> target, bool allow_zero = false) {
    return Op(OpCode::kReshape, {x, List(target)}, ReshapeAttrs{allow_zero});
  };
  ExpectError(reshape(kGrid, {5, 5}), "24 elements");
  ExpectError(reshape(kGrid, {-1, 5}), "24 elements");
  ExpectError(reshape(kGrid, {-1, -1}), "more than one -1");
  ExpectError(reshape(kGrid, {-2, 12}), "axis 0 is -2");
  ExpectError(reshape(kGrid, {1, 1, 1, 0}), "axis 3 copies");
  ExpectError(reshape(Extents({0, 4}), {0, -1}, true), "cannot be derived");
  ExpectError(reshape(kGrid, {kHighest, kHighest}), "63 bits");
  ExpectError(reshape(Extents({kHighest, kHighest}), {-1}), "63 bits");
  ExpectError(reshape(kGrid, {1, 1, 1, 1, 1, 1, 1, 1, 24}), "at most 8");
  ExpectError(Op(OpCode::kReshape, {kGrid, F32({1}, {24})}, ReshapeAttrs{}), "i64 or i32");
  ExpectError(Op(OpCode::kReshape, {kGrid, {DType::kI64, {2}, {}}}, ReshapeAttrs{}), "must be known");
}

TEST(Flatten, Axes) {
  const auto flatten = [](const Tensor& x, int64_t axis) {
    return Op(OpCode::kFlatten, {x}, AxisAttrs{axis});
  };
  EXPECT_EQ(flatten(kGrid, 1).Infer()[0].shape, (Dims{2, 12}));
  EXPECT_EQ(flatten(kGrid, 0).Infer()[0].shape, (Dims{1, 24}));
  EXPECT_EQ(flatten(kGrid, 3).Infer()[0].shape, (Dims{24, 1}));
  EXPECT_EQ(flatten(kGrid, -1).Infer()[0].shape, (Dims{6, 4}));
  EXPECT_EQ(flatten(F32({}, {1}), 0).Infer()[0].shape, (Dims{1, 1}));
  ExpectError(flatten(kGrid, 4), "axis 4");
  ExpectError(flatten(kGrid, kLowest), "outside");
  ExpectError(flatten(Extents({kHighest, 2, 2}), 0), "63 bits");
}

TEST(Squeeze, AxesOrAllOnes) {
  const auto squeeze = [](const Tensor& x, Ints axes) {
    AxesAttrs attrs;
    attrs.axes = axes;
    return Op(OpCode::kSqueeze, {x}, attrs);
  };
  const Tensor x = Iota(DType::kF32, {1, 3, 1, 2}, 0);
  EXPECT_EQ(squeeze(x, {}).Infer()[0].shape, (Dims{3, 2}));
  EXPECT_EQ(squeeze(x, {-2}).Infer()[0].shape, (Dims{1, 3, 2}));
  EXPECT_EQ(squeeze(x, {0, 2}).Infer()[0].shape, (Dims{3, 2}));
  ExpectError(squeeze(x, {1}), "axis 1 has extent 3");
  ExpectError(squeeze(x, {4}), "outside");
  ExpectError(squeeze(x, {0, -4}), "twice");
}

TEST(Unsqueeze, AxesOfTheOutput) {
  const auto unsqueeze = [](const Tensor& x, Ints axes) {
    AxesAttrs attrs;
    attrs.axes = axes;
    return Op(OpCode::kUnsqueeze, {x}, attrs);
  };
  const Tensor x = Iota(DType::kF32, {3, 2}, 0);
  EXPECT_EQ(unsqueeze(x, {0, 3}).Infer()[0].shape, (Dims{1, 3, 2, 1}));
  EXPECT_EQ(unsqueeze(x, {-1, 1}).Infer()[0].shape, (Dims{3, 1, 2, 1}));
  ExpectError(unsqueeze(x, {3}), "outside an output of rank 3");
  ExpectError(unsqueeze(x, {0, 0}), "twice");
  ExpectError(unsqueeze(x, {0, 1, 2, 3, 4, 5, 6}), "rank 9");
}

TEST(Transpose, RuleErrors) {
  const auto transpose = [](const Tensor& x, Ints perm) {
    TransposeAttrs attrs;
    attrs.perm = perm;
    return Op(OpCode::kTranspose, {x}, attrs);
  };
  ExpectError(transpose(kGrid, {0, 1}), "lists 2 axes");
  ExpectError(transpose(kGrid, {0, 1, 1}), "entry 2 is 1");
  ExpectError(transpose(kGrid, {0, 1, 3}), "entry 2 is 3");
  ExpectError(transpose(kGrid, {-1, 1, 0}), "entry 0 is -1");
}

TEST(ShapeOp, StartAndEndAreClamped) {
  ExpectTensor(RunOp(OpCode::kShape, {kGrid}, ShapeAttrs{}), {3}, {2, 3, 4});
  ExpectTensor(RunOp(OpCode::kShape, {kGrid}, ShapeAttrs{1, 2}), {1}, {3});
  ExpectTensor(RunOp(OpCode::kShape, {kGrid}, ShapeAttrs{-1, 100}), {1}, {4});
  ExpectTensor(RunOp(OpCode::kShape, {kGrid}, ShapeAttrs{-100, -1}), {2}, {2, 3});
  ExpectTensor(RunOp(OpCode::kShape, {kGrid}, ShapeAttrs{kHighest, kLowest}), {0}, {});
  ExpectTensor(RunOp(OpCode::kShape, {F32({}, {1})}, ShapeAttrs{}), {0}, {});
}

}  // namespace
}  // namespace skiff::test
