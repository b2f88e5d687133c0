// TensorFlow Lite rows: elements joined, parted, padded and put in another order.
#include <algorithm>
#include <limits>

#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

void BuildTranspose(TfliteBuilder& b) {
  TransposeAttrs attrs{b.ToInts(b.ConstantInts(1, "permutation"), "permutation")};
  const int rank = b.RankOf(b.Input(0));
  for (int64_t i = 0; i < attrs.perm.size; ++i) attrs.perm[i] = AxisOf(b, "permutation", attrs.perm[i], rank);
  b.Output(OpCode::kTranspose, {b.Moved(0)}, attrs);
}

/// Operands of other scales are rounded into the output's.
void BuildConcatenation(TfliteBuilder& b) {
  const auto options = b.Options<tflite::ConcatenationOptions>();
  std::vector<ValueId> parts;
  for (size_t i = 0; i < b.input_count(); ++i) parts.push_back(b.Moved(i));
  const AxisAttrs axis{AxisOf(b, "axis", options.axis, b.RankOf(b.Input(0)))};
  if (options.activation == tflite::Activation::NONE) return b.Output(OpCode::kConcat, parts, axis);
  const ValueId joined = b.Emit("joined", OpCode::kConcat, parts, axis);
  if (b.OutputIsQuantized() && TfliteBuilder::HasRange(options.activation))
    return b.Output(OpCode::kClamp, {joined}, TfliteBuilder::RangeOf(options.activation));
  b.OutputActivated(b.Real("real", joined), options.activation);
}

void BuildPack(TfliteBuilder& b) {
  const auto options = b.Options<tflite::PackOptions>();
  const int axis = AxisOf(b, "axis", options.axis, b.RankOf(b.Input(0)) + 1);
  std::vector<ValueId> parts;
  for (size_t i = 0; i < b.input_count(); ++i)
    parts.push_back(EmitUnsqueeze(b, fmt::format("part_{}", i).c_str(), b.Moved(i), {axis}));
  b.Output(OpCode::kConcat, parts, AxisAttrs{axis});
}

/// Parts of equal or stated sizes along an axis.
std::vector<ValueId> Parts(TfliteBuilder& b, ValueId x, int64_t axis, const std::vector<int64_t>& sizes) {
  std::vector<ValueId> parts;
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t end = sizes[i] < 0 ? kEnd : start + sizes[i];
    parts.push_back(EmitSlice(b, fmt::format("part_{}", i).c_str(), x, axis, start, end));
    start = end;
  }
  return parts;
}

void BuildUnpack(TfliteBuilder& b) {
  const auto options = b.Options<tflite::UnpackOptions>();
  const ValueId x = b.Moved(0);
  const int axis = AxisOf(b, "axis", options.axis, b.RankOf(x));
  if (b.output_count() == 1) return b.Output(OpCode::kSqueeze, {x}, AxesAttrs{{axis}});
  std::vector<std::string> names;
  for (size_t i = 0; i < b.output_count(); ++i) names.push_back(fmt::format("part_{}", i));
  const SplitAttrs attrs{axis, static_cast<int64_t>(names.size())};
  const std::vector<ValueId> parts = b.EmitAll(names, OpCode::kSplit, {x}, attrs);
  for (size_t i = 0; i < parts.size(); ++i) b.Output(OpCode::kSqueeze, {parts[i]}, AxesAttrs{{axis}}, i);
}

void BuildSplit(TfliteBuilder& b) {
  const ValueId x = b.Moved(1);
  const int axis = AxisOf(b, "axis", b.ConstantInt(0, "axis"), b.RankOf(x));
  const auto count = static_cast<int64_t>(b.output_count());
  if (count == 1) return b.Output(OpCode::kIdentity, {x});
  const std::optional<int64_t> extent = b.ExtentOf(x, axis);
  if (extent && *extent % count != 0)
    b.Invalid("it splits an extent of {} into {} equal parts", *extent, count);
  b.Outputs(OpCode::kSplit, {x}, SplitAttrs{axis, count});
}

/// One of the sizes may be -1: what remains.
void BuildSplitV(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const int axis = AxisOf(b, "axis", b.ConstantInt(2, "axis"), b.RankOf(x));
  std::vector<int64_t> sizes = b.ConstantInts(1, "sizes");
  if (sizes.size() != b.output_count())
    b.Invalid("it has {} sizes and {} outputs", sizes.size(), b.output_count());
  const auto rest = std::find(sizes.begin(), sizes.end(), -1);
  int64_t stated = 0;
  for (const int64_t size : sizes) {
    if (size < -1 || size > TfliteBuilder::kMaxWindowNumber) b.Invalid("one of its sizes is {}", size);
    stated += std::max<int64_t>(size, 0);
  }
  if (rest != sizes.end()) {
    const std::optional<int64_t> extent = b.ExtentOf(x, axis);
    if (extent) {
      *rest = *extent - stated;
    } else if (rest + 1 != sizes.end()) {
      b.Unsupported("splits an open extent, of which a part that is not the last takes what remains");
    } else {
      const std::vector<ValueId> parts = Parts(b, x, axis, sizes);
      for (size_t i = 0; i < parts.size(); ++i) b.Output(OpCode::kIdentity, {parts[i]}, NoAttrs{}, i);
      return;
    }
  }
  b.Outputs(OpCode::kSplit, {x, b.ConstantInts("part_sizes", sizes)}, SplitAttrs{axis, 0});
}

/// [rank, 2] of (before, behind), as Skiff's Pad wants them: all that is before, then all that is behind.
ValueId PadsOf(TfliteBuilder& b) {
  const ValueId pads = EmitTranspose(b, "pads_by_side", b.Integers("pads", b.Input(1)), {1, 0});
  return b.Precomputed("pad_list", EmitReshape(b, "pads_in_line", pads, {-1}));
}

ValueId PadValue(TfliteBuilder& b, size_t input) {
  const ValueId value = EmitScalarInput(b, "value", input);
  return b.OutputIsQuantized() ? value : b.Real("real_value", value);
}

void BuildPad(TfliteBuilder& b) {
  std::vector<ValueId> inputs{b.Moved(0), PadsOf(b)};
  if (b.HasInput(2)) inputs.push_back(PadValue(b, 2));
  b.Output(OpCode::kPad, std::move(inputs), PadAttrs{});
}

/// The value `count` times behind each element of an axis.
ValueId PadInside(TfliteBuilder& b, ValueId x, int axis, int64_t count, ValueId value) {
  const int rank = b.RankOf(x);
  const ValueId apart = EmitUnsqueeze(b, "apart", x, {axis + 1});
  const std::vector<ValueId> pad{apart, b.ConstantInts("between", {0, count}), value,
                                 b.ConstantInts("axis", {axis + 1})};
  const ValueId padded = b.IsQuantized(x) ? b.EmitQuantized("padded", OpCode::kPad, pad, PadAttrs{},
                                                            b.DTypeOf(x), b.QuantizationOf(x))
                                          : b.Emit("padded", OpCode::kPad, pad, PadAttrs{});
  return ReshapeToExtents(
      b, "spread", padded,
      {ExtentsOf(b, x, 0, axis), ProductOf(b, padded, axis, axis + 2), ExtentsOf(b, x, axis + 1, rank)});
}

/// Edges may be negative: what lies there is cut, after elements have been added between those of the axis.
void BuildStablehloPad(TfliteBuilder& b) {
  const auto options = b.StablehloOptions<tflite::StablehloPadOptions>();
  ValueId x = b.Moved(0);
  const ValueId value = PadValue(b, 1);
  const auto rank = static_cast<size_t>(b.RankOf(x));
  std::vector<int64_t> pads;
  for (const auto* list : {&options.edge_low, &options.edge_high, &options.interior}) {
    if (list->size() != rank) b.Invalid("it has {} pads for {} axes", list->size(), rank);
    pads.insert(pads.end(), list->begin(), list->end());
  }
  for (const int64_t pad : pads) b.CheckRange("pad", pad, -TfliteBuilder::kMaxWindowNumber);
  pads.resize(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int>(i);
    b.CheckRange("pad between elements", options.interior[i], 0);
    const int64_t interior = options.interior[i];
    if (interior == 0) continue;
    const bool has_elements = b.ExtentOf(x, axis).value_or(0) > 0;
    x = PadInside(b, x, axis, interior, value);
    // Behind the last element, if there is one, none are wanted.
    if (has_elements) {
      pads[rank + i] -= interior;
    } else {
      x = SliceAxis(b, "between_elements", x, axis, 0, interior);
    }
  }
  b.Output(OpCode::kPad, {x, b.ConstantInts("pads", pads), value}, PadAttrs{});
}

/// `count` elements along an axis: where a slice may have fewer, a Reshape that refuses these sizes.
ValueId OfCount(TfliteBuilder& b, const std::string& name, ValueId part, int axis, int64_t count) {
  if (b.ExtentOf(part, axis) == count) return part;
  std::vector<int64_t> target(static_cast<size_t>(b.RankOf(part)), 0);
  target[static_cast<size_t>(axis)] = count;
  return EmitReshape(b, name.c_str(), part, target);
}

/// What lies at a border is reflected with the border itself: per axis, its first and last elements in
/// reverse.
void PadSymmetrically(TfliteBuilder& b) {
  ValueId x = b.Moved(0);
  const std::vector<int64_t> pads = b.ConstantInts(1, "pads");
  const int rank = b.RankOf(x);
  if (pads.size() != 2 * static_cast<size_t>(rank))
    b.Invalid("it has {} pads for {} axes", pads.size(), rank);
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t before = pads[2 * static_cast<size_t>(axis)];
    const int64_t behind = pads[2 * static_cast<size_t>(axis) + 1];
    b.CheckRange("pad", before, 0);
    b.CheckRange("pad", behind, 0);
    const int64_t most = std::max(before, behind);
    if (const auto extent = b.ExtentOf(x, axis); extent && most > *extent)
      b.Invalid("it reflects {} elements of axis {}, which has {}", most, axis, *extent);
    const auto name = [&](const char* what) { return fmt::format("{}_{}", what, axis); };
    std::vector<ValueId> parts;
    if (before > 0) {
      const ValueId first = EmitSlice(b, name("before").c_str(), x, axis, before - 1, -kEnd, -1);
      parts.push_back(OfCount(b, name("all_before"), first, axis, before));
    }
    parts.push_back(x);
    if (behind > 0) {
      const ValueId last = EmitSlice(b, name("last").c_str(), x, axis, -behind, kEnd);
      const ValueId reversed = EmitSlice(b, name("behind").c_str(), last, axis, kEnd, -kEnd, -1);
      parts.push_back(OfCount(b, name("all_behind"), reversed, axis, behind));
    }
    if (parts.size() > 1) x = b.Emit(name("padded").c_str(), OpCode::kConcat, parts, AxisAttrs{axis});
  }
  b.Output(OpCode::kIdentity, {x});
}

void BuildMirrorPad(TfliteBuilder& b) {
  if (b.Options<tflite::MirrorPadOptions>().mode == tflite::MirrorPadMode::SYMMETRIC)
    return PadSymmetrically(b);
  b.Output(OpCode::kPad, {b.Moved(0), PadsOf(b)}, PadAttrs{PadMode::kReflect});
}

void BuildTile(TfliteBuilder& b) { b.Output(OpCode::kTile, {b.Moved(0), b.Integers("repeats", b.Input(1))}); }

void BuildReverse(TfliteBuilder& b) {
  ValueId x = b.Moved(0);
  const int rank = b.RankOf(x);
  const Ints axes = b.ToInts(b.ConstantInts(1, "axes"), "axes");
  for (const int64_t stated : axes) {
    const int axis = AxisOf(b, "axis", stated, rank);
    x = EmitSlice(b, fmt::format("reversed_{}", axis).c_str(), x, axis, kEnd, -kEnd, -1);
  }
  b.Output(OpCode::kIdentity, {x});
}

void BuildReverseSequence(TfliteBuilder& b) {
  const auto options = b.Options<tflite::ReverseSequenceOptions>();
  const ValueId x = b.Moved(0);
  const int rank = b.RankOf(x);
  ReverseAttrs attrs;
  attrs.batch_axis = AxisOf(b, "batch axis", options.batch_axis, rank);
  attrs.time_axis = AxisOf(b, "sequence axis", options.sequence_axis, rank);
  b.Output(OpCode::kReverseSequence, {x, b.Integers("lengths", b.Input(1))}, attrs);
}

/// Whether row and column of a matrix are the same, [rows, columns].
ValueId OnDiagonal(TfliteBuilder& b, int64_t rows, int64_t columns) {
  return b.Table("on_diagonal", fmt::format("diagonal {} {}", rows, columns), [&] {
    TensorData truths(DType::kBool, Shape{rows, columns});  // Of zeros.
    auto* const out = static_cast<uint8_t*>(truths.mutable_data());
    for (int64_t i = 0; i < std::min(rows, columns); ++i) out[i * columns + i] = 1;
    return truths;
  });
}

/// Constants as large as the matrix are made for it.
int64_t MatrixExtent(const TfliteBuilder& b, ValueId x, int axis) {
  constexpr int64_t kMaxExtent = 8192;
  const std::optional<int64_t> extent = b.ExtentOf(x, axis);
  if (!extent || *extent > kMaxExtent)
    b.Unsupported("works on a matrix of an open extent, or above {}", kMaxExtent);
  return *extent;
}

void BuildMatrixDiag(TfliteBuilder& b) {
  const ValueId x = b.Real("real", b.Input(0));
  const int rank = b.RankOf(x);
  const int64_t extent = MatrixExtent(b, x, rank - 1);
  const ValueId rows = EmitUnsqueeze(b, "rows", x, {rank});
  b.OutputValue(b.Emit("matrix", OpCode::kWhere,
                       {OnDiagonal(b, extent, extent), rows, b.Scalar("zero", b.DTypeOf(x), 0)}));
}

void BuildMatrixSetDiag(TfliteBuilder& b) {
  const ValueId x = b.Real("real", b.Input(0));
  const ValueId diagonal = b.Real("real_diagonal", b.Input(1));
  const int rank = b.RankOf(x);
  if (rank < 2) b.Invalid("its matrix has rank {}", rank);
  const int64_t rows = MatrixExtent(b, x, rank - 2);
  const int64_t columns = MatrixExtent(b, x, rank - 1);
  ValueId values = diagonal;
  if (rows > columns) values = PadAxis(b, "longer", values, rank - 2, 0, rows - columns);
  values = EmitUnsqueeze(b, "rows", values, {rank - 1});
  b.OutputValue(b.Emit("matrix", OpCode::kWhere, {OnDiagonal(b, rows, columns), values, x}));
}

constexpr TfliteOp kRows[] = {
    {Op::TRANSPOSE, BuildTranspose, OpCode::kTranspose},
    {Op::CONCATENATION, BuildConcatenation, OpCode::kConcat},
    {Op::PACK, BuildPack},
    {Op::UNPACK, BuildUnpack},
    {Op::SPLIT, BuildSplit, OpCode::kSplit},
    {Op::SPLIT_V, BuildSplitV, OpCode::kSplit},
    {Op::PAD, BuildPad, OpCode::kPad},
    {Op::PADV2, BuildPad, OpCode::kPad},
    {Op::STABLEHLO_PAD, BuildStablehloPad, OpCode::kPad},
    {Op::MIRROR_PAD, BuildMirrorPad},
    {Op::TILE, BuildTile, OpCode::kTile},
    {Op::REVERSE_V2, BuildReverse},
    {Op::REVERSE_SEQUENCE, BuildReverseSequence, OpCode::kReverseSequence},
    {Op::MATRIX_DIAG, BuildMatrixDiag},
    {Op::MATRIX_SET_DIAG, BuildMatrixSetDiag},
};

}  // namespace

std::span<const TfliteOp> TfliteMovementOps() { return kRows; }

}  // namespace skiff
