// Steps that move, repeat, choose and generate elements.
#include "ops/op_codes.h"
#include "tests/fuzz/random_open_graph.h"
#include "tests/fuzz/random_open_graph_emit.h"

namespace skiff::testing {
namespace {

constexpr auto kToF32 = static_cast<int64_t>(DType::kF32);

}  // namespace

void RandomOpenGraph::Gather() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  const int axis = AnyAxis(x);
  const int64_t smallest = SmallestExtent(x, axis);
  if (smallest == 0) return;
  TensorData indices = TensorData::OfInts({Draw(0, static_cast<int>(smallest) - 1), -1, 0});
  const int kind = Draw(0, 2);
  if (kind < 2)
    indices = TensorData(DType::kI64, kind == 0 ? skiff::Shape{} : skiff::Shape{1}, indices.data());
  Keep(OpCode::kGather, {x, Constant(indices)}, AxisAttrs{axis});
}

/// Single elements and slices from places and to places, some of which meet: they are constants, or follow
/// from the elements.
void RandomOpenGraph::Scattered() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int axis = AnyAxis(x);
  const int64_t smallest = std::min<int64_t>(SmallestExtent(x, axis), 3);
  if (smallest == 0) return;
  const auto any = [&] {
    return static_cast<int64_t>(Draw(0, static_cast<int>(2 * smallest) - 1)) - smallest;
  };
  if (Chance(30)) {
    const int64_t first = std::min<int64_t>(SmallestExtent(x, 0), 2);
    if (first == 0) return;
    const TensorData places = TensorData::OfInts({first - 1, -1, 0, -1});
    const ValueId tuples = Constant(places.Reshaped({4, 1}));
    const ValueId rows = One(OpCode::kGather, {x, Constant(places)}, AxisAttrs{0});
    return Keep(OpCode::kScatterND, {x, tuples, One(OpCode::kNeg, {rows})}, ScatterAttrs());
  }
  ValueId indices = kNoValue;
  if (Chance(50)) {
    skiff::Shape shape;
    for (int i = 0; i < rank; ++i) shape.Append(i == axis ? 4 : 1);
    indices = Constant(TensorData::OfInts({any(), any(), any(), any()}).Reshaped(shape));
  } else {
    const ValueId bounded = One(OpCode::kClamp, {x}, ClampAttrs{-1, static_cast<float>(smallest - 1)});
    indices = One(OpCode::kCast, {bounded},
                  CastAttrs{static_cast<int64_t>(Chance(50) ? DType::kI64 : DType::kI32)});
  }
  const ValueId chosen = One(OpCode::kGatherElements, {x, indices}, AxisAttrs{axis});
  if (Chance(50)) return Keep(chosen);
  Keep(OpCode::kScatterElements, {x, indices, One(OpCode::kNeg, {chosen})}, ScatterAttrs{axis});
}

void RandomOpenGraph::Pad() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int axis = AnyAxis(x);
  if (Chance(60)) {
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    pads[static_cast<size_t>(axis)] = Draw(0, 2);
    pads[static_cast<size_t>(axis) + static_cast<size_t>(rank)] = Draw(0, 2);
    return Keep(OpCode::kPad, {x, Numbers(pads)}, PadAttrs());
  }
  const ValueId other = AnyValue();
  if (RankOf(other) == 0) return;
  const ValueId pads = Join({Numbers({1}), ExtentOf(other, AnyAxis(other))});
  Keep(One(OpCode::kPad, {x, pads, Weights({}), Numbers({axis})}, PadAttrs()));
}

void RandomOpenGraph::Expand() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  switch (Draw(0, 2)) {
    case 0:
      return Keep(One(OpCode::kExpand, {x, One(OpCode::kShape, {AnyValue()}, ShapeAttrs())}));
    case 1: {  // A new outer axis.
      const ValueId other = AnyValue();
      if (RankOf(other) == 0) return;
      return Keep(One(OpCode::kExpand,
                      {x, Join({ExtentOf(other, AnyAxis(other)), One(OpCode::kShape, {x}, ShapeAttrs())})}));
    }
    default: {
      std::vector<int64_t> target(static_cast<size_t>(rank), 1);
      if (rank > 0) target[static_cast<size_t>(AnyAxis(x))] = 2;
      if (Chance(50)) target.insert(target.begin(), 2);
      return Keep(OpCode::kExpand, {x, Numbers(target)});
    }
  }
}

void RandomOpenGraph::Tile() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  std::vector<ValueId> repeats(static_cast<size_t>(rank), Numbers({1}));
  const ValueId other = AnyValue();
  repeats[static_cast<size_t>(AnyAxis(x))] =
      RankOf(other) > 0 && Chance(50) ? ExtentOf(other, AnyAxis(other)) : Numbers({Draw(0, 3)});
  Keep(One(OpCode::kTile, {x, Join(repeats)}));
}

void RandomOpenGraph::Resize() {
  ValueId x = AnyOfRank(4);
  if (x == kNoValue) return;
  const bool wrapped = Chance(40);
  if (wrapped) x = ToNhwc(x);
  if (x == kNoValue) return;
  ResizeAttrs attrs;
  attrs.coordinates = Chance(50) ? ResizeCoordinates::kAsymmetric : ResizeCoordinates::kHalfPixel;
  attrs.nearest = Chance(50) ? ResizeNearest::kFloor : ResizeNearest::kRoundPreferFloor;
  Values made;
  if (Chance(50)) {
    const ValueId scales = Constant(TensorData::OfFloats({Chance(50) ? 2.0f : 0.5f, 2.0f}));
    made = Emit(OpCode::kResize2d, {x, kNoValue, scales}, attrs);
  } else {
    const ValueId other = AnyValue();
    const ValueId height = RankOf(other) > 0 ? ExtentOf(other, AnyAxis(other)) : Numbers({3});
    const ValueId width = One(OpCode::kMul, {ExtentOf(x, 2), Numbers({2})}, ClampAttrs());
    made = Emit(OpCode::kResize2d, {x, Join({height, width})}, attrs);
  }
  if (!made.empty()) Keep(wrapped ? ToNchw(made[0]) : made[0]);
}

void RandomOpenGraph::Where() {
  const ValueId x = AnyValue();
  const ValueId condition = One(Chance(50) ? OpCode::kLess : OpCode::kEqual, {x, Partner(x)});
  Keep(One(OpCode::kWhere, {condition, x, Partner(x)}));
}

/// There and back, with integer arithmetic between.
void RandomOpenGraph::Cast() {
  const DType between = Chance(30) ? DType::kF16 : Chance(50) ? DType::kI32 : DType::kI64;
  const ValueId x = AnyValue();
  ValueId made = One(OpCode::kCast, {x}, CastAttrs{static_cast<int64_t>(between)});
  if (between != DType::kF16 && made != kNoValue)
    made = Chance(50) ? One(OpCode::kAdd, {made, made}, ClampAttrs()) : One(OpCode::kMax, {made, made});
  Keep(One(OpCode::kCast, {made}, CastAttrs{kToF32}));
}

/// Extents, and counts that decide shapes elsewhere, as numbers to compute with.
void RandomOpenGraph::ShapeAsData() {
  const ValueId x = AnyValue();
  ValueId number = kNoValue;
  if (!counts_.empty() && Chance(40)) {
    number = counts_[0];
  } else if (RankOf(x) > 0) {
    number = Chance(50) ? ExtentOf(x, AnyAxis(x)) : One(OpCode::kShape, {x}, ShapeAttrs());
  }
  const ValueId real = One(OpCode::kCast, {number}, CastAttrs{kToF32});
  if (Chance(50)) return Keep(real);
  Keep(One(OpCode::kSub, {AnyValue(), real}, ClampAttrs()));
}

void RandomOpenGraph::Generate() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  if (Chance(50)) {
    const ValueId shape = One(OpCode::kShape, {x}, ShapeAttrs());
    return Keep(One(OpCode::kFill, {shape}, FillAttrs{kToF32, 2.0f, 0}));
  }
  const ValueId shape = One(OpCode::kShape, {x}, ShapeAttrs());
  const auto scalar = [](int64_t value) { return TensorData::OfInts({value}).Reshaped({}); };
  const ValueId end = One(OpCode::kGather, {shape, Constant(scalar(AnyAxis(x)))}, AxisAttrs());
  const ValueId range = One(OpCode::kRange, {Constant(scalar(0)), end, Constant(scalar(1))});
  Keep(One(OpCode::kCast, {range}, CastAttrs{kToF32}));
}

void RandomOpenGraph::Rearrange() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  const int axis = AnyAxis(x);
  switch (Draw(0, 4)) {
    case 0:
      return Keep(OpCode::kUnsqueeze, {x}, AxesAttrs{{axis}});
    case 1:
      return Keep(OpCode::kFlatten, {x}, AxisAttrs{axis});
    case 2:
      if (rank == 0) return;
      return Keep(OpCode::kChannelShuffle, {x}, GroupsAttrs{2});
    case 3:
      if (rank == 0) return;
      return Keep(OpCode::kSqueeze, {x}, AxesAttrs{{axis}});
    default:
      return Keep(OpCode::kIdentity, {x});
  }
}

ValueId RandomOpenGraph::CountPositive(ValueId mask) {
  counts_elements_ = true;
  ReduceAttrs all;
  for (int axis = 0; axis < RankOf(mask); ++axis) all.axes[all.axes.size++] = axis;
  all.keep_dims = false;
  const ValueId ones = One(OpCode::kCast, {mask}, CastAttrs{static_cast<int64_t>(DType::kI64)});
  return One(OpCode::kReduceSum, {ones}, all);
}

/// What is left of an axis or of all elements follows from elements.
void RandomOpenGraph::Counted() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  const int axis = AnyAxis(x);
  const ValueId zero = Constant(TensorData::ScalarF32(0));
  if (Chance(30)) {
    const ValueId mask = One(OpCode::kGreater, {x, zero});
    if (mask == kNoValue) return;
    const ValueId places = One(OpCode::kNonZero, {mask, CountPositive(mask)});
    const ValueId tuples = One(OpCode::kTranspose, {places}, TransposeAttrs{{1, 0}});
    const ValueId found = One(OpCode::kGatherND, {x, tuples}, GatherNDAttrs{});
    return Keep(found);
  }
  ReduceAttrs others;
  for (int i = 0; i < RankOf(x); ++i) {
    if (i != axis) others.axes[others.axes.size++] = i;
  }
  others.keep_dims = false;
  const ValueId sums = others.axes.size == 0 ? x : One(OpCode::kReduceMax, {x}, others);
  const ValueId mask = One(OpCode::kGreater, {sums, zero});
  if (mask == kNoValue) return;
  const ValueId count = CountPositive(mask);
  ValueId part = kNoValue;
  if (Chance(50)) {
    const ValueId end = One(OpCode::kReshape, {count, Numbers({1})}, ReshapeAttrs());
    part = One(OpCode::kSlice, {x, Numbers({0}), end, Numbers({axis})});
  } else {
    const ValueId places = One(OpCode::kNonZero, {mask, count});
    const ValueId rows = One(OpCode::kReshape, {places, Numbers({-1})}, ReshapeAttrs());
    part = One(OpCode::kGather, {x, rows}, AxisAttrs{axis});
  }
  Keep(part);
}

}  // namespace skiff::testing
