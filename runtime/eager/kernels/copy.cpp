// Kernels that copy every element once: reinterpretations, Shape, Transpose, ChannelShuffle, Expand, Tile,
// Concat and Split.
#include "eager/kernels/copy.h"

#include "eager/kernels.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

Status CopyAlong(const KernelArgs& args, const StridedWalk<2>& walk) {
  return VisitSize(args.op, args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    CopyWalk(walk, args.inputs[0].as<const T>(), args.outputs[0].as<T>());
    return OkStatus();
  });
}

/// Copies between a tensor and the place that it takes along an axis of a wider one.
struct AxisBand {
  int64_t outer;       ///< Runs.
  int64_t wide_bytes;  ///< From one run to the next in the wider tensor.

  AxisBand(const TensorView& wide, int axis)
      : outer(wide.shape.ElementsBetween(0, axis)),
        wide_bytes(wide.shape.ElementsBetween(axis, wide.shape.rank()) * DTypeSize(wide.dtype)) {}
};

int64_t RunBytes(const TensorView& view, int axis) {
  return view.shape.ElementsBetween(axis, view.shape.rank()) * DTypeSize(view.dtype);
}

}  // namespace

Status KernelShape(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  const int64_t start = args.As<ShapeAttrs>().start;
  int64_t first = start < 0 ? start + shape.rank() : start;
  first = first < 0 ? 0 : first;
  for (int64_t i = 0; i < args.outputs[0].shape.elements(); ++i) {
    args.outputs[0].as<int64_t>()[i] = shape[static_cast<int>(first + i)];
  }
  return OkStatus();
}

Status KernelCopy(const KernelArgs& args) {
  if (args.inputs[0].data != args.outputs[0].data) {
    CopyBytes(args.outputs[0].data, args.inputs[0].data, args.outputs[0].bytes());
  }
  return OkStatus();
}

/// The loader looks at the types only where a file has quantised tensors.
Status KernelCodes(const KernelArgs& args) {
  if (args.inputs[0].dtype != args.outputs[0].dtype) return UnsupportedDType(args.op, args.outputs[0].dtype);
  return KernelCopy(args);
}

Status KernelTranspose(const KernelArgs& args) {
  const Ints& perm = args.As<TransposeAttrs>().perm;
  const Shape& out = args.outputs[0].shape;
  const AxisStrides from = DenseStrides(args.inputs[0].shape);
  const AxisStrides to = DenseStrides(out);
  StridedWalk<2> walk;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto source = static_cast<size_t>(perm.size == 0 ? out.rank() - 1 - axis : perm[axis]);
    walk.Append(out[axis], {to[static_cast<size_t>(axis)], from[source]});
  }
  return CopyAlong(args, walk);
}

/// The last axis is a matrix [groups, channels per group], which is transposed.
Status KernelChannelShuffle(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  const int64_t groups = args.As<GroupsAttrs>().groups;
  const int64_t channels = shape.last();
  const int64_t group_size = channels / groups;
  StridedWalk<2> walk;
  walk.Append(shape.ElementsBetween(0, shape.rank() - 1), {channels, channels});
  walk.Append(group_size, {groups, 1});
  walk.Append(groups, {1, group_size});
  return CopyAlong(args, walk);
}

Status KernelExpand(const KernelArgs& args) {
  return CopyAlong(args, BroadcastWalk(args.outputs[0].shape, args.inputs[0].shape));
}

/// Each axis of the output is two: which copy, and where in it.
Status KernelTile(const KernelArgs& args) {
  const Shape& in = args.inputs[0].shape;
  const AxisStrides from = DenseStrides(in);
  const AxisStrides to = DenseStrides(args.outputs[0].shape);
  StridedWalk<2> walk;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto a = static_cast<size_t>(axis);
    const int64_t repeats = in[axis] == 0 ? 0 : args.outputs[0].shape[axis] / in[axis];
    walk.Append(repeats, {to[a] * in[axis], 0});
    walk.Append(in[axis], {to[a], from[a]});
  }
  return CopyAlong(args, walk);
}

Status KernelConcat(const KernelArgs& args) {
  const TensorView& out = args.outputs[0];
  const int axis = NormalizeAxis(args.As<AxisAttrs>().axis, out.shape.rank());
  const AxisBand band(out, axis);
  int64_t offset = 0;
  for (const TensorView& input : args.inputs) {
    const int64_t bytes = RunBytes(input, axis);
    for (int64_t i = 0; bytes > 0 && i < band.outer; ++i) {
      CopyBytes(out.as<char>() + i * band.wide_bytes + offset, input.as<const char>() + i * bytes, bytes);
    }
    offset += bytes;
  }
  return OkStatus();
}

Status KernelSplit(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const int axis = NormalizeAxis(args.As<SplitAttrs>().axis, x.shape.rank());
  const AxisBand band(x, axis);
  int64_t offset = 0;
  for (const TensorView& output : args.outputs) {
    const int64_t bytes = RunBytes(output, axis);
    for (int64_t i = 0; bytes > 0 && i < band.outer; ++i) {
      CopyBytes(output.as<char>() + i * bytes, x.as<const char>() + i * band.wide_bytes + offset, bytes);
    }
    offset += bytes;
  }
  return OkStatus();
}

}  // namespace skiff
