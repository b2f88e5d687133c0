/// What a Session is made of, and how it gets ready: for a signature and a target at its creation, for a
/// shape when one comes. Its public calls are in session.cpp.
#pragma once

#include <atomic>

#include "core/buffer.h"
#include "format/model_data.h"
#include "session/memory_limit.h"
#include "session/shape_state.h"
#include "skiff/session.h"

namespace skiff {

struct InputSlot {
  bool set = false;
  bool decides_shape = false;  ///< By its elements, in some plan.
  Shape shape;
  Buffer buffer;  ///< Unused where the input lies in the arena.
};

struct Session::Internals final : NodeTimer, DelegateSessions {
  Model* model = nullptr;
  SessionOptions options;
  const SignatureData* signature = nullptr;
  bool one_exact_plan = false;
  FixedArray<InputSlot> inputs;
  FixedArray<void*> input_places;      ///< Null: in the arena.
  FixedArray<TensorView> input_views;  ///< Of the values that are set.
  FixedArray<int64_t> sizes;           ///< Of the model's Symbols, in the last call.
  std::unique_ptr<Variables> own_variables;
  Variables* variables = nullptr;
  Buffer arena;
  FixedArray<std::unique_ptr<DelegateSession>> sessions;  ///< By index of the delegate.
  FixedArray<ShapeState> states;
  ShapeState* current = nullptr;
  bool reshape = true;  ///< A shape, or a shape input's value, may have changed since the last run.
  static constexpr uint64_t kNotNoted = UINT64_MAX;
  uint64_t noted = kNotNoted;  ///< beside_arena() while a state is made ready: each of its bodies asks.
  uint64_t addresses = 1;      ///< Counts changes of the arena's and the inputs' addresses.
  uint64_t runs = 0;
  enum class Outputs : uint8_t { kNone, kLost, kThere };
  Outputs outputs = Outputs::kNone;  ///< kLost: the last run has failed.
  std::atomic<bool> cancelled{false};
  std::atomic<bool> running{false};
  uint64_t run_begin_ns = 0;
  struct Times {
    uint64_t begin_ns = 0;
    uint64_t duration_ns = 0;
  };
  FixedArray<Times> times;

  void Record(uint32_t node, uint64_t begin_ns, uint64_t end_ns) override {
    times[node] = {begin_ns - run_begin_ns, end_ns - begin_ns};
  }
  /// One exact plan: ready at creation, with its inputs in the arena.
  bool one_shape() const { return !BuildHas(Feature::kShapes) || one_exact_plan; }
  Result<DelegateSession*> Get(DelegateKind kind) override;

  NodeInfo Named(NodeInfo info) const;

  Status ChooseSignature();
  Status CheckPlans(Target target) const;
  Status TakeVariables();
  Status CheckVariables(ShapeState& state) const;
  void ReadVariables();
  void KeepVariables();
  Status Start();
  Status StartTarget();
  Status Allocate();
  Status AllocateStates(Target target);
  bool MayFallBack(Status status) const;
  Status PrepareOneShape();
  Status ChooseState();
  Status PrepareState();
  Status MakeReady(ShapeState& state, const PlanData& plan);
  uint64_t MemoryLimit() const { return MemoryLimitOf(*model, options.memory_limit); }
  Status MakeRoom(const ShapeState& state);
  Status GrowArena(uint64_t bytes);
  void Poison();
  Status CheckLimit(uint64_t bytes, const char* what) const;
  uint64_t MemoryLeft() const override;
  Status CheckGrowth(uint64_t bytes, const char* what) const override;
  const std::atomic<bool>& Cancelled() const override { return cancelled; }
  /// What is refused while the session runs.
  Status Running() const;
  /// There is such an input, and no run that reads it.
  Status CheckSettable(int index) const;
  void SetPlace(int index, void* place, const Shape& shape);
  Result<TensorView> OwnPlace(int index, const Shape& shape);
  uint64_t workspace_bytes() const;
  uint64_t input_bytes() const;
  uint64_t variable_bytes() const { return own_variables ? own_variables->bytes() : 0; }
  /// What stays from shape to shape beside the arena.
  uint64_t held_bytes() const { return input_bytes() + variable_bytes(); }
  /// All but the arena, which stays while a state is made ready.
  uint64_t beside_arena() const { return noted != kNotNoted ? noted : held_bytes() + workspace_bytes(); }
};

}  // namespace skiff
