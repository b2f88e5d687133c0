// The operators that a random graph is made of. A step that cannot run at one of the sizes adds nothing.
#include "ops/op_codes.h"
#include "tests/fuzz/random_open_graph.h"
#include "tests/fuzz/random_open_graph_emit.h"

namespace skiff::testing {

const RandomOpenGraph::Step RandomOpenGraph::kSteps[] = {{4, &RandomOpenGraph::Unary},
                                                         {8, &RandomOpenGraph::Binary},
                                                         {6, &RandomOpenGraph::Transpose},
                                                         {8, &RandomOpenGraph::Reshape},
                                                         {6, &RandomOpenGraph::Concat},
                                                         {4, &RandomOpenGraph::Split},
                                                         {6, &RandomOpenGraph::Slice},
                                                         {6, &RandomOpenGraph::Product},
                                                         {8, &RandomOpenGraph::Convolution},
                                                         {4, &RandomOpenGraph::Pool},
                                                         {4, &RandomOpenGraph::Reduce},
                                                         {2, &RandomOpenGraph::Inexact},
                                                         {3, &RandomOpenGraph::Gather},
                                                         {3, &RandomOpenGraph::Pad},
                                                         {4, &RandomOpenGraph::Expand},
                                                         {2, &RandomOpenGraph::Tile},
                                                         {3, &RandomOpenGraph::Resize},
                                                         {3, &RandomOpenGraph::Where},
                                                         {2, &RandomOpenGraph::Cast},
                                                         {3, &RandomOpenGraph::ShapeAsData},
                                                         {2, &RandomOpenGraph::Generate},
                                                         {3, &RandomOpenGraph::Rearrange},
                                                         {3, &RandomOpenGraph::Counted},
                                                         {4, &RandomOpenGraph::Scattered},
                                                         {0, nullptr}};

void RandomOpenGraph::Unary() {
  const ValueId x = AnyValue();
  switch (Draw(0, 4)) {
    case 0:
      return Keep(OpCode::kClamp, {x}, ClampAttrs{-20.0f, 20.0f});
    case 1:
      return Keep(OpCode::kClamp, {x}, ClampAttrs{0.0f, kInfinity});
    case 2:
      return Keep(OpCode::kNeg, {x});
    case 3:
      return Keep(OpCode::kAbs, {x});
    default:
      return Keep(OpCode::kSign, {x});
  }
}

void RandomOpenGraph::Binary() {
  static constexpr OpCode kOps[] = {OpCode::kAdd, OpCode::kSub, OpCode::kMul,
                                    OpCode::kMax, OpCode::kMin, OpCode::kAdd};
  const ValueId x = AnyValue();
  const ValueId other = Partner(x);
  const OpCode op = kOps[Draw(0, 5)];
  if (Chance(50)) return Keep(op, {x, other}, ClampAttrs());
  Keep(op, {other, x}, ClampAttrs());
}

void RandomOpenGraph::Transpose() {
  const ValueId x = AnyValue();
  Keep(OpCode::kTranspose, {x}, TransposeAttrs{AnyPerm(RankOf(x))});
}

/// Targets of numbers, -1 and 0, and of extents; neighbours are joined, axes split, and ones added.
void RandomOpenGraph::Reshape() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int from = AnyAxis(x);
  const int to = Draw(from, rank - 1);
  const int way = Draw(0, 3);
  if (way == 0) {  // 0 and -1.
    std::vector<int64_t> target;
    for (int i = 0; i < rank; ++i) {
      if (i < from || i == to) target.push_back(i < from ? 0 : -1);
      if (i > to) target.push_back(FixedExtent(x, i));
    }
    return Keep(OpCode::kReshape, {x, Numbers(target)}, ReshapeAttrs());
  }
  Values parts;
  for (int i = 0; i < rank; ++i) {
    if (i == from && i < to) {
      ValueId product = ExtentOf(x, i);
      for (int j = i + 1; j <= to; ++j) product = One(OpCode::kMul, {product, ExtentOf(x, j)}, ClampAttrs());
      parts.push_back(product);
    } else if (i < from || i > to) {
      parts.push_back(ExtentOf(x, i));
    } else if (i == from) {
      const int64_t part = Pick({1, 2, 3});
      const ValueId rest = One(OpCode::kDiv, {ExtentOf(x, i), Numbers({part})}, ClampAttrs());
      parts.push_back(rest);
      parts.push_back(Numbers({part}));
      if (Chance(50)) std::swap(parts[parts.size() - 1], parts[parts.size() - 2]);
    }
  }
  if (way == 2) parts[static_cast<size_t>(Draw(0, static_cast<int>(parts.size()) - 1))] = Numbers({-1});
  if (std::find(parts.begin(), parts.end(), kNoValue) != parts.end()) return;
  Keep(One(OpCode::kReshape, {x, Join(parts)}, ReshapeAttrs()));
}

void RandomOpenGraph::Concat() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  const int axis = AnyAxis(x);
  Values parts{x};
  for (int i = 0; i < 2; ++i) {
    const ValueId other = Chance(30) ? One(OpCode::kNeg, {x}) : AnyOfRank(RankOf(x));
    if (other == kNoValue || One(OpCode::kConcat, {x, other}, AxisAttrs{axis}) == kNoValue) continue;
    parts.insert(parts.begin() + Draw(0, static_cast<int>(parts.size())), other);
  }
  Keep(OpCode::kConcat, parts, AxisAttrs{axis - (Chance(50) ? RankOf(x) : 0)});
}

void RandomOpenGraph::Split() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  const int axis = AnyAxis(x);
  const int64_t extent = FixedExtent(x, axis);
  Values made;
  if (extent >= 2 && Chance(60)) {
    made = Emit(OpCode::kSplit, {x, Numbers({1, extent - 1})}, SplitAttrs{axis, 0}, 2);
  } else if (Chance(50)) {
    made = Emit(OpCode::kSplit, {x, kNoValue}, SplitAttrs{axis, 2}, 2);
  } else {
    const ValueId whole = ExtentOf(x, axis);
    const ValueId half = One(OpCode::kDiv, {whole, Numbers({2})}, ClampAttrs());
    const ValueId rest = One(OpCode::kSub, {whole, half}, ClampAttrs());
    if (rest == kNoValue) return;
    made = Emit(OpCode::kSplit, {x, Join({half, rest})}, SplitAttrs{axis, 0}, 2);
  }
  for (const ValueId part : made) Keep(part);
}

void RandomOpenGraph::Slice() {
  const ValueId x = AnyValue();
  if (RankOf(x) == 0) return;
  const int axis = AnyAxis(x);
  const ValueId axes = Numbers({axis});
  switch (Draw(0, 6)) {
    case 0:
      return Keep(OpCode::kSlice, {x, Numbers({Draw(0, 2)}), Numbers({Draw(1, 6)}), axes});
    case 1:
      return Keep(OpCode::kSlice, {x, Numbers({-Draw(1, 3)}), Numbers({INT64_MAX}), axes});
    case 2:
      return Keep(OpCode::kSlice, {x, Numbers({-1}), Numbers({INT64_MIN}), axes, Numbers({-Draw(1, 2)})});
    case 3:
      return Keep(OpCode::kSlice, {x, Numbers({Draw(0, 1)}), Numbers({INT64_MAX}), axes, Numbers({2})});
    case 4: {  // The first ones, as many as another value has.
      const ValueId other = AnyValue();
      if (RankOf(other) == 0) return;
      return Keep(OpCode::kSlice, {x, Numbers({0}), ExtentOf(other, AnyAxis(other)), axes});
    }
    case 5: {
      if (counts_.empty()) return;
      return Keep(OpCode::kSlice, {x, Numbers({0}), counts_[0], axes});
    }
    default: {
      const ValueId end = One(OpCode::kSub, {ExtentOf(x, axis), Numbers({1})}, ClampAttrs());
      return Keep(OpCode::kSlice, {x, Numbers({Draw(0, 1)}), end, axes});
    }
  }
}

void RandomOpenGraph::Product() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int64_t columns = FixedExtent(x, rank - 1);
  switch (Draw(0, 4)) {
    case 0:
      if (columns <= 0) return;
      return Keep(OpCode::kFullyConnected, {x, Weights({3, columns}), Chance(50) ? Weights({3}) : kNoValue},
                  ClampAttrs());
    case 1:
      if (columns <= 0) return;
      return Keep(OpCode::kMatMul,
                  {x, Weights(Chance(80) ? skiff::Shape{columns, 4} : skiff::Shape{columns})}, MatMulAttrs());
    case 2:
      return Keep(OpCode::kMatMul, {x, x}, MatMulAttrs{true});
    case 3: {
      const ValueId other = AnyOfRank(2);
      if (other == kNoValue) return;
      return Keep(OpCode::kFullyConnected, {x, other, kNoValue}, ClampAttrs());
    }
    default:
      return Keep(OpCode::kMatMul, {x, AnyValue()}, MatMulAttrs{Chance(50)});
  }
}

/// In NHWC, or as ONNX writes it.
void RandomOpenGraph::Convolution() {
  ValueId x = AnyOfRank(4);
  if (x == kNoValue) return;
  const bool wrapped = Chance(40);
  if (wrapped) x = ToNhwc(x);
  const int64_t channels = x == kNoValue ? 0 : FixedExtent(x, 3);
  if (channels <= 0) return;
  const int64_t size = Pick({1, 1, 2, 3});
  ValueId made = kNoValue;
  if (Chance(15)) {
    ConvTranspose2dAttrs attrs;
    attrs.strides = {Pick({1, 2}), Pick({1, 2})};
    const Values result =
        Emit(OpCode::kConvTranspose2d, {x, Weights({2, size, size, channels}), kNoValue}, attrs);
    made = result.empty() ? kNoValue : result[0];
  } else {
    Conv2dAttrs attrs;
    attrs.strides = {Pick({1, 2}), Pick({1, 2})};
    attrs.dilations = {Pick({1, 1, 2}), 1};
    if (Chance(30)) attrs.auto_pad = AutoPad::kSameUpper;
    if (attrs.auto_pad == AutoPad::kExplicit && Chance(60)) attrs.pads = {Draw(0, 1), Draw(0, 1), 1, 1};
    const bool depthwise = Chance(30);
    attrs.groups = depthwise ? channels : 1;
    const int64_t outputs = depthwise ? channels : Pick({1, 3, 4});
    const Values result = Emit(OpCode::kConv2d,
                               {x, Weights({outputs, size, size, channels / attrs.groups}),
                                Chance(50) ? Weights({outputs}) : kNoValue},
                               attrs);
    made = result.empty() ? kNoValue : result[0];
  }
  Keep(wrapped ? ToNchw(made) : made);
}

void RandomOpenGraph::Pool() {
  ValueId x = AnyOfRank(4);
  if (x == kNoValue) return;
  const bool wrapped = Chance(40);
  if (wrapped) x = ToNhwc(x);
  Pool2dAttrs attrs;
  attrs.kernel = {2, 2};
  attrs.strides = {Pick({1, 2}), Pick({1, 2})};
  const bool average = Chance(40);
  if (Chance(40)) attrs.pads = {1, 1, Draw(0, 1), Draw(0, 1)};
  // Averages of four are quarters; fewer than four would be thirds.
  attrs.count_include_pad = average;
  attrs.ceil_mode = !average && Chance(30);
  if (!average) attrs.kernel = {Pick({1, 2, 3}), Pick({2, 3})};
  const ValueId made = One(average ? OpCode::kAveragePool2d : OpCode::kMaxPool2d, {x}, attrs);
  // Whole numbers again.
  const ValueId whole = average && made != kNoValue ? One(OpCode::kFloor, {made}) : made;
  Keep(wrapped ? ToNchw(whole) : whole);
}

void RandomOpenGraph::Reduce() {
  static constexpr OpCode kOps[] = {OpCode::kReduceSum, OpCode::kReduceMax, OpCode::kReduceMin};
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int axis = AnyAxis(x);
  ReduceAttrs attrs{{axis}, Chance(50), false};
  if (rank > 1 && Chance(40)) attrs.axes = {axis, (axis + 1) % rank};
  if (Chance(10)) attrs.axes = {};
  if (Chance(20)) {
    const ValueId along = Constant(TensorData::OfInts({axis - (Chance(50) ? rank : 0)}).Reshaped({}));
    return Keep(OpCode::kCumSum, {x, along}, CumSumAttrs{Chance(50), Chance(50)});
  }
  if (Chance(85)) return Keep(kOps[Draw(0, 2)], {x}, attrs);
  const ValueId found = One(OpCode::kArgMax, {x}, ArgAttrs{axis, Chance(50), false});
  Keep(One(OpCode::kCast, {found}, CastAttrs{static_cast<int64_t>(DType::kF32)}));
}

/// Nothing is computed from these.
void RandomOpenGraph::Inexact() {
  const ValueId x = AnyValue();
  const int rank = RankOf(x);
  if (rank == 0) return;
  const int axis = AnyAxis(x);
  const int64_t last = FixedExtent(x, rank - 1);
  switch (Draw(0, 3)) {
    case 0:
      return End(One(OpCode::kReduceMean, {x}, ReduceAttrs{{axis}, true, false}));
    case 1:
      if (last <= 0) return;
      return End(One(OpCode::kLayerNorm, {x, Weights({last}), Weights({last})}, NormAttrs{-1, 1.0f}));
    case 2:
      return End(One(OpCode::kSigmoid, {x}));
    default:
      return End(One(OpCode::kSoftmax, {x}, AxisAttrs{axis}));
  }
}

}  // namespace skiff::testing
