// ONNX rows: operators of which only the run can tell how much they return. They find what there is room for
// and count it; the rest is cut off.
#include <limits>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// Where x is not 0: [rank, count].
ValueId EmitNonZero(OnnxBuilder& b, ValueId x) {
  ReduceAttrs all;
  all.keep_dims = false;
  const ValueId ones = b.CastTo("ones", b.CastTo("present", x, DType::kBool), DType::kI64);
  const ValueId count = b.Emit("count", OpCode::kReduceSum, {ones}, all);
  return b.Emit("places", OpCode::kNonZero, {x, count});
}

/// The first `count` elements along an axis are output i.
void OutputFirst(OnnxBuilder& b, size_t i, ValueId all, ValueId count, int64_t axis) {
  const std::string suffix = fmt::format("{}_", i);
  b.Output(OpCode::kSlice,
           {all, b.ConstantInts((suffix + "begin").c_str(), {0}), count,
            b.ConstantInts((suffix + "axis").c_str(), {axis})},
           NoAttrs{}, i);
}

void BuildNonZero(OnnxBuilder& b) { b.Output(OpCode::kIdentity, {EmitNonZero(b, b.Input(0))}); }

/// Along an axis, or of all elements in a row.
void BuildCompress(OnnxBuilder& b) {
  const ValueId condition = b.Input(1);
  if (b.KnowsRank(condition) && b.RankOf(condition) != 1)
    b.Invalid("the condition has rank {}; a vector was expected", b.RankOf(condition));
  const ValueId places = EmitReshape(b, "chosen", EmitNonZero(b, condition), {-1});
  const bool along = b.HasAttribute("axis");
  const ValueId x = along ? b.Input(0) : EmitReshape(b, "flat", b.Input(0), {-1});
  b.Output(OpCode::kGather, {x, places}, AxisAttrs{along ? b.Int("axis", 0) : 0});
}

void BuildUnique(OnnxBuilder& b) {
  UniqueAttrs attrs;
  attrs.slices = b.HasAttribute("axis");
  attrs.axis = b.Int("axis", 0);
  attrs.sorted = b.Flag("sorted", true);
  const std::vector<ValueId> found =
      b.EmitAll({"all", "first", "inverse", "counts", "count"}, OpCode::kUnique, {b.Input(0)}, attrs);
  OutputFirst(b, 0, found[0], found[4], attrs.axis);
  for (const size_t i : {1, 3}) {
    if (b.output_count() > i) OutputFirst(b, i, found[i], found[4], 0);
  }
  if (b.output_count() > 2) b.Output(OpCode::kIdentity, {found[2]}, NoAttrs{}, 2);
}

void BuildNonMaxSuppression(OnnxBuilder& b) {
  const auto number = [&](size_t i, const char* suffix, double otherwise) {
    return b.HasInput(i) ? b.Input(i) : b.Scalar(suffix, DType::kF32, otherwise);
  };
  const ValueId most = b.HasInput(2) ? b.Input(2) : b.ConstantInts("most", {0});
  const std::vector<ValueId> found =
      b.EmitAll({"all", "count", "order"}, OpCode::kNonMaxSuppression,
                {b.Input(0), b.Input(1), most, number(3, "most_overlap", 0),
                 number(4, "least_score", -std::numeric_limits<double>::infinity())},
                SuppressionAttrs{b.Flag("center_point_box")});
  OutputFirst(b, 0, found[0], found[1], 0);
}

constexpr OnnxOp kRows[] = {
    {"NonZero", 9, kNewest, BuildNonZero},
    {"Compress", 9, kNewest, BuildCompress},
    {"Unique", 11, kNewest, BuildUnique},
    {"NonMaxSuppression", 10, kNewest, BuildNonMaxSuppression},
};

}  // namespace

std::span<const OnnxOp> OnnxCountedOps() { return kRows; }

}  // namespace skiff
