/// A node made ready for the CPU: XNNPACK operators, or kernels of our own. What a lowering function returns.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "delegates/xnnpack/build.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/flushing.h"
#include "delegates/xnnpack/lower/partial_work.h"
#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::xnnpack {

class FakeQuantizeStep;
class PackedWeights;

/// What a step finds around it; outlives it.
struct Environment {
  PackedWeights* weights = nullptr;
  pthreadpool_t pool = nullptr;  ///< Null: single-threaded. May change before a Reshape().
  const Kernels* kernels = nullptr;
  bool exact = false;  ///< SessionOptions::exact.
};

/// A node with its tensors at hand.
class NodeView {
 public:
  NodeView(const SegmentView& segment, const PlanNode& node) : segment_(&segment), node_(&node) {}

  OpCode op() const { return node_->op->code; }
  const char* name() const { return node_->name; }
  const char* op_name() const { return node_->op->name; }
  const OpDef& def() const { return *node_->op; }
  const AttrStorage& attrs() const { return *node_->attrs; }
  size_t inputs() const { return node_->inputs.size(); }
  size_t outputs() const { return node_->outputs.size(); }
  bool Has(size_t i) const { return i < inputs() && node_->inputs[i] >= 0; }
  /// Only where Has(i).
  const PlanTensor& input(size_t i) const { return segment_->tensors[static_cast<size_t>(node_->inputs[i])]; }
  const PlanTensor& output(size_t i) const {
    return segment_->tensors[static_cast<size_t>(node_->outputs[i])];
  }
  const TensorView& in(size_t i) const { return input(i).view; }
  const TensorView& out(size_t i) const { return output(i).view; }
  template <class A>
  const A& As() const {
    return node_->attrs->as<A>();
  }
  bool IsOutput(size_t i) const { return i < outputs() && node_->outputs[i] >= 0; }
  /// The node not far before this one in the plan that computes input i, where one does. All of a large plan
  /// would be looked through for each node that asks.
  std::optional<NodeView> Producer(size_t i) const {
    constexpr ptrdiff_t kFar = 1000;
    for (const PlanNode* node = node_; Has(i) && node_ - node < kFar && node-- != segment_->nodes.data();) {
      for (const int32_t output : node->outputs) {
        if (output == node_->inputs[i]) return NodeView(*segment_, *node);
      }
    }
    return std::nullopt;
  }
  /// Whether the node is one of the segment's.
  bool InSegment() const {
    const PlanNode* const nodes = segment_->nodes.data();
    return node_ >= nodes + segment_->begin && node_ < nodes + segment_->end;
  }

 private:
  const SegmentView* segment_;
  const PlanNode* node_;
};

/// Instance and addresses: Reshape() depends on extents, Bind() on addresses only and is cheap, Run()
/// computes. kUnsupported from Reshape() hands the node to the reference kernel and is not logged.
class Step {
 public:
  Step(const NodeView& node, const Environment& environment) : node_(node), environment_(environment) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  virtual Status Reshape() = 0;
  /// `workspace` holds workspace_bytes(), is aligned to 64 bytes, and belongs to this step while it runs.
  virtual Status Bind(void* workspace) = 0;
  virtual Status Run() = 0;
  size_t workspace_bytes() const { return workspace_bytes_; }

  /// What follows from extents: Run() calls FollowUp() for all rows of the output, each as soon as it is
  /// there.
  bool leads() const { return leads_; }
  /// The same: it can follow.
  bool works_by_rows() const { return work_ != nullptr && work_->run_rows != nullptr; }
  /// The same: parts of it, where it can compute any.
  const PartialWork* partial_work() const { return work_; }
  /// A step that makes codes of rows for others; null: it is none.
  virtual FakeQuantizeStep* AsFakeQuantize() { return nullptr; }
  /// It reads such codes in place of input 0. From SetCodes() on, after a Reshape() of both steps.
  bool wants_codes() const { return wants_codes_; }
  void SetCodes(const FakeQuantizeStep* codes) { codes_ = codes; }
  bool has_codes() const { return codes_ != nullptr; }
  /// It packs weights as the file has them, and not the f32 that these stand for.
  bool packs_stored() const { return packs_stored_; }
  /// Valid until the next Bind(): `step`, which works by rows, is not run by itself. Null: none.
  void SetFollower(const Step* step) { follower_ = step; }
  const Step* follower() const { return follower_; }
  bool has_follower() const { return follower_ != nullptr; }
  void FollowUp(size_t first_row, size_t rows) const {
    if (!has_follower()) return;
    Flushing([&] {
      for (const Step* step = follower_; step != nullptr; step = step->follower_)
        step->work_->run_rows(*step, first_row, rows);
    });
  }

 protected:
  const NodeView node_;
  const Environment& environment_;
  size_t workspace_bytes_ = 0;
  bool leads_ = false;
  bool wants_codes_ = false;
  bool packs_stored_ = false;
  const FakeQuantizeStep* codes_ = nullptr;  ///< Where wants_codes_.
  const PartialWork* work_ = nullptr;

 private:
  const Step* follower_ = nullptr;
};

using StepPointer = std::unique_ptr<Step>;
/// Makes the step of a node that XnnpackSupport() accepted.
using LowerFn = Result<StepPointer> (*)(const NodeView& node, const Environment& environment);

template <class S, class... Arguments>
Result<StepPointer> MakeStep(const NodeView& node, const Environment& environment,
                             const Arguments&... arguments) {
  StepPointer step(new (std::nothrow) S(node, environment, arguments...));
  if (!step)
    return Fail(StatusCode::kOutOfMemory, "node '%s' (%s): cannot allocate its step", node.name(),
                node.op_name());
  return step;
}

/// The lowering of an operator for operands of these types; null where the tables name none.
LowerFn FindLowering(const NodeTypes& node);
/// Whether there is one for operands of any types.
bool HasLowering(OpCode op);

/// A tensor as rows of the innermost axis.
struct Rows {
  size_t count = 0;
  size_t length = 0;
  size_t stride = 0;  ///< Elements between two rows.
};
Rows RowsOf(const TensorView& view);

/// No row of any operand lies apart.
bool IsDense(const NodeView& node);

inline size_t ElementBytes(const TensorView& view) { return static_cast<size_t>(DTypeSize(view.dtype)); }

/// Element i of an i32 or i64 tensor.
inline int64_t IntegerAt(const TensorView& view, int64_t i) {
  return view.dtype == DType::kI64 ? view.as<const int64_t>()[i] : view.as<const int32_t>()[i];
}

/// Unsupported, quietly: the reference kernel takes over.
inline Status Refuse() { return Status(StatusCode::kUnsupported); }

}  // namespace skiff::xnnpack
