// TensorFlow Lite rows: shapes, and tensors made from them.
#include <algorithm>

#include "import/tflite/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

void BuildShape(TfliteBuilder& b) {
  b.OutputValue(EmitExtents(b, "extents", b.Input(0), 0, b.RankOf(b.Input(0))));
}

void BuildRank(TfliteBuilder& b) {
  b.OutputConstant(MakeConstant(b.DTypeOfOutput(), Shape{}, {static_cast<double>(b.RankOf(b.Input(0)))}));
}

/// The target is input 1, or an option of old files, which may have a scalar for input 1.
void BuildReshape(TfliteBuilder& b) {
  ValueId target = b.HasInput(1) ? b.Integers("target", b.Input(1)) : kNoValue;
  const bool scalar = target != kNoValue && b.HasRank(target, 0);
  const std::vector<int32_t> stated = b.Options<tflite::ReshapeOptions>().new_shape;
  if (scalar && stated.empty())
    target = b.Emit("target_vector", OpCode::kReshape, {target, b.ConstantInts("one", {1})}, ReshapeAttrs{});
  if (target == kNoValue || (scalar && !stated.empty())) {
    std::vector<int64_t> extents(stated.begin(), stated.end());
    if (extents.size() == 1 && extents[0] == 0) extents.clear();  // How old files write a scalar.
    target = b.ConstantInts("target", extents);
  }
  b.Output(OpCode::kReshape, {b.Moved(0), target}, ReshapeAttrs{.allow_zero = true});
}

/// No axes: all of extent 1. Of open extents infer-shapes says what would decide it.
void BuildSqueeze(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const int rank = b.RankOf(x);
  const std::vector<int32_t> stated = b.Options<tflite::SqueezeOptions>().axes;
  AxesAttrs attrs{b.ToInts({stated.begin(), stated.end()}, "axes")};
  for (int64_t i = 0; i < attrs.axes.size; ++i) attrs.axes[i] = AxisOf(b, "axis", attrs.axes[i], rank);
  if (attrs.axes.size == 0) {
    for (int axis = 0; axis < rank; ++axis) {
      if (!b.ExtentOf(x, axis)) return b.Output(OpCode::kSqueeze, {x}, AxesAttrs{});
      if (b.ExtentOf(x, axis) == 1) attrs.axes[attrs.axes.size++] = axis;
    }
    if (attrs.axes.size == 0) return b.Output(OpCode::kIdentity, {x});
  }
  b.Output(OpCode::kSqueeze, {x}, attrs);
}

void BuildExpandDims(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const int axis = AxisOf(b, "axis", b.ConstantInt(1, "axis"), b.RankOf(x) + 1);
  b.Output(OpCode::kUnsqueeze, {x}, AxesAttrs{{axis}});
}

/// Of one element, as large as input 0 says.
void BuildFill(TfliteBuilder& b) {
  const ValueId extents = b.Integers("extents", b.Input(0));
  b.Output(OpCode::kExpand, {b.Moved(1), extents});
}

void BuildBroadcastTo(TfliteBuilder& b) {
  b.Output(OpCode::kExpand, {b.Moved(0), b.Integers("extents", b.Input(1))});
}

/// The shape of two broadcast tensors, from their shapes: where one extent is 1, the other. The shorter shape
/// has ones in front.
void BuildBroadcastArgs(TfliteBuilder& b) {
  ValueId shapes[] = {b.Integers("left", b.Input(0)), b.Integers("right", b.Input(1))};
  int64_t ranks[2];
  for (int i = 0; i < 2; ++i) {
    const std::optional<int64_t> rank = b.ExtentOf(shapes[i], 0);
    if (!rank) b.Unsupported("broadcasts shapes of open rank");
    if (*rank > kMaxRank)
      b.Unsupported("broadcasts a shape of {} extents; at most {} are supported", *rank, kMaxRank);
    ranks[i] = *rank;
  }
  const int shorter = ranks[0] < ranks[1] ? 0 : 1;
  if (ranks[0] != ranks[1]) {
    const std::vector<int64_t> ones(static_cast<size_t>(ranks[1 - shorter] - ranks[shorter]), 1);
    shapes[shorter] =
        b.Emit("longer", OpCode::kConcat, {b.ConstantInts("ones", ones), shapes[shorter]}, AxisAttrs{0});
  }
  for (int64_t axis = 0; axis < std::max(ranks[0], ranks[1]); ++axis) {
    const std::optional<double> left = b.NumberAt(shapes[0], axis);
    const std::optional<double> right = b.NumberAt(shapes[1], axis);
    if (left && right && *left != *right && *left != 1 && *right != 1)
      b.Invalid("the extents {} and {} do not broadcast", *left, *right);
  }
  const ValueId one = b.Scalar("one", DType::kI64, 1);
  const ValueId is_one = b.Emit("is_one", OpCode::kEqual, {shapes[0], one});
  b.OutputValue(b.Emit("extents", OpCode::kWhere, {is_one, shapes[1], shapes[0]}));
}

/// LiteRT counts the numbers of a float range in f32: 0.3 is three times 0.1 there, and in real numbers more.
void BuildFloatRange(TfliteBuilder& b, const std::vector<ValueId>& numbers) {
  const ValueId start = numbers[0];
  const ValueId delta = numbers[2];
  const ValueId steps = EmitDiv(b, "steps", EmitSub(b, "distance", numbers[1], start), delta);
  const ValueId count = b.CastTo("count", b.Emit("whole_steps", OpCode::kCeil, {steps}), DType::kI64);
  const ValueId counted = b.CastTo("counted", EmitCount(b, "places", count), DType::kF32);
  b.OutputValue(EmitAdd(b, "numbers", EmitMul(b, "distances", counted, delta), start));
}

void BuildRange(TfliteBuilder& b) {
  std::vector<ValueId> numbers;
  for (size_t i = 0; i < 3; ++i) {
    const ValueId number = b.Real(fmt::format("real_{}", i).c_str(), b.Input(i));
    numbers.push_back(
        IsFloat(b.DTypeOf(number)) ? number : b.IntegerScalar(fmt::format("number_{}", i).c_str(), number));
  }
  if (b.DTypeOf(numbers[0]) == DType::kF32) return BuildFloatRange(b, numbers);
  b.OutputValue(b.Emit("count", OpCode::kRange, numbers));
}

constexpr TfliteOp kRows[] = {
    {Op::SHAPE, BuildShape, OpCode::kShape},
    {Op::RANK, BuildRank},
    {Op::RESHAPE, BuildReshape, OpCode::kReshape},
    {Op::SQUEEZE, BuildSqueeze, OpCode::kSqueeze},
    {Op::EXPAND_DIMS, BuildExpandDims, OpCode::kUnsqueeze},
    {Op::FILL, BuildFill, OpCode::kExpand},
    {Op::BROADCAST_TO, BuildBroadcastTo, OpCode::kExpand},
    {Op::BROADCAST_ARGS, BuildBroadcastArgs},
    {Op::RANGE, BuildRange, OpCode::kRange},
};

}  // namespace

std::span<const TfliteOp> TfliteShapeOps() { return kRows; }

}  // namespace skiff
