/// A plan made ready for one shape of the inputs. A Session keeps a few and reshapes the one used longest
/// ago.
#pragma once

#include "prepared_plan.h"

namespace skiff {

class ShapeState {
 public:
  /// Whether this is `plan` at these shapes and shape inputs' elements.
  bool Is(const PlanData& plan, Span<const TensorView> inputs) const;

  /// Makes the state ready for `plan` at a shape, whatever it was before. After a failure it is nothing's.
  /// kInvalidArgument: the plan's operators cannot take these inputs.
  Status Prepare(const PlanData& plan, const SessionOptions& options, Span<const TensorView> inputs,
                 DelegateSessions& sessions);

  /// Tells the operators where everything lies.
  Status Bind(unsigned char* arena, Span<void* const> inputs);

  /// Overwrites all activations but graph inputs, so that an element which a run reads without having written
  /// it shows.
  void Poison();

  bool ready() const { return ready_; }
  const PlanData& plan() const { return shaped_.plan(); }
  Span<const PlanTensor> tensors() { return shaped_.tensors(); }
  uint64_t arena_bytes() const { return shaped_.arena_bytes(); }
  uint64_t workspace_bytes() const { return shaped_.value_bytes() + prepared_.workspace_bytes(); }
  Status Run(const RunContext& context) { return prepared_.Run(context); }
  bool FellBack(uint32_t node) const { return prepared_.FellBack(node); }
  DelegateKind delegate(uint32_t node) const { return prepared_.delegate(node); }

  uint64_t last_use = 0;
  uint64_t bound_to = 0;  ///< The Session's count of address changes at the last Bind().

 private:
  Status Adopt(const PlanData& plan, const SessionOptions& options, DelegateSessions& sessions);
  Status Remember(Span<const TensorView> inputs);
  size_t KeyBytes(const PlanData& plan, Span<const TensorView> inputs) const;

  bool ready_ = false;
  const PlanData* adopted_ = nullptr;
  ShapedPlan shaped_;
  PreparedPlan prepared_;
  FixedArray<Shape> shapes_;
  FixedArray<unsigned char> elements_;  ///< Of the shape inputs, one after the other.
};

}  // namespace skiff
