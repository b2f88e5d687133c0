// Operators that move elements between strided blocks. What is already in its place is not copied.
#include "delegates/xnnpack/kernels/interleave.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/nd_copy.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// One copy with addresses.
struct Move {
  NdCopy copy;
  int64_t from_offset = 0;  ///< In elements.
  int64_t to_offset = 0;
  bool may_alias = false;  ///< Equal addresses mean that source and target are the same elements.
  const char* from = nullptr;
  char* to = nullptr;
  bool in_place = false;

  void Bind(const TensorView& source, const TensorView& target) {
    const auto bytes = static_cast<int64_t>(ElementBytes(source));
    from = source.as<const char>() + from_offset * bytes;
    to = target.as<char>() + to_offset * bytes;
    in_place = may_alias && from == to;
  }
  void Run(pthreadpool_t pool) const {
    if (!in_place) copy.Run(from, to, pool);
  }
};

/// Describes the copy of a block of `shape` between two tensors with these strides.
bool DescribeBlock(Move& move, size_t element_bytes, const Shape& shape, const int64_t* from,
                   const int64_t* to) {
  move.copy.Begin(element_bytes);
  move.may_alias = true;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!move.copy.AddAxis(shape[i], from[i], to[i])) return false;
    if (shape[i] > 1 && from[i] != to[i]) move.may_alias = false;
  }
  move.copy.Finish();
  return true;
}

/// Several copies, each between one input and one output.
class MoveStep : public Step {
 public:
  using Step::Step;

  Status Bind(void*) final {
    for (size_t i = 0; i < moves_.size(); ++i) {
      moves_[i].Bind(node_.in(inputs_move_ ? i : 0), node_.out(inputs_move_ ? 0 : i));
    }
    return OkStatus();
  }
  Status Run() final {
    for (const Move& move : moves_) move.Run(environment_.pool);
    return OkStatus();
  }

 protected:
  /// Fresh moves in the same memory.
  Status Renew(size_t count) {
    if (moves_.size() != count) return moves_.Allocate(count);
    for (Move& move : moves_) move = Move();
    return OkStatus();
  }

  FixedArray<Move> moves_;
  bool inputs_move_ = false;  ///< Move i is of input i to output 0; else of input 0 to output i.
};

/// Reshape and its like: the same elements in the same order.
class CopyStep final : public MoveStep {
 public:
  using MoveStep::MoveStep;

  Status Reshape() override {
    SKIFF_RETURN_IF_ERROR(Renew(1));
    const TensorView& from = node_.in(0);
    const TensorView& to = node_.out(0);
    // Rows of both sides must be made of the shorter rows of one of them; a dense side has rows of any
    // length.
    Rows source = RowsOf(from);
    Rows target = RowsOf(to);
    if (from.dense() && to.dense()) {
      source = target = {1, source.count * source.length, source.count * source.length};
    } else if (from.dense()) {
      source = {target.count, target.length, target.length};
    } else if (to.dense()) {
      target = {source.count, source.length, source.length};
    }
    const Rows& shorter = source.length < target.length ? source : target;
    const Rows& longer = source.length < target.length ? target : source;
    if (longer.length % shorter.length != 0) return Refuse();
    const auto pieces = static_cast<int64_t>(longer.length / shorter.length);
    const auto step_of = [&](const Rows& rows) {
      return static_cast<int64_t>(rows.length == shorter.length ? rows.stride : shorter.length);
    };
    const auto row_of = [&](const Rows& rows) {
      return static_cast<int64_t>(rows.length == shorter.length ? rows.stride * static_cast<size_t>(pieces)
                                                                : rows.stride);
    };
    const int64_t from_strides[3] = {row_of(source), step_of(source), 1};
    const int64_t to_strides[3] = {row_of(target), step_of(target), 1};
    const Shape block{static_cast<int64_t>(longer.count), pieces, static_cast<int64_t>(shorter.length)};
    if (kHasOwnKernels) {
      const bool keeps_rows = from.dtype == DType::kF32 && to.dtype == DType::kF32 &&
                              from.shape.last() == to.shape.last() && from.dense() && to.dense();
      work_ = keeps_rows ? &kWork : nullptr;
    }
    return DescribeBlock(moves_[0], ElementBytes(from), block, from_strides, to_strides) ? OkStatus()
                                                                                         : Refuse();
  }

 private:
  static constexpr PartialWork kWork = {.change_rows = [](const Step&, size_t, size_t, float*) {}};
};

/// Concat and Split: pieces side by side along one axis of the whole.
class PiecesStep final : public MoveStep {
 public:
  PiecesStep(const NodeView& node, const Environment& environment, bool concat, int64_t axis)
      : MoveStep(node, environment), requested_axis_(axis) {
    inputs_move_ = concat;
  }

  Status Reshape() override {
    const TensorView& whole = inputs_move_ ? node_.out(0) : node_.in(0);
    const int axis = NormalizeAxis(requested_axis_, whole.shape.rank());
    if (axis < 0) return Refuse();
    int64_t whole_strides[kMaxRank];
    StridesOf(whole, whole_strides);
    if (moves_.empty()) SKIFF_RETURN_IF_ERROR(Renew(inputs_move_ ? node_.inputs() : node_.outputs()));
    int64_t begin = 0;
    for (size_t i = 0; i < moves_.size(); ++i) {
      const TensorView& piece = inputs_move_ ? node_.in(i) : node_.out(i);
      int64_t strides[kMaxRank];
      StridesOf(piece, strides);
      const bool described =
          DescribeBlock(moves_[i], ElementBytes(whole), piece.shape, inputs_move_ ? strides : whole_strides,
                        inputs_move_ ? whole_strides : strides);
      if (!described) return Refuse();
      (inputs_move_ ? moves_[i].to_offset : moves_[i].from_offset) = begin * whole_strides[axis];
      begin += piece.shape[axis];
    }
    return OkStatus();
  }

 private:
  const int64_t requested_axis_;
};

class SliceStep final : public MoveStep {
 public:
  using MoveStep::MoveStep;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const TensorView& to = node_.out(0);
    SKIFF_RETURN_IF_ERROR(Renew(1));
    int64_t from_strides[kMaxRank];
    int64_t to_strides[kMaxRank];
    StridesOf(from, from_strides);
    StridesOf(to, to_strides);
    int64_t offset = 0;
    for (int64_t i = 0; i < node_.in(1).shape.elements(); ++i) {
      const int axis = NormalizeAxis(node_.Has(3) ? IntegerAt(node_.in(3), i) : i, from.shape.rank());
      if (axis < 0) return Refuse();
      const SliceRange range =
          ResolveSlice(from.shape[axis], IntegerAt(node_.in(1), i), IntegerAt(node_.in(2), i),
                       node_.Has(4) ? IntegerAt(node_.in(4), i) : 1);
      offset += range.start * from_strides[axis];
      if (range.count != to.shape[axis]) return Refuse();
      if (range.count > 1) from_strides[axis] *= range.step;
    }
    if (!DescribeBlock(moves_[0], ElementBytes(from), to.shape, from_strides, to_strides)) return Refuse();
    moves_[0].from_offset = offset;
    return OkStatus();
  }
};

/// Expand: an axis of extent 1 (or one that is not there) repeats.
class ExpandStep final : public MoveStep {
 public:
  using MoveStep::MoveStep;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const TensorView& to = node_.out(0);
    SKIFF_RETURN_IF_ERROR(Renew(1));
    int64_t strides[kMaxRank];
    int64_t from_strides[kMaxRank] = {};
    int64_t to_strides[kMaxRank];
    StridesOf(from, strides);
    StridesOf(to, to_strides);
    const int missing = to.shape.rank() - from.shape.rank();
    for (int i = 0; i < from.shape.rank(); ++i) {
      if (from.shape[i] != 1) from_strides[missing + i] = strides[i];
    }
    return DescribeBlock(moves_[0], ElementBytes(from), to.shape, from_strides, to_strides) ? OkStatus()
                                                                                            : Refuse();
  }
};

/// Tile: each axis becomes two, the repeats and the extent.
class TileStep final : public MoveStep {
 public:
  using MoveStep::MoveStep;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const TensorView& to = node_.out(0);
    SKIFF_RETURN_IF_ERROR(Renew(1));
    int64_t from_strides[kMaxRank];
    int64_t to_strides[kMaxRank];
    StridesOf(from, from_strides);
    StridesOf(to, to_strides);
    NdCopy& copy = moves_[0].copy;
    copy.Begin(ElementBytes(from));
    for (int i = 0; i < from.shape.rank(); ++i) {
      const int64_t extent = from.shape[i];
      if (!copy.AddAxis(to.shape[i] / extent, 0, extent * to_strides[i])) return Refuse();
      if (!copy.AddAxis(extent, from_strides[i], to_strides[i])) return Refuse();
    }
    copy.Finish();
    return OkStatus();
  }
};

/// ChannelShuffle of elements that XNNPACK has no interleaving for.
class ShuffleStep final : public MoveStep {
 public:
  using MoveStep::MoveStep;

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    const int64_t groups = node_.As<GroupsAttrs>().groups;
    const auto length = static_cast<int64_t>(from.length);
    if (groups < 1 || length % groups != 0) return Refuse();
    SKIFF_RETURN_IF_ERROR(Renew(1));
    const Shape block{static_cast<int64_t>(from.count), length / groups, groups};
    const int64_t from_strides[kMaxRank] = {static_cast<int64_t>(from.stride), 1, length / groups};
    const int64_t to_strides[kMaxRank] = {static_cast<int64_t>(to.stride), groups, 1};
    return DescribeBlock(moves_[0], ElementBytes(node_.in(0)), block, from_strides, to_strides) ? OkStatus()
                                                                                                : Refuse();
  }
};

/// Bytes in two groups, which is usual.
class ShuffleHalvesStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    from_ = RowsOf(node_.in(0));
    to_ = RowsOf(node_.out(0));
    return from_.length % 2 == 0 ? OkStatus() : Refuse();
  }
  Status Bind(void*) override { return OkStatus(); }
  Status Run() override {
    const size_t tile = environment_.pool == nullptr ? from_.count : kTileBytes / from_.length + 1;
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* step, size_t first, size_t rows) {
          const auto& s = *static_cast<const ShuffleHalvesStep*>(step);
          InterleaveHalves(rows, s.from_.length / 2,
                           s.node_.in(0).as<const uint8_t>() + first * s.from_.stride, s.from_.stride,
                           s.node_.out(0).as<uint8_t>() + first * s.to_.stride, s.to_.stride);
        },
        this, from_.count, tile, /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kTileBytes = 16384;
  Rows from_, to_;
};

}  // namespace

Result<StepPointer> LowerCopy(const NodeView& node, const Environment& environment) {
  return MakeStep<CopyStep>(node, environment);
}

Result<StepPointer> LowerConcat(const NodeView& node, const Environment& environment) {
  return MakeStep<PiecesStep>(node, environment, true, node.As<AxisAttrs>().axis);
}

Result<StepPointer> LowerSplit(const NodeView& node, const Environment& environment) {
  return MakeStep<PiecesStep>(node, environment, false, node.As<SplitAttrs>().axis);
}

Result<StepPointer> LowerSlice(const NodeView& node, const Environment& environment) {
  return MakeStep<SliceStep>(node, environment);
}

Result<StepPointer> LowerExpand(const NodeView& node, const Environment& environment) {
  return MakeStep<ExpandStep>(node, environment);
}

Result<StepPointer> LowerTile(const NodeView& node, const Environment& environment) {
  return MakeStep<TileStep>(node, environment);
}

Result<StepPointer> LowerChannelShuffle(const NodeView& node, const Environment& environment) {
  if (DTypeSize(node.in(0).dtype) == 4) return LowerChannelShuffle32(node, environment);
  if (DTypeSize(node.in(0).dtype) == 1 && node.As<GroupsAttrs>().groups == 2)
    return MakeStep<ShuffleHalvesStep>(node, environment);
  return MakeStep<ShuffleStep>(node, environment);
}

}  // namespace skiff::xnnpack
