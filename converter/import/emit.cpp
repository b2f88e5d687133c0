#include "import/emit.h"

#include <algorithm>
#include <limits>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {

ValueId EmitExtents(NodeBuilder& b, const char* suffix, ValueId x, int start, int end) {
  return b.Emit(suffix, OpCode::kShape, {b.Codes("codes", x)}, ShapeAttrs{start, end});
}

ValueId EmitExtent(NodeBuilder& b, const char* suffix, ValueId x, int axis) {
  if (const auto extent = b.ExtentOf(x, axis))
    return b.Scalar(suffix, DType::kI64, static_cast<double>(*extent));
  const ValueId extents = EmitExtents(b, fmt::format("{}_vector", suffix).c_str(), x, axis, axis + 1);
  return b.Emit(suffix, OpCode::kSqueeze, {extents}, AxesAttrs{{0}});
}

ValueId EmitCount(NodeBuilder& b, const char* suffix, ValueId limit) {
  const DType dtype = b.DTypeOf(limit);
  const ValueId zero = b.Scalar(fmt::format("{}_start", suffix).c_str(), dtype, 0);
  const ValueId one = b.Scalar(fmt::format("{}_step", suffix).c_str(), dtype, 1);
  return b.Emit(suffix, OpCode::kRange, {zero, limit, one});
}

ValueId EmitReshape(NodeBuilder& b, const char* suffix, ValueId x, const std::vector<int64_t>& target) {
  const ValueId shape = b.ConstantInts(fmt::format("{}_target", suffix).c_str(), target);
  return b.Emit(suffix, OpCode::kReshape, {x, shape}, ReshapeAttrs{});
}

ValueId EmitSameExtent(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId like,
                       int64_t of_like) {
  if (b.KnowsRank(like) && b.RankOf(like) <= of_like)
    b.Invalid("an operand has rank {}; at least {} was expected", b.RankOf(like), of_like + 1);
  if (b.SameExtents(x, axis, like, of_like)) return x;
  const int rank = b.RankOf(x);
  const auto zeros = [&](const char* part, int64_t count) {  // The extents of x.
    return b.ConstantInts(fmt::format("{}_{}", suffix, part).c_str(),
                          std::vector<int64_t>(static_cast<size_t>(count), 0));
  };
  const ValueId extent = EmitExtents(b, fmt::format("{}_extent", suffix).c_str(), like,
                                     static_cast<int>(of_like), static_cast<int>(of_like) + 1);
  const ValueId target =
      b.Emit(fmt::format("{}_target", suffix).c_str(), OpCode::kConcat,
             {zeros("before", axis), extent, zeros("behind", rank - axis - 1)}, AxisAttrs{0});
  return b.Emit(suffix, OpCode::kReshape, {x, target}, ReshapeAttrs{});
}

ValueId EmitNotGrowing(NodeBuilder& b, const char* suffix, ValueId x, ValueId factor) {
  if (!b.KnowsRank(x) || !b.KnowsRank(factor)) return x;
  const int rank = b.RankOf(x);
  const int factor_rank = b.RankOf(factor);
  for (int i = 1; i <= std::min(rank, factor_rank); ++i) {
    const std::optional<int64_t> repeated = b.ExtentOf(factor, factor_rank - i);
    if (b.ExtentOf(x, rank - i) == 1 && repeated.value_or(1) > 1)
      b.Invalid("it has {} numbers along axis {}, where its input has one element", *repeated, rank - i);
    if (!b.ExtentOf(x, rank - i) && repeated.value_or(0) > 1)
      x = EmitSameExtent(b, fmt::format("{}_{}", suffix, rank - i).c_str(), x, rank - i, factor,
                         factor_rank - i);
  }
  return x;
}

ValueId EmitUnsqueeze(NodeBuilder& b, const char* suffix, ValueId x, const Ints& axes) {
  return axes.size == 0 ? x : b.Emit(suffix, OpCode::kUnsqueeze, {x}, AxesAttrs{axes});
}

ValueId EmitTranspose(NodeBuilder& b, const char* suffix, ValueId x, const Ints& perm) {
  bool moves = false;
  for (int64_t i = 0; i < perm.size; ++i) moves |= perm[i] != i;
  return moves ? b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{perm}) : x;
}

ValueId EmitSlice(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t end,
                  int64_t step) {
  const auto list = [&](const char* what, int64_t number) {
    return b.ConstantInts(fmt::format("{}_{}", suffix, what).c_str(), {number});
  };
  std::vector<ValueId> inputs = {x, list("start", start), list("end", end), list("axis", axis)};
  if (step != 1) inputs.push_back(list("step", step));
  return b.Emit(suffix, OpCode::kSlice, std::move(inputs));
}

ValueId EmitScalarInput(NodeBuilder& b, const char* suffix, size_t input) {
  const ValueId value = b.Input(input);
  if (b.HasRank(value, 0)) return value;
  return b.Emit(
      suffix, OpCode::kReshape,
      {value, b.Constant(fmt::format("{}_shape", suffix).c_str(), TensorData(DType::kI64, Shape{0}))},
      ReshapeAttrs{});
}

ValueId ExtentsOf(NodeBuilder& b, ValueId x, int64_t start, int64_t end) {
  if (const auto known = b.ExtentsOf(x, start, end)) return b.ConstantInts("extents", *known);
  return EmitExtents(b, "extents", x, static_cast<int>(start), static_cast<int>(end));
}

ValueId ReshapeTo(NodeBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents,
                  const ReshapeAttrs& attrs) {
  std::vector<int64_t> numbers;
  bool constant = true;
  for (ValueId part : extents) {
    const TensorData* data = b.ConstantOf(part);
    constant = constant && data != nullptr;
    if (!constant) continue;
    for (int64_t number : data->ToInts()) numbers.push_back(number);
  }
  const ValueId target = constant ? b.ConstantInts("target", numbers)
                                  : b.Emit("target", OpCode::kConcat, std::move(extents), AxisAttrs{0});
  return b.Emit(suffix, OpCode::kReshape, {x, target}, attrs);
}

ValueId ProductOf(NodeBuilder& b, ValueId x, int64_t start, int64_t end) {
  if (start == end) return b.ConstantInts("one", {1});
  const ValueId extents = ExtentsOf(b, x, start, end);
  if (end - start == 1) return extents;
  return b.Precomputed("product_known", b.Emit("product", OpCode::kReduceProd, {extents}, ReduceAttrs{{0}}));
}

ValueId ReshapeToExtents(NodeBuilder& b, const char* suffix, ValueId x, std::vector<ValueId> extents) {
  return ReshapeTo(b, suffix, x, std::move(extents), ReshapeAttrs{.allow_zero = true});
}

ValueId PadAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t begin, int64_t end) {
  return begin == 0 && end == 0 ? x : PadAxis(b, suffix, x, axis, b.ConstantInts("pads", {begin, end}));
}

ValueId PadAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId pads) {
  std::vector<ValueId> inputs{x, pads, kNoValue, b.ConstantInts("axis", {axis})};
  const QuantizationPtr quantization = b.QuantizationOf(x);
  if (!quantization) return b.Emit(suffix, OpCode::kPad, std::move(inputs), PadAttrs{});
  return b.EmitQuantized(suffix, OpCode::kPad, std::move(inputs), PadAttrs{}, b.DTypeOf(x), quantization);
}

ValueId SliceAxis(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t behind,
                  int64_t step) {
  if (start == 0 && behind == 0 && step == 1) return x;
  const int64_t end = behind == 0 ? std::numeric_limits<int64_t>::max() : -behind;
  return b.Emit(suffix, OpCode::kSlice,
                {x, b.ConstantInts("start", {start}), b.ConstantInts("end", {end}),
                 b.ConstantInts("axis", {axis}), b.ConstantInts("step", {step})});
}

ValueId Pick(NodeBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t index) {
  const ValueId one = b.Emit("element", OpCode::kSlice,
                             {x, b.ConstantInts("start", {index}), b.ConstantInts("end", {index + 1}),
                              b.ConstantInts("axis", {axis})});
  return b.Emit(suffix, OpCode::kSqueeze, {one}, AxesAttrs{{axis}});
}

int AxisOf(NodeBuilder& b, const char* name, int64_t axis, int rank) {
  const int index = NormalizeAxis(axis, rank);
  if (index < 0) b.Invalid("'{}' is {}, outside a tensor of rank {}", name, axis, rank);
  return index;
}

}  // namespace skiff
