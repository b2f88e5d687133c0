#include "eager/reference_node.h"

#include <cstring>

#include "core/align.h"
#include "core/error_capture.h"
#include "core/features.h"
#include "eager/quantized.h"
#include "ops/build_ops.h"
#include "ops/op.h"
#include "plan/placement.h"

namespace skiff {
namespace {

/// Copies rows between two views of the same shape, either of which may be strided.
void CopyRows(const TensorView& from, const TensorView& to) {
  const int64_t size = DTypeSize(from.dtype);
  const int64_t row = from.shape.last() * size;
  if (row == 0) return;
  const int64_t rows = from.bytes() / row;
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(to.as<char>() + i * to.row_stride * size, from.as<char>() + i * from.row_stride * size,
                static_cast<size_t>(row));
  }
}

}  // namespace

Status OfNode(const PlanNode& node, Status status) {
  if (status.ok() || status.code() == StatusCode::kCancelled) return status;
  return Fail(status.code(), "node '%s' (%s): %s", node.name, node.op->name, status.message().c_str());
}

Status ReferenceNode::Prepare(const SegmentView& segment, uint32_t node) {
  segment_ = &segment;
  node_ = &segment.nodes[node];
  if (!kBuildHasKernels || node_->op->kernel == nullptr) {
    return Fail(StatusCode::kUnsupported, "node '%s': this build of Skiff has no reference kernel of %s; %s",
                node_->name, node_->op->name, kRebuildHint);
  }
  SKIFF_RETURN_IF_ERROR(Describe(node_->inputs, inputs_, input_views_));
  return Describe(node_->outputs, outputs_, output_views_);
}

Status ReferenceNode::Describe(Span<const int32_t> indices, FixedArray<Argument>& arguments,
                               FixedArray<TensorView>& views) {
  SKIFF_RETURN_IF_ERROR(arguments.Allocate(indices.size()));
  SKIFF_RETURN_IF_ERROR(views.Allocate(indices.size()));
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0) arguments[i].tensor = &segment_->tensors[static_cast<size_t>(indices[i])];
  }
  return OkStatus();
}

// What follows is not reached where there are no kernels, and then not linked.
Status ReferenceNode::Reshape() {
  if constexpr (!kBuildHasKernels) return OkStatus();
  uint64_t scratch = 0;
  // Nothing to compute, and kernels need not care for extents beside a zero.
  empty_ = true;
  for (const Argument& output : outputs_)
    empty_ = empty_ && (output.tensor->view.shape.elements() == 0 || output.tensor->in_input);
  const auto describe = [&scratch](FixedArray<Argument>& arguments, FixedArray<TensorView>& views,
                                   bool written) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      Argument& argument = arguments[i];
      if (argument.tensor == nullptr) continue;
      const TensorView& tensor = argument.tensor->view;
      views[i] = TensorView(nullptr, tensor.dtype, tensor.shape, tensor.quantization);
      argument.aside = !tensor.dense() || (written && argument.tensor->in_input);
      if (!argument.aside) continue;
      argument.scratch_offset = scratch;
      scratch += AlignUp(static_cast<uint64_t>(tensor.bytes()));
    }
  };
  if (empty_) return OkStatus();
  describe(inputs_, input_views_, false);
  describe(outputs_, output_views_, true);
  quantized_ = BuildHas(Feature::kQuantization) && eager::ComputesQuantized(Arguments());
  quantized_offset_ = scratch;
  if (BuildHas(Feature::kQuantization) && quantized_) scratch += eager::QuantizedScratchBytes(Arguments());
  if (scratch_.size() >= scratch) return OkStatus();
  const auto allocate = [&] {
    const ErrorCapture quiet;
    return scratch_.Allocate(scratch);
  };
  return OfNode(*node_, allocate());
}

Status ReferenceNode::Bind() {
  if constexpr (!kBuildHasKernels) return OkStatus();
  const auto bind = [this](const FixedArray<Argument>& arguments, FixedArray<TensorView>& views) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].tensor == nullptr) continue;
      const TensorView& tensor = arguments[i].tensor->view;
      views[i].data = arguments[i].aside ? scratch_.data() + arguments[i].scratch_offset : tensor.data;
    }
  };
  bind(inputs_, input_views_);
  bind(outputs_, output_views_);
  return OkStatus();
}

Status ReferenceNode::Run() {
  if (!kBuildHasKernels || empty_) return OkStatus();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].aside) CopyRows(inputs_[i].tensor->view, input_views_[i]);
  }
  SKIFF_RETURN_IF_ERROR(
      BuildHas(Feature::kQuantization) && quantized_
          ? eager::RunQuantized(*node_->op, Arguments(), scratch_.data() + quantized_offset_)
          : node_->op->kernel(Arguments()));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].aside && !outputs_[i].tensor->in_input)
      CopyRows(output_views_[i], outputs_[i].tensor->view);
  }
  return OkStatus();
}

Status ReferenceNode::RunNamed() {
  const auto run = [this] {
    const ErrorCapture quiet;
    return Run();
  };
  return OfNode(*node_, run());
}

}  // namespace skiff
