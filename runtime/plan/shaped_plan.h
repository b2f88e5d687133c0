/// A plan at one shape: the extents of all tensors, the elements that the shape program computes, and where
/// everything lies. Made by the loader, to check plans of one shape, and by a Session at each new shape.
#pragma once

#include <atomic>

#include "plan/memory_planner.h"
#include "plan/placement_checker.h"

namespace skiff {

class ShapedPlan {
 public:
  /// `keep_apart`: no two tensors share memory.
  Status Init(const PlanData& plan, bool keep_apart);

  /// `inputs`: shape and, of shape inputs, elements of each graph input. Fills tensors() but for addresses of
  /// activations. On kInvalidModel and kInvalidArgument the message says which node cannot take these shapes.
  Status Shape(Span<const TensorView> inputs, PlanMessage& message) {
    return Shape(inputs, own_operands_, message);
  }

  /// Gives the activations their addresses. `inputs` are those of the graph inputs, null where one lies in
  /// the arena.
  void Locate(unsigned char* arena, Span<void* const> inputs);

  /// What a Stage has returned: the shape and the place of a result.
  void SetLate(int32_t tensor, const TensorView& view) { tensors_[static_cast<size_t>(tensor)].view = view; }

  /// Where this is set, Shape() ends with kCancelled before the next node that it would run. Null: never.
  void SetCancelled(const std::atomic<bool>* cancelled) { own_operands_.cancelled = cancelled; }

  /// The plans of a node's bodies, at the shapes of its inputs; not of those that are shaped in the run.
  Span<ShapedPlan> BodiesOf(uint32_t node);

  const PlanData& plan() const { return *plan_; }
  FixedArray<PlanTensor>& tensors() { return tensors_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  /// Of what is kept beside the arena.
  uint64_t value_bytes() const;

 private:
  /// The operands of the node that is looked at. A plan and its bodies share one: a file may name a body
  /// thousands of times.
  struct Operands {
    FixedArray<InferInput<int64_t>> inputs;
    FixedArray<InferOutput<int64_t>> outputs;
    FixedArray<int64_t> widened;
    FixedArray<TensorView> views;  ///< Inputs, then outputs.
    const std::atomic<bool>* cancelled = nullptr;

    Status Allocate(size_t most_inputs, size_t most_outputs);
  };
  /// Of a plan and its bodies together.
  struct Needs {
    size_t most_inputs = 0;
    size_t most_outputs = 0;
    size_t pairs_left = MemoryPlanner::kMostPairs;
  };

  Status Init(const PlanData& plan, bool keep_apart, Needs& needs);
  Status Shape(Span<const TensorView> inputs, Operands& operands, PlanMessage& message);
  Status TakeInputs(Span<const TensorView> inputs, PlanMessage& message);
  Status Infer(PlanMessage& message);
  Status InferNode(uint32_t node, PlanMessage& message);
  Status InferBodies(uint32_t node, PlanMessage& message);
  Status InferShapedInRun(uint32_t node, PlanMessage& message);
  Status CompareBodies(uint32_t node, PlanMessage& message);
  void Describe(int32_t tensor, size_t slot);
  Status StoreTypes(uint32_t node, PlanMessage& message);
  Status ComputeValues(uint32_t node, PlanMessage& message);
  Status Place(PlanMessage& message);
  Status FindLifetimes(size_t* pairs_left);
  Status PlanBuffers();
  Status KeepApart();
  int32_t RootOf(int32_t tensor) const;
  bool Elsewhere(int32_t tensor) const;
  bool InState(int32_t tensor) const;

  const PlanData* plan_ = nullptr;
  bool keep_apart_ = false;
  FixedArray<PlanTensor> tensors_;
  FixedArray<uint64_t> offsets_;   ///< Of root tensors in the arena.
  FixedArray<int32_t> buffer_of_;  ///< Index into lifetimes_, or -1.
  FixedArray<BufferLifetime> lifetimes_;
  MemoryPlanner planner_;
  FixedArray<uint64_t> buffer_offsets_;
  FixedArray<skiff::Place> places_;
  FixedArray<int32_t> input_of_;  ///< Of root tensors that are graph inputs: which; else -1.
  FixedArray<unsigned char> values_;
  size_t values_used_ = 0;
  bool values_too_small_ = false;
  uint64_t arena_bytes_ = 0;
  Operands own_operands_;  ///< Of a body empty.
  Operands* operands_ = nullptr;
  FixedArray<ShapedPlan> bodies_;  ///< Of plan().bodies.
};

}  // namespace skiff
