// Convolutions, matrix products with constant weights, and pooling.
#include "tests/bench/bare_builder.h"

namespace skiff::bench {
namespace {

uint32_t U32(int64_t value) { return static_cast<uint32_t>(value); }
size_t Extent(const TensorView& view, int axis) { return static_cast<size_t>(view.shape[axis]); }

/// Top, right, bottom, left. Ceil mode makes windows that end beyond the padding; XNNPACK has no such mode,
/// so the padding grows.
struct Pads {
  uint32_t top, right, bottom, left;
};

Pads PadsOf(const PlanNode& node, AutoPad auto_pad, const Ints& pads, const TensorView& x,
            const TensorView& y, const int64_t (&kernel)[2], const Ints& strides, const Ints& dilations) {
  if (auto_pad != AutoPad::kExplicit) Unsupported(node, "pads that follow from the extents");
  uint32_t end[2];
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t window = (kernel[axis] - 1) * dilations[axis] + 1;
    const int64_t read = (y.shape[1 + axis] - 1) * strides[axis] + window;
    const int64_t missing = read - x.shape[1 + axis] - pads[axis];
    end[axis] = missing > 0 ? U32(missing) : 0;
  }
  return {U32(pads[0]), end[1], end[0], U32(pads[1])};
}

void CheckExtents(const PlanNode& node, const TensorView& y, size_t height, size_t width) {
  if (height != Extent(y, 1) || width != Extent(y, 2)) Unsupported(node, "these pads");
}

}  // namespace

void AddConv2d(BareBuilder& builder, const PlanNode& node) {
  const auto& a = node.attrs->as<Conv2dAttrs>();
  const TensorView& x = builder.In(node, 0);
  const TensorView& w = builder.In(node, 1);
  const TensorView& y = builder.Out(node, 0);
  const Pads pads = PadsOf(node, a.auto_pad, a.pads, x, y, {w.shape[1], w.shape[2]}, a.strides, a.dilations);
  Check(xnn_create_convolution2d_nhwc_f32(
            pads.top, pads.right, pads.bottom, pads.left, U32(w.shape[1]), U32(w.shape[2]), U32(a.strides[0]),
            U32(a.strides[1]), U32(a.dilations[0]), U32(a.dilations[1]), U32(a.groups), Extent(w, 3),
            Extent(w, 0) / static_cast<size_t>(a.groups), LayoutOf(x).stride, LayoutOf(y).stride,
            w.as<const float>(), builder.Floats(node, 2), a.min, a.max, 0, nullptr, nullptr, builder.New()),
        node);
  size_t workspace = 0;
  size_t alignment = 0;
  size_t height = 0;
  size_t width = 0;
  Check(xnn_reshape_convolution2d_nhwc_f32(builder.op(), Extent(x, 0), Extent(x, 1), Extent(x, 2), &workspace,
                                           &alignment, &height, &width, builder.pool()),
        node);
  CheckExtents(node, y, height, width);
  builder.SetUp(workspace, [op = builder.op(), x, y](void* memory) {
    return xnn_setup_convolution2d_nhwc_f32(op, memory, x.as<const float>(), y.as<float>());
  });
}

void AddFullyConnected(BareBuilder& builder, const PlanNode& node) {
  const auto& a = node.attrs->as<ClampAttrs>();
  const TensorView& x = builder.In(node, 0);
  const TensorView& w = builder.In(node, 1);
  const TensorView& y = builder.Out(node, 0);
  const RowLayout from = LayoutOf(x);
  const RowLayout to = LayoutOf(y);
  Check(xnn_create_fully_connected_nc_f32(from.length, to.length, from.stride, to.stride, w.as<const float>(),
                                          builder.Floats(node, 2), a.min, a.max, 0, nullptr, nullptr,
                                          builder.New()),
        node);
  Check(xnn_reshape_fully_connected_nc_f32(builder.op(), from.count, builder.pool()), node);
  builder.SetUp(0, [op = builder.op(), x, y](void*) {
    return xnn_setup_fully_connected_nc_f32(op, x.as<const float>(), y.as<float>());
  });
}

void AddMaxPool(BareBuilder& builder, const PlanNode& node) {
  const auto& a = node.attrs->as<Pool2dAttrs>();
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const Pads pads =
      PadsOf(node, a.auto_pad, a.pads, x, y, {a.kernel[0], a.kernel[1]}, a.strides, a.dilations);
  Check(xnn_create_max_pooling2d_nhwc_f32(pads.top, pads.right, pads.bottom, pads.left, U32(a.kernel[0]),
                                          U32(a.kernel[1]), U32(a.strides[0]), U32(a.strides[1]),
                                          U32(a.dilations[0]), U32(a.dilations[1]), -kInfinity, kInfinity, 0,
                                          builder.New()),
        node);
  size_t height = 0;
  size_t width = 0;
  Check(xnn_reshape_max_pooling2d_nhwc_f32(builder.op(), Extent(x, 0), Extent(x, 1), Extent(x, 2),
                                           Extent(x, 3), LayoutOf(x).stride, LayoutOf(y).stride, &height,
                                           &width, builder.pool()),
        node);
  CheckExtents(node, y, height, width);
  builder.SetUp(0, [op = builder.op(), x, y](void*) {
    return xnn_setup_max_pooling2d_nhwc_f32(op, x.as<const float>(), y.as<float>());
  });
}

void AddAveragePool(BareBuilder& builder, const PlanNode& node) {
  const auto& a = node.attrs->as<Pool2dAttrs>();
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const Pads pads =
      PadsOf(node, a.auto_pad, a.pads, x, y, {a.kernel[0], a.kernel[1]}, a.strides, a.dilations);
  const bool padded = (pads.top | pads.right | pads.bottom | pads.left) != 0;
  if (padded && a.count_include_pad) Unsupported(node, "averages that count the padding");
  Check(xnn_create_average_pooling2d_nhwc_f32(pads.top, pads.right, pads.bottom, pads.left, U32(a.kernel[0]),
                                              U32(a.kernel[1]), U32(a.strides[0]), U32(a.strides[1]),
                                              -kInfinity, kInfinity, 0, builder.New()),
        node);
  size_t workspace = 0;
  size_t alignment = 0;
  size_t height = 0;
  size_t width = 0;
  Check(xnn_reshape_average_pooling2d_nhwc_f32(builder.op(), Extent(x, 0), Extent(x, 1), Extent(x, 2),
                                               Extent(x, 3), LayoutOf(x).stride, LayoutOf(y).stride,
                                               &workspace, &alignment, &height, &width, builder.pool()),
        node);
  CheckExtents(node, y, height, width);
  builder.SetUp(workspace, [op = builder.op(), x, y](void* memory) {
    return xnn_setup_average_pooling2d_nhwc_f32(op, memory, x.as<const float>(), y.as<float>());
  });
}

}  // namespace skiff::bench
