/// Runs one node of a plan with its reference kernel: the step that the reference delegate is made of, and
/// that other delegates fall back to. Strided views are gathered into scratch before the kernel and scattered
/// after it, because kernels are dense. What lies in a graph input is there already, and never written.
#pragma once

#include "core/fixed_array.h"
#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff {

class ReferenceNode {
 public:
  /// kUnsupported when this build has no kernel for the operator.
  Status Prepare(const SegmentView& segment, uint32_t node);
  Status Reshape();
  Status Bind();
  /// A failure is the kernel's to tell, which does not know its node.
  Status Run();
  /// Tells failures as those of the node.
  Status RunNamed();
  uint64_t scratch_bytes() const { return scratch_.size(); }

 private:
  struct Argument {
    const PlanTensor* tensor = nullptr;
    uint64_t scratch_offset = 0;
    bool aside = false;  ///< The kernel has it in the scratch.
  };
  KernelArgs Arguments() const { return {node_->op->code, node_->attrs, input_views_, output_views_}; }
  Status Describe(Span<const int32_t> indices, FixedArray<Argument>& arguments,
                  FixedArray<TensorView>& views);

  const SegmentView* segment_ = nullptr;
  const PlanNode* node_ = nullptr;
  FixedArray<Argument> inputs_, outputs_;
  FixedArray<TensorView> input_views_, output_views_;
  FixedArray<unsigned char> scratch_;
  bool quantized_ = false;         ///< Runs as eager/quantized.h says.
  uint64_t quantized_offset_ = 0;  ///< What that needs, in the scratch.
  bool empty_ = false;             ///< No output has an element, or all have theirs already.
};

/// The status of a node's run. What was said about a failure, and not logged because of an ErrorCapture, is
/// logged as the node's, by its name and operator. (kCancelled is nobody's.)
Status OfNode(const PlanNode& node, Status status);

}  // namespace skiff
