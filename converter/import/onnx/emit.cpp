#include "import/onnx/emit.h"

#include <algorithm>

#include "ops/shape_rules.h"

namespace skiff {

ValueId EmitExtents(OnnxBuilder& b, const char* suffix, ValueId x, int start, int end) {
  return b.Emit(suffix, OpCode::kShape, {x}, ShapeAttrs{start, end});
}

ValueId EmitExtent(OnnxBuilder& b, const char* suffix, ValueId x, int axis) {
  if (const auto extent = b.ExtentOf(x, axis))
    return b.Scalar(suffix, DType::kI64, static_cast<double>(*extent));
  const ValueId extents = EmitExtents(b, fmt::format("{}_vector", suffix).c_str(), x, axis, axis + 1);
  return b.Emit(suffix, OpCode::kSqueeze, {extents}, AxesAttrs{{0}});
}

ValueId EmitCount(OnnxBuilder& b, const char* suffix, ValueId limit) {
  const DType dtype = b.DTypeOf(limit);
  const ValueId zero = b.Scalar(fmt::format("{}_start", suffix).c_str(), dtype, 0);
  const ValueId one = b.Scalar(fmt::format("{}_step", suffix).c_str(), dtype, 1);
  return b.Emit(suffix, OpCode::kRange, {zero, limit, one});
}

ValueId EmitReshape(OnnxBuilder& b, const char* suffix, ValueId x, const std::vector<int64_t>& target) {
  const ValueId shape = b.ConstantInts(fmt::format("{}_target", suffix).c_str(), target);
  return b.Emit(suffix, OpCode::kReshape, {x, shape}, ReshapeAttrs{});
}

ValueId EmitSameExtent(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, ValueId like,
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

ValueId EmitNotGrowing(OnnxBuilder& b, const char* suffix, ValueId x, ValueId factor) {
  if (!b.KnowsRank(x) || !b.KnowsRank(factor)) return x;
  const int rank = b.RankOf(x);
  const int factor_rank = b.RankOf(factor);
  for (int i = 1; i <= std::min(rank, factor_rank); ++i) {
    const std::optional<int64_t> repeated = b.ExtentOf(factor, factor_rank - i);
    if (!b.ExtentOf(x, rank - i) && repeated.value_or(0) > 1)
      x = EmitSameExtent(b, fmt::format("{}_{}", suffix, rank - i).c_str(), x, rank - i, factor,
                         factor_rank - i);
  }
  return x;
}

ValueId EmitUnsqueeze(OnnxBuilder& b, const char* suffix, ValueId x, const Ints& axes) {
  return axes.size == 0 ? x : b.Emit(suffix, OpCode::kUnsqueeze, {x}, AxesAttrs{axes});
}

ValueId EmitTranspose(OnnxBuilder& b, const char* suffix, ValueId x, const Ints& perm) {
  bool moves = false;
  for (int64_t i = 0; i < perm.size; ++i) moves |= perm[i] != i;
  return moves ? b.Emit(suffix, OpCode::kTranspose, {x}, TransposeAttrs{perm}) : x;
}

ValueId EmitSlice(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis, int64_t start, int64_t end,
                  int64_t step) {
  const auto list = [&](const char* what, int64_t number) {
    return b.ConstantInts(fmt::format("{}_{}", suffix, what).c_str(), {number});
  };
  std::vector<ValueId> inputs = {x, list("start", start), list("end", end), list("axis", axis)};
  if (step != 1) inputs.push_back(list("step", step));
  return b.Emit(suffix, OpCode::kSlice, std::move(inputs));
}

ValueId EmitScalarInput(OnnxBuilder& b, const char* suffix, size_t input) {
  const ValueId value = b.Input(input);
  if (b.HasRank(value, 0)) return value;
  return b.Emit(
      suffix, OpCode::kReshape,
      {value, b.Constant(fmt::format("{}_shape", suffix).c_str(), TensorData(DType::kI64, Shape{0}))},
      ReshapeAttrs{});
}

DType TypeAttribute(OnnxBuilder& b, const char* name, DType fallback) {
  return b.HasAttribute(name) ? b.DTypeAttribute(name) : fallback;
}

int AxisOf(OnnxBuilder& b, const char* name, int64_t axis, int rank) {
  const int index = NormalizeAxis(axis, rank);
  if (index < 0) b.Invalid("'{}' is {}, outside a tensor of rank {}", name, axis, rank);
  return index;
}

}  // namespace skiff
