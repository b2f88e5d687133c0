// Gather, GatherElements and GatherND.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"
#include "eager/kernels/indices.h"
#include "ops/shape_rules.h"

namespace skiff {

using namespace eager;

Status KernelGather(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& indices = args.inputs[1];
  const int axis = NormalizeAxis(args.As<AxisAttrs>().axis, x.shape.rank());
  const int64_t extent = x.shape[axis];
  const int64_t bytes = x.shape.ElementsBetween(axis + 1, x.shape.rank()) * DTypeSize(x.dtype);
  const int64_t count = indices.shape.elements();
  const int64_t outer = x.shape.ElementsBetween(0, axis);
  for (int64_t j = 0; j < count; ++j) {
    const int64_t index = IntegerAt(indices, j);
    if (index < -extent || index >= extent) {
      return Fail(StatusCode::kInvalidArgument,
                  "Gather: index %lld at position %lld is outside [-%lld, %lld)",
                  static_cast<long long>(index), static_cast<long long>(j), static_cast<long long>(extent),
                  static_cast<long long>(extent));
    }
    const int64_t from = index < 0 ? index + extent : index;
    for (int64_t i = 0; i < outer; ++i) {
      CopyBytes(args.outputs[0].as<char>() + (i * count + j) * bytes,
                x.as<const char>() + (i * extent + from) * bytes, bytes);
    }
  }
  return OkStatus();
}

Status KernelGatherElements(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& indices = args.inputs[1];
  const int axis = NormalizeAxis(args.As<AxisAttrs>().axis, x.shape.rank());
  const int64_t extent = x.shape[axis];
  SKIFF_RETURN_IF_ERROR(CheckIndices(args.op, indices, &extent, 1));
  const int64_t along = DenseStrides(x.shape)[static_cast<size_t>(axis)];
  const StridedWalk<2> walk = ElementWalk(indices.shape, x.shape, axis);
  return VisitSize(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    walk.ForEachRun([&](const auto& offsets, int64_t count, const auto& strides) {
      const T* from = x.as<const T>() + offsets[1];
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = offsets[0] + i * strides[0];
        const int64_t index = FromEnd(IntegerAt(indices, at), extent);
        args.outputs[0].as<T>()[at] = from[i * strides[1] + index * along];
      }
    });
    return OkStatus();
  });
}

Status KernelGatherND(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& indices = args.inputs[1];
  const int batch_dims = static_cast<int>(args.As<GatherNDAttrs>().batch_dims);
  const TupleAddress address(x.shape, batch_dims, static_cast<int>(indices.shape.last()));
  SKIFF_RETURN_IF_ERROR(CheckIndices(args.op, indices, address.extents, address.length));
  if (args.outputs[0].shape.elements() == 0) return OkStatus();
  const int64_t batches = x.shape.ElementsBetween(0, batch_dims);
  const int64_t tuples = indices.shape.ElementsBetween(batch_dims, indices.shape.rank() - 1);
  const int64_t batch_elements = x.shape.ElementsBetween(batch_dims, x.shape.rank());
  const int64_t size = DTypeSize(x.dtype);
  const int64_t bytes = x.shape.ElementsBetween(batch_dims + address.length, x.shape.rank()) * size;
  char* to = args.outputs[0].as<char>();
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < tuples; ++i, to += bytes) {
      const int64_t from = b * batch_elements + address.Offset(indices, b * tuples + i);
      CopyBytes(to, x.as<const char>() + from * size, bytes);
    }
  }
  return OkStatus();
}

}  // namespace skiff
