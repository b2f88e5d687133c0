/// A plan as it lies in a file, decoded: nodes, tensors, who runs what, and where things lie.
#pragma once

#include "core/features.h"
#include "core/fixed_array.h"
#include "ops/op.h"
#include "skiff/delegate.h"
#include "skiff/model.h"

namespace skiff {

/// Where a plan's tensor lies.
struct TensorPlacement {
  static constexpr int32_t kRoot = -1;
  int32_t view_of = kRoot;  ///< Index of the viewed tensor, which is no view itself.
  uint64_t offset = 0;      ///< From the arena's beginning, or from the viewed tensor's.
  int64_t row_stride = 0;   ///< 0: dense.
  /// The root tensor in whose place this one is written: in any plan the input of a variable that a scatter
  /// updates, in unbounded plans one that dies.
  int32_t buffer = kRoot;
  const char* source = "";  ///< The source graph's tensor whose elements these are; "" when none.
  Ints source_perm;
  /// How the file stores a constant that is wider in memory; kInvalid: as it is.
  DType stored = DType::kInvalid;
  const Quantization* stored_quantization = nullptr;
};

struct SegmentData {
  DelegateKind delegate = DelegateKind::kReference;
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct PlanData {
  Target target = Target::kCpu;
  BucketKind kind = BucketKind::kExact;
  FixedArray<SymbolRange> ranges;
  FixedArray<PlanTensor> tensors;  ///< `view.data` set for constants.
  FixedArray<TensorPlacement> placements;
  FixedArray<PlanNode> nodes;  ///< The shape program, then the data program.
  uint32_t shape_node_count = 0;
  FixedArray<uint32_t> infer_order;  ///< All nodes, so that each comes when its inputs' types are known.
  FixedArray<AttrStorage> attrs;
  FixedArray<int32_t> indices;  ///< Backs the nodes' inputs and outputs.
  FixedArray<PlanData> bodies;  ///< Backs the nodes' bodies.
  FixedArray<SegmentData> segments;
  FixedArray<int32_t> inputs;
  FixedArray<int32_t> outputs;
  uint64_t arena_bytes = 0;
  bool inputs_outside = false;    ///< Graph inputs have buffers beside the arena.
  FixedArray<bool> shape_values;  ///< By tensor: the shape program computes it.
  /// By tensor: the result of a Stage, or of an If whose branches may return different extents. It lies where
  /// the body has it, once that has run.
  FixedArray<bool> late;
  /// By tensor: the variable's input in whose memory it lies (state_order.h), the input itself included;
  /// kRoot: none. Such an input is never in the arena.
  FixedArray<int32_t> states;
  FixedArray<bool> shape_inputs;  ///< By input: the shape program or a shape rule reads its elements.

  /// For one shape of the inputs.
  bool exact() const { return !BuildHas(Feature::kShapes) || kind == BucketKind::kExact; }
  /// The first nodes, which decide shapes; the others are the data program.
  uint32_t shape_nodes() const { return BuildHas(Feature::kShapes) ? shape_node_count : 0; }
  bool unbounded() const { return BuildHas(Feature::kUnbounded) && kind == BucketKind::kUnbounded; }
  bool IsShapeValue(int32_t tensor) const {
    return BuildHas(Feature::kShapes) && shape_values[static_cast<size_t>(tensor)];
  }
  // In plan/built_plan.h.
  int32_t StateOf(int32_t tensor) const;
  /// A scatter that writes its updates into a variable's own memory.
  bool WritesState(const PlanNode& node) const;
  bool IsLate(int32_t tensor) const;
};

}  // namespace skiff
