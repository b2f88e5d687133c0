// Operators that move elements, where XNNPACK's kernels do it better than a copy of blocks.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/operator.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

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
  return MakeStep<TransposeStep>(node, environment);
}

Result<StepPointer> LowerChannelShuffle32(const NodeView& node, const Environment& environment) {
  return MakeStep<XnnShuffleStep>(node, environment);
}

}  // namespace skiff::xnnpack
