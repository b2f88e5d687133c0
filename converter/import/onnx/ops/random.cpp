// ONNX rows: determinants, and what is drawn anew at each run.
#include <bit>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

void BuildDet(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  b.Output(OpCode::kIdentity, {b.EmitAll({"determinant", "factors"}, OpCode::kDet, {x}, NoAttrs{})[0]});
}

/// Nodes of one seed draw the same numbers, others their own; all of them others at each run.
RandomAttrs Drawing(OnnxBuilder& b, Distribution distribution, DType dtype) {
  RandomAttrs attrs;
  attrs.distribution = distribution;
  attrs.dtype = static_cast<int64_t>(dtype);
  if (b.HasAttribute("seed")) {
    attrs.seed = std::bit_cast<int32_t>(b.Float("seed", 0));
  } else {
    attrs.stream = b.NextStream();
  }
  return attrs;
}

void Draw(OnnxBuilder& b, ValueId shape, DType dtype) {
  const ValueId run = b.RunNumber();
  const bool normal = b.node().op_type().starts_with("RandomNormal");
  RandomAttrs attrs = Drawing(b, normal ? Distribution::kNormal : Distribution::kUniform, dtype);
  if (normal) {
    attrs.mean = b.Float("mean", 0);
    attrs.deviation = b.Float("scale", 1);
  } else {
    attrs.low = b.Float("low", 0);
    attrs.high = b.Float("high", 1);
  }
  b.Output(OpCode::kRandom, {shape, run}, attrs);
}

void BuildRandom(OnnxBuilder& b) {
  const auto shape = b.IntList("shape");
  if (!shape) b.Invalid("attribute 'shape' is not there");
  Draw(b, b.ConstantInts("shape", *shape), b.DTypeAttribute("dtype", DType::kF32));
}

void BuildRandomLike(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.HasAttribute("dtype") ? b.DTypeAttribute("dtype")
                      : IsFloat(b.DTypeOf(x)) ? b.DTypeOf(x)
                                              : DType::kF32;
  Draw(b, b.Emit("shape", OpCode::kShape, {x}, ShapeAttrs{}), dtype);
}

void BuildBernoulli(OnnxBuilder& b) {
  const ValueId chances = b.Input(0);
  const DType dtype = b.DTypeOf(chances);
  const ValueId run = b.RunNumber();
  const ValueId shape = b.Emit("shape", OpCode::kShape, {chances}, ShapeAttrs{});
  const ValueId drawn =
      b.Emit("drawn", OpCode::kRandom, {shape, run}, Drawing(b, Distribution::kUniform, dtype));
  const ValueId ones = b.Emit("ones", OpCode::kLess, {drawn, chances});
  b.Output(OpCode::kCast, {ones}, CastAttrs{static_cast<int64_t>(b.DTypeAttribute("dtype", dtype))});
}

/// Of unnormalised logarithms of chances [rows, classes]: how many classes lie, with all that they add up to,
/// below a number drawn.
void BuildMultinomial(OnnxBuilder& b) {
  const ValueId x = b.CastTo("logarithms", b.Input(0), DType::kF64);
  const int64_t samples = b.Int("sample_size", 1);
  if (samples < 1) b.Invalid("attribute 'sample_size' is {}; at least 1 was expected", samples);
  const DType dtype = b.DTypeAttribute("dtype", DType::kI32);
  const ValueId run = b.RunNumber();
  const ValueId chances = b.Emit("chances", OpCode::kSoftmax, {x}, AxisAttrs{1});
  const ValueId sums =
      b.Emit("sums", OpCode::kCumSum, {chances, b.Scalar("axis", DType::kI64, 1)}, CumSumAttrs{});
  // The last sum is all, from which rounding keeps the number drawn away: f32 has fewer digits.
  const ValueId all = SliceAxis(b, "all", sums, 1, -1, 0);
  const ValueId borders = EmitUnsqueeze(b, "borders", SliceAxis(b, "below_all", sums, 1, 0, 1), {1});
  const ValueId rows = EmitExtents(b, "rows", x, 0, 1);
  const ValueId shape =
      b.Emit("shape", OpCode::kConcat, {rows, b.ConstantInts("samples", {samples})}, AxisAttrs{0});
  const ValueId drawn =
      b.Emit("drawn", OpCode::kRandom, {shape, run}, Drawing(b, Distribution::kUniform, DType::kF32));
  const ValueId number =
      EmitUnsqueeze(b, "number", EmitMul(b, "scaled", b.CastTo("wide", drawn, DType::kF64), all), {2});
  const ValueId passed =
      b.CastTo("passed", b.Emit("is_passed", OpCode::kLessOrEqual, {borders, number}), DType::kI64);
  const ValueId index =
      b.Emit("index", OpCode::kReduceSum, {passed}, ReduceAttrs{.axes = {2}, .keep_dims = false});
  b.Output(OpCode::kCast, {index}, CastAttrs{static_cast<int64_t>(dtype)});
}

constexpr OnnxOp kRows[] = {
    {"Det", 11, kNewest, BuildDet},
    {"RandomNormal", kOldest, kNewest, BuildRandom},
    {"RandomUniform", kOldest, kNewest, BuildRandom},
    {"RandomNormalLike", kOldest, kNewest, BuildRandomLike},
    {"RandomUniformLike", kOldest, kNewest, BuildRandomLike},
    {"Bernoulli", 15, kNewest, BuildBernoulli},
    {"Multinomial", 7, kNewest, BuildMultinomial},
};

}  // namespace

std::span<const OnnxOp> OnnxRandomOps() { return kRows; }

}  // namespace skiff
