/// A plan made ready for one shape of the inputs. A Session keeps a few and reshapes the one used longest
/// ago.
#pragma once

#include <algorithm>
#include <memory>

#include "session/prepared_plan.h"

namespace skiff {

class ShapeState {
 public:
  /// Whether this is `plan` at these sizes of the model's Symbols, which say all about the inputs' shapes,
  /// and with these elements of the shape inputs.
  bool Is(const PlanData& plan, Span<const int64_t> sizes, Span<const TensorView> inputs) const {
    return ready_ && adopted_ == &plan &&
           std::equal(sizes.begin(), sizes.end(), sizes_.begin(), sizes_.end()) && SameElements(inputs);
  }

  /// The shapes of `plan` and its arena's size at a shape, whatever the state was before; it is ready for
  /// nothing then. kInvalidArgument: the plan's operators cannot take these inputs.
  Status FindShapes(const PlanData& plan, const SessionOptions& options, Span<const TensorView> inputs,
                    DelegateSessions& sessions);

  /// Prepares the operators for what FindShapes() found. The state is ready once SetReady() says so, when
  /// there is memory for its arena. After a failure it has to be released: operators of which some know the
  /// new shape, and some the old one, are good for nothing.
  Status Prepare(Span<const int64_t> sizes, Span<const TensorView> inputs);

  void SetReady() { ready_ = true; }
  /// The next call prepares it again.
  void SetStale() { ready_ = false; }
  /// Gives back all that it holds.
  void Release() {
    std::destroy_at(this);  // A quarter of the code of an assignment.
    std::construct_at(this);
  }

  /// Tells the operators where everything lies.
  Status Bind(unsigned char* arena, Span<void* const> inputs);

  /// Overwrites all activations but graph inputs, so that an element which a run reads without having written
  /// it shows.
  void Poison();

  bool ready() const { return ready_; }
  const PlanData& plan() const { return shaped_.plan(); }
  Span<const PlanTensor> tensors() { return shaped_.tensors(); }
  uint64_t arena_bytes() const { return shaped_.arena_bytes(); }
  uint64_t workspace_bytes() const {
    return shaped_.value_bytes() + elements_.size() + prepared_.workspace_bytes();
  }
  Status Run(const RunContext& context) { return prepared_.Run(context); }
  const PreparedPlan& prepared() const { return prepared_; }

  uint64_t last_use = 0;
  uint64_t bound_to = 0;  ///< The Session's count of address changes at the last Bind().

 private:
  Status Adopt(const PlanData& plan, const SessionOptions& options, DelegateSessions& sessions);
  uint64_t ShapeInputBytes(Span<const TensorView> inputs) const;
  bool SameElements(Span<const TensorView> inputs) const;
  Status Remember(Span<const int64_t> sizes, Span<const TensorView> inputs);

  bool ready_ = false;
  const PlanData* adopted_ = nullptr;
  ShapedPlan shaped_;
  PreparedPlan prepared_;
  FixedArray<int64_t> sizes_;
  FixedArray<unsigned char> elements_;  ///< Of the shape inputs, one after the other.
  uint64_t elements_used_ = 0;          ///< Bytes of them.
};

}  // namespace skiff
