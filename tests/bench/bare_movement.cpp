// Operators that move elements, or would if the plan had not put both sides in the same place.
#include "graph/error.h"
#include "tests/bench/bare_builder.h"

namespace skiff::bench {
namespace {

/// Copies rows unless both sides are the same memory.
void AppendCopy(BareBuilder& builder, const PlanNode& node, const RowLayout& rows, const float* from,
                size_t from_stride, float* to, size_t to_stride) {
  if (from == to && (from_stride == to_stride || rows.count == 1)) return;
  Check(xnn_create_copy_nc_x32(0, builder.New()), node);
  Check(
      xnn_reshape_copy_nc_x32(builder.op(), rows.count, rows.length, from_stride, to_stride, builder.pool()),
      node);
  builder.SetUp(0, [op = builder.op(), from, to](void*) { return xnn_setup_copy_nc_x32(op, from, to); });
  builder.Note(fmt::format("{} that the plan does not resolve: one copy", node.op->name));
}

/// Pieces side by side along the innermost axis of the whole.
void NeedInnermost(const PlanNode& node, int64_t axis, const TensorView& whole) {
  if (axis != -1 && axis != whole.shape.rank() - 1) Unsupported(node, "axes other than the last");
}

}  // namespace

void AddTranspose(BareBuilder& builder, const PlanNode& node) {
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const Ints& perm = node.attrs->as<TransposeAttrs>().perm;
  if (!x.dense() || !y.dense()) Unsupported(node, "rows that lie apart");
  const auto rank = static_cast<size_t>(x.shape.rank());
  std::vector<size_t> shape(rank);
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = static_cast<size_t>(x.shape[static_cast<int>(i)]);
    order[i] = perm.size == 0 ? rank - 1 - i : static_cast<size_t>(perm[static_cast<int64_t>(i)]);
  }
  Check(xnn_create_transpose_nd_x32(0, builder.New()), node);
  Check(xnn_reshape_transpose_nd_x32(builder.op(), rank, shape.data(), order.data(), builder.pool()), node);
  builder.SetUp(0,
                [op = builder.op(), x, y](void*) { return xnn_setup_transpose_nd_x32(op, x.data, y.data); });
}

void AddReinterpret(BareBuilder& builder, const PlanNode& node) {
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  if (!x.dense() || !y.dense()) Unsupported(node, "rows that lie apart");
  const auto length = static_cast<size_t>(x.shape.elements());
  AppendCopy(builder, node, {1, length, length}, x.as<const float>(), length, y.as<float>(), length);
}

void AddConcat(BareBuilder& builder, const PlanNode& node) {
  const TensorView& whole = builder.Out(node, 0);
  NeedInnermost(node, node.attrs->as<AxisAttrs>().axis, whole);
  float* to = whole.as<float>();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const RowLayout piece = LayoutOf(builder.In(node, i));
    AppendCopy(builder, node, piece, builder.Floats(node, i), piece.stride, to, LayoutOf(whole).stride);
    to += piece.length;
  }
}

void AddSplit(BareBuilder& builder, const PlanNode& node) {
  const TensorView& whole = builder.In(node, 0);
  NeedInnermost(node, node.attrs->as<SplitAttrs>().axis, whole);
  const float* from = whole.as<const float>();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorView& y = builder.Out(node, i);
    const RowLayout piece = LayoutOf(y);
    AppendCopy(builder, node, piece, from, LayoutOf(whole).stride, y.as<float>(), piece.stride);
    from += piece.length;
  }
}

void AddChannelShuffle(BareBuilder& builder, const PlanNode& node) {
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const auto groups = static_cast<size_t>(node.attrs->as<GroupsAttrs>().groups);
  const RowLayout from = LayoutOf(x);
  Check(xnn_create_channel_shuffle_nc_x32(groups, from.length / groups, from.stride, LayoutOf(y).stride, 0,
                                          builder.New()),
        node);
  Check(xnn_reshape_channel_shuffle_nc_x32(builder.op(), from.count, builder.pool()), node);
  builder.SetUp(
      0, [op = builder.op(), x, y](void*) { return xnn_setup_channel_shuffle_nc_x32(op, x.data, y.data); });
}

}  // namespace skiff::bench
