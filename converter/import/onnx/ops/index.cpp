// ONNX rows: operators that find, order and address elements.
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// 0, 1, ... up to the extent of an axis, as a vector.
ValueId Positions(OnnxBuilder& b, const std::string& suffix, ValueId extent) {
  return b.Emit(suffix.c_str(), OpCode::kRange,
                {b.Scalar((suffix + "_start").c_str(), DType::kI64, 0), extent,
                 b.Scalar((suffix + "_step").c_str(), DType::kI64, 1)});
}

/// The extent of one axis, as a vector of one element.
ValueId Extent(OnnxBuilder& b, const char* suffix, ValueId x, int64_t axis) {
  return b.Emit(suffix, OpCode::kShape, {x}, ShapeAttrs{axis, axis + 1});
}

/// A vector as the axis `axis` of a tensor of rank `rank`, whose axes behind it become 1.
ValueId AlongAxis(OnnxBuilder& b, const char* suffix, ValueId vector, int64_t axis, int rank) {
  AxesAttrs behind;
  for (int64_t i = axis + 1; i < rank; ++i) behind.axes[behind.axes.size++] = i - axis;
  return behind.axes.size == 0 ? vector : b.Emit(suffix, OpCode::kUnsqueeze, {vector}, behind);
}

/// An axis counted from the front, of a tensor of rank `rank`.
int64_t Axis(const OnnxBuilder& b, int64_t fallback, int rank) {
  const int64_t axis = b.Int("axis", fallback);
  if (axis < -rank || axis >= rank) b.Invalid("attribute 'axis' is {} for a rank of {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

void BuildArg(OnnxBuilder& b) {
  b.Output(b.op(), {b.Input(0)},
           ArgAttrs{b.Int("axis", 0), b.Flag("keepdims", true), b.Flag("select_last_index")});
}

void BuildTopK(OnnxBuilder& b) {
  const TopKAttrs attrs{b.Int("axis", -1), b.Flag("largest", true)};
  const ValueId k = b.opset() < 10 ? b.ConstantInts("k", {b.RequiredInt("k")}) : b.Input(1);
  if (b.output_count() != 2) b.Invalid("the node has {} outputs; 2 were expected", b.output_count());
  b.Outputs(OpCode::kTopK, {b.Input(0), k}, attrs);
}

void BuildCumSum(OnnxBuilder& b) {
  b.Output(OpCode::kCumSum, {b.Input(0), b.Input(1)}, CumSumAttrs{b.Flag("exclusive"), b.Flag("reverse")});
}

void BuildGatherElements(OnnxBuilder& b) {
  b.Output(OpCode::kGatherElements, {b.Input(0), b.Input(1)}, AxisAttrs{b.Int("axis", 0)});
}

void BuildGatherND(OnnxBuilder& b) {
  b.Output(OpCode::kGatherND, {b.Input(0), b.Input(1)}, GatherNDAttrs{b.Int("batch_dims", 0)});
}

void BuildScatter(OnnxBuilder& b) {
  static constexpr std::pair<std::string_view, ScatterReduction> kReductions[] = {
      {"none", ScatterReduction::kNone}, {"add", ScatterReduction::kAdd}, {"mul", ScatterReduction::kMul},
      {"min", ScatterReduction::kMin},   {"max", ScatterReduction::kMax},
  };
  const std::string wanted = b.String("reduction", "none");
  for (const auto& [name, reduction] : kReductions) {
    if (name != wanted) continue;
    return b.Output(b.op(), {b.Input(0), b.Input(1), b.Input(2)}, ScatterAttrs{b.Int("axis", 0), reduction});
  }
  b.Invalid("attribute 'reduction' is '{}'; none, add, mul, min or max was expected", wanted);
}

void BuildReverseSequence(OnnxBuilder& b) {
  b.Output(OpCode::kReverseSequence, {b.Input(0), b.Input(1)},
           ReverseAttrs{b.Int("batch_axis", 1), b.Int("time_axis", 0)});
}

void BuildTrilu(OnnxBuilder& b) {
  b.Output(OpCode::kTrilu, {b.Input(0), b.OptionalInput(1)}, TriluAttrs{b.Flag("upper", true)});
}

/// 1 at the first largest element along an axis, 0 elsewhere.
ValueId EmitHardmax(OnnxBuilder& b, ValueId x, int64_t axis, int rank) {
  const ValueId largest = b.Emit("arg_max", OpCode::kArgMax, {x}, ArgAttrs{.axis = axis});
  const ValueId positions = Positions(b, "positions", Extent(b, "extent", x, axis));
  return b.Emit("chosen", OpCode::kEqual, {largest, AlongAxis(b, "aligned", positions, axis, rank)});
}

/// Before opset 13: over all axes from `axis` on, as if they were one.
void BuildHardmax(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  const CastAttrs to{static_cast<int64_t>(b.DTypeOf(x))};
  const int64_t axis = Axis(b, b.opset() < 13 ? 1 : -1, rank);
  if (b.opset() >= 13 || axis == rank - 1) {
    return b.Output(OpCode::kCast, {EmitHardmax(b, x, axis, rank)}, to);
  }
  const ValueId flat = b.Emit("flat", OpCode::kFlatten, {x}, AxisAttrs{axis});
  const ValueId hard = b.Emit("hard", OpCode::kCast, {EmitHardmax(b, flat, 1, 2)}, to);
  b.Output(OpCode::kReshape, {hard, b.Emit("shape", OpCode::kShape, {x}, ShapeAttrs{})},
           ReshapeAttrs{.allow_zero = true});
}

/// Indices below 0 count from the end; those outside [-depth, depth) choose nothing.
void BuildOneHot(OnnxBuilder& b) {
  const ValueId indices = b.CastTo("indices", b.Input(0), DType::kI64);
  ValueId depth = b.CastTo("depth", b.Input(1), DType::kI64);
  if (b.RankOf(depth) == 1) depth = b.Emit("depth_scalar", OpCode::kSqueeze, {depth}, AxesAttrs{{0}});
  const ValueId values = b.Input(2);
  const int rank = b.RankOf(indices) + 1;
  const int64_t axis = Axis(b, -1, rank);
  const ValueId below = b.Emit("below_0", OpCode::kLess, {indices, b.Scalar("zero", DType::kI64, 0)});
  const ValueId moved = b.Emit("from_end", OpCode::kAdd, {indices, depth}, ClampAttrs{});
  const ValueId wrapped = b.Emit("wrapped", OpCode::kWhere, {below, moved, indices});
  const ValueId column = b.Emit("column", OpCode::kUnsqueeze, {wrapped}, AxesAttrs{{axis}});
  const ValueId positions = AlongAxis(b, "aligned", Positions(b, "positions", depth), axis, rank);
  const ValueId hot = b.Emit("hot", OpCode::kEqual, {column, positions});
  const auto value = [&](const char* suffix, int64_t i) {
    return b.Emit(
        suffix, OpCode::kGather,
        {values, b.Scalar(fmt::format("{}_at", suffix).c_str(), DType::kI64, static_cast<double>(i))},
        AxisAttrs{0});
  };
  const ValueId off = value("off", 0);
  b.Output(OpCode::kWhere, {hot, value("on", 1), off});
}

/// Row i has its 1 at column i + k.
void BuildEyeLike(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.HasAttribute("dtype") ? b.DTypeAttribute("dtype") : b.DTypeOf(x);
  const int64_t k = b.Int("k", 0);
  const ValueId rows = Positions(b, "rows", Extent(b, "height", x, 0));
  const ValueId shifted = b.Emit("diagonal", OpCode::kAdd,
                                 {rows, b.Constant("k", TensorData(DType::kI64, Shape{}, &k))}, ClampAttrs{});
  const ValueId column = AlongAxis(b, "column", shifted, 0, 2);
  const ValueId equal =
      b.Emit("equal", OpCode::kEqual, {column, Positions(b, "columns", Extent(b, "width", x, 1))});
  b.Output(OpCode::kCast, {equal}, CastAttrs{static_cast<int64_t>(dtype)});
}

/// Writes the update into the cache, along one axis from a place of each batch on.
void BuildTensorScatter(OnnxBuilder& b) {
  const ValueId cache = b.Input(0);
  const ValueId update = b.Input(1);
  const int rank = b.RankOf(cache);
  const int64_t axis = Axis(b, -2, rank);
  if (axis == 0) b.Invalid("attribute 'axis' names the batches, which are apart");
  const std::string mode = b.String("mode", "linear");
  if (mode != "linear" && mode != "circular")
    b.Invalid("attribute 'mode' is '{}'; linear or circular was expected", mode);
  ValueId places = AlongAxis(
      b, "steps", Positions(b, "step", Extent(b, "steps", update, static_cast<int>(axis))), axis, rank);
  if (b.HasInput(2)) {
    const ValueId first = AlongAxis(b, "first", b.CastTo("first_i64", b.Input(2), DType::kI64), 0, rank);
    places = b.Emit("places", OpCode::kAdd, {places, first}, ClampAttrs{});
  }
  if (mode == "circular")
    places = b.Emit("around", OpCode::kMod, {places, Extent(b, "length", cache, static_cast<int>(axis))},
                    ModAttrs{});
  const ValueId shape = b.Emit("shape", OpCode::kShape, {update}, ShapeAttrs{});
  const ValueId indices = b.Emit("indices", OpCode::kExpand, {places, shape});
  b.Output(OpCode::kScatterElements, {cache, indices, update}, ScatterAttrs{axis});
}

constexpr OnnxOp kRows[] = {
    {"ArgMax", kOldest, kNewest, BuildArg, OpCode::kArgMax},
    {"ArgMin", kOldest, kNewest, BuildArg, OpCode::kArgMin},
    {"TopK", kOldest, kNewest, BuildTopK},
    {"CumSum", 11, kNewest, BuildCumSum},
    {"GatherElements", 11, kNewest, BuildGatherElements},
    {"GatherND", 11, kNewest, BuildGatherND},
    {"Scatter", 9, 10, BuildScatter, OpCode::kScatterElements},
    {"ScatterElements", 11, kNewest, BuildScatter, OpCode::kScatterElements},
    {"ScatterND", 11, kNewest, BuildScatter, OpCode::kScatterND},
    {"TensorScatter", 24, kNewest, BuildTensorScatter},
    {"ReverseSequence", 10, kNewest, BuildReverseSequence},
    {"Trilu", 14, kNewest, BuildTrilu},
    {"Hardmax", kOldest, kNewest, BuildHardmax},
    {"OneHot", 9, kNewest, BuildOneHot},
    {"EyeLike", 9, kNewest, BuildEyeLike},
};

}  // namespace

std::span<const OnnxOp> OnnxIndexOps() { return kRows; }

}  // namespace skiff
