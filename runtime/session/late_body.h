/// A body that is made ready during the run, when the shapes of its inputs are there: that of a Stage, and
/// those of a loop whose variables change their shapes. Of the shapes it keeps a few, so that one that was
/// there before costs nothing.
#pragma once

#include "core/buffer.h"
#include "session/shape_state.h"

namespace skiff {

class LateBody {
 public:
  /// `plan`, `options` and `sessions` outlive the object.
  Status Prepare(const PlanData& plan, const SessionOptions& options, DelegateSessions& sessions);

  /// To be filled before each Run().
  FixedArray<TensorView>& inputs() { return inputs_; }
  /// The extents of this input may be others in each run; those of the rest stay until SetStale().
  void SetVaries(size_t input) { varies_[input] = true; }

  /// What was made ready was for inputs of other shapes.
  void SetStale();
  /// The scratch lies elsewhere from now on.
  void SetMoved() { ++addresses_; }

  /// `scratch` holds the arena where that fits; else the body has its own.
  Status Run(const TensorView& scratch, const RunContext& context);

  /// Of the last run.
  const TensorView& output(size_t i) {
    return current_->tensors()[static_cast<size_t>(plan_->outputs[i])].view;
  }
  bool SomethingFellBack() const { return current_ != nullptr && current_->prepared().SomethingFellBack(); }
  uint64_t workspace_bytes() const;
  /// None before the first run.
  const PreparedPlan* prepared() const { return current_ == nullptr ? nullptr : &current_->prepared(); }

 private:
  const Shape& Stated(size_t input) const {
    return plan_->tensors[static_cast<size_t>(plan_->inputs[input])].view.shape;
  }
  Status ReadVaryingExtents();
  Status ChooseState(const TensorView& scratch);
  Status MakeReady(ShapeState& state, const TensorView& scratch);
  Status GrowArena(uint64_t bytes);

  const PlanData* plan_ = nullptr;
  const SessionOptions* options_ = nullptr;
  DelegateSessions* sessions_ = nullptr;
  FixedArray<TensorView> inputs_;
  FixedArray<bool> varies_;
  FixedArray<void*> places_;
  FixedArray<int64_t> extents_;  ///< Of the inputs that vary.
  FixedArray<ShapeState> states_;
  ShapeState* current_ = nullptr;
  const ShapeState* preparing_ = nullptr;
  Buffer own_arena_;
  uint64_t addresses_ = 1;  ///< Counts changes of the arenas' and the inputs' addresses.
  uint64_t runs_ = 0;
};

}  // namespace skiff
