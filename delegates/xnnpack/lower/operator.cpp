#include "delegates/xnnpack/lower/operator.h"

namespace skiff::xnnpack {

Status FromXnn(xnn_status status) {
  if (status == xnn_status_success) return OkStatus();
  return Status(status == xnn_status_out_of_memory ? StatusCode::kOutOfMemory : StatusCode::kUnsupported);
}

/// Where memory ran out, some create functions succeed without an operator (convolutions, when the pixels for
/// the padding cannot be allocated), and some fail and leave half of one (products with constant weights).
Status Operator::Made(xnn_status status) {
  if (status == xnn_status_success && operator_ != nullptr) return OkStatus();
  Reset();
  return status == xnn_status_success ? Status(StatusCode::kOutOfMemory) : FromXnn(status);
}

Status Operator::RunFailed() {
  return Fail(StatusCode::kInternal, "an XNNPACK operator was run before it was set up");
}

xnn_datatype DatatypeOf(DType dtype) { return dtype == DType::kF16 ? xnn_datatype_fp16 : xnn_datatype_fp32; }

bool IsDense(const NodeView& node) {
  bool dense = node.out(0).dense();
  for (size_t i = 0; i < node.inputs(); ++i) dense = dense && node.in(i).dense();
  return dense;
}

Rows RowsOf(const TensorView& view) {
  const auto length = static_cast<size_t>(view.shape.last());
  const auto elements = static_cast<size_t>(view.shape.elements());
  Rows rows{length == 0 ? 0 : elements / length, length, static_cast<size_t>(view.row_stride)};
  // The stride of a single row says nothing.
  if (rows.count <= 1) rows.stride = length;
  return rows;
}

}  // namespace skiff::xnnpack
