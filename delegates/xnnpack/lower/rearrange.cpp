// Operators that move elements, where XNNPACK's kernels do it better than a copy of blocks.
#include <algorithm>

#include "delegates/xnnpack/kernels/interleave.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/nd_copy.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Pictures of three planes of 8 or 32 bits, whose pixels become neighbours: twice as fast as XNNPACK's.
class InterleaveStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override { return Takes(node_) ? OkStatus() : Refuse(); }
  Status Bind(void*) override { return OkStatus(); }
  Status Run() override {
    const Shape& shape = node_.in(0).shape;
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* step, size_t picture, size_t first, size_t count) {
          static_cast<const InterleaveStep*>(step)->RunTile(picture, first, count);
        },
        this, static_cast<size_t>(shape[0]), Pixels(), environment_.pool == nullptr ? Pixels() : kTile,
        /*flags=*/0);
    return OkStatus();
  }

  static bool Takes(const NodeView& node) {
    const TensorView& x = node.in(0);
    const Ints& perm = node.As<TransposeAttrs>().perm;
    const bool to_pixels = perm.size == 4 && perm[0] == 0 && perm[1] == 2 && perm[2] == 3 && perm[3] == 1;
    return to_pixels && x.shape[1] == kPlanes && (ElementBytes(x) == 1 || ElementBytes(x) == 4) &&
           x.dense() && node.out(0).dense();
  }

 private:
  static constexpr size_t kPlanes = 3;
  static constexpr size_t kTile = 8192;

  size_t Pixels() const {
    return static_cast<size_t>(node_.in(0).shape[2]) * static_cast<size_t>(node_.in(0).shape[3]);
  }
  void RunTile(size_t picture, size_t first, size_t count) const {
    ElementBytes(node_.in(0)) == 1 ? RunTileOf<uint8_t>(picture, first, count)
                                   : RunTileOf<uint32_t>(picture, first, count);
  }
  template <class T>
  void RunTileOf(size_t picture, size_t first, size_t count) const {
    const size_t begin = picture * kPlanes * Pixels();
    InterleavePlanes(Pixels(), first, first + count, node_.in(0).as<const T>() + begin,
                     node_.out(0).as<T>() + begin);
  }
};

/// XNNPACK's tiled transposition.
class TransposeStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const Ints& perm = node_.As<TransposeAttrs>().perm;
    const int rank = from.shape.rank();
    if (!from.dense() || !node_.out(0).dense()) return Refuse();
    // Axes of extent 1 carry no order; XNNPACK counts them against its limit.
    size_t shape[XNN_MAX_TENSOR_DIMS];
    size_t order[XNN_MAX_TENSOR_DIMS];
    size_t kept_before[kMaxRank];
    size_t count = 0;
    for (int i = 0; i < rank; ++i) {
      kept_before[i] = count;
      if (from.shape[i] == 1) continue;
      if (count == XNN_MAX_TENSOR_DIMS) return Refuse();
      shape[count++] = static_cast<size_t>(from.shape[i]);
    }
    size_t written = 0;
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<int>(perm.size == 0 ? rank - 1 - i : perm[i]);
      if (from.shape[axis] != 1) order[written++] = kept_before[axis];
    }
    if (count == 0) {
      shape[0] = 1;
      order[0] = 0;
      count = 1;
    }
    const Functions& f = kFunctions[ElementBytes(from) == 8 ? 3 : ElementBytes(from) / 2];
    setup_ = f.setup;
    if (!operator_) {
      SKIFF_RETURN_IF_ERROR(
          operator_.Make([&](xnn_operator_t* made) { return f.create(/*flags=*/0, made); }));
    }
    const xnn_status status = f.reshape(operator_.get(), count, shape, order, environment_.pool);
    // This one XNNPACK function deletes the operator when it fails.
    if (status != xnn_status_success) operator_.Abandon();
    return FromXnn(status);
  }

  Status Bind(void*) override {
    return FromXnn(setup_(operator_.get(), node_.in(0).data, node_.out(0).data));
  }

 private:
  struct Functions {
    xnn_status (*create)(uint32_t, xnn_operator_t*);
    xnn_status (*reshape)(xnn_operator_t, size_t, const size_t*, const size_t*, pthreadpool_t);
    xnn_status (*setup)(xnn_operator_t, const void*, void*);
  };
  /// Elements of 1, 2, 4 and 8 bytes.
  static constexpr Functions kFunctions[] = {
      {xnn_create_transpose_nd_x8, xnn_reshape_transpose_nd_x8, xnn_setup_transpose_nd_x8},
      {xnn_create_transpose_nd_x16, xnn_reshape_transpose_nd_x16, xnn_setup_transpose_nd_x16},
      {xnn_create_transpose_nd_x32, xnn_reshape_transpose_nd_x32, xnn_setup_transpose_nd_x32},
      {xnn_create_transpose_nd_x64, xnn_reshape_transpose_nd_x64, xnn_setup_transpose_nd_x64},
  };

  xnn_status (*setup_)(xnn_operator_t, const void*, void*) = nullptr;
};

/// Of more axes than XNNPACK's takes.
class ManyAxesStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const TensorView& to = node_.out(0);
    const Ints& perm = node_.As<TransposeAttrs>().perm;
    if (!from.dense() || !to.dense()) return Refuse();
    int64_t from_strides[kMaxRank];
    int64_t to_strides[kMaxRank];
    StridesOf(from, from_strides);
    StridesOf(to, to_strides);
    const int rank = to.shape.rank();
    copy_.Begin(ElementBytes(from));
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<int>(perm.size == 0 ? rank - 1 - i : perm[i]);
      if (!copy_.AddAxis(to.shape[i], from_strides[axis], to_strides[i])) return Refuse();
    }
    copy_.Finish();
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }
  Status Run() override {
    copy_.Run(node_.in(0).data, node_.out(0).data, environment_.pool);
    return OkStatus();
  }

 private:
  NdCopy copy_;
};

/// XNNPACK's interleaving of 32-bit channels.
class XnnShuffleStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    const auto groups = static_cast<size_t>(node_.As<GroupsAttrs>().groups);
    if (groups <= 1 || from.length % groups != 0) return Refuse();
    const size_t created[3] = {from.length, from.stride, to.stride};
    if (!operator_ || created[0] != created_[0] || created[1] != created_[1] || created[2] != created_[2]) {
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) {
        return xnn_create_channel_shuffle_nc_x32(groups, from.length / groups, from.stride, to.stride,
                                                 /*flags=*/0, made);
      }));
      for (int i = 0; i < 3; ++i) created_[i] = created[i];
    }
    return FromXnn(xnn_reshape_channel_shuffle_nc_x32(operator_.get(), from.count, environment_.pool));
  }

  Status Bind(void*) override {
    return FromXnn(xnn_setup_channel_shuffle_nc_x32(operator_.get(), node_.in(0).data, node_.out(0).data));
  }

 private:
  size_t created_[3] = {};
};

}  // namespace

Result<StepPointer> LowerTranspose(const NodeView& node, const Environment& environment) {
  if (kHasOwnKernels && InterleaveStep::Takes(node)) return MakeStep<InterleaveStep>(node, environment);
  const Shape& shape = node.in(0).shape;
  if (std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }) >
      XNN_MAX_TENSOR_DIMS)
    return MakeStep<ManyAxesStep>(node, environment);
  return MakeStep<TransposeStep>(node, environment);
}

Result<StepPointer> LowerChannelShuffle32(const NodeView& node, const Environment& environment) {
  return MakeStep<XnnShuffleStep>(node, environment);
}

}  // namespace skiff::xnnpack
