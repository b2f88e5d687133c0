/// A verified model: what the FlatBuffer says, decoded once into plain structs whose every index, offset and
/// size has been checked. Strings and extents point into the copied FlatBuffer part, constants into the
/// mapped weights.
#pragma once

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
  int32_t buffer = kRoot;   ///< Unbounded plans: the root tensor in whose place this one is written.
  const char* source = "";  ///< The source graph's tensor whose elements these are; "" when none.
  Ints source_perm;
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
  FixedArray<SegmentData> segments;
  FixedArray<int32_t> inputs;
  FixedArray<int32_t> outputs;
  uint64_t arena_bytes = 0;
  bool inputs_outside = false;

  /// Computed by the shape program: elements are known once the shape is.
  bool IsShapeValue(int32_t tensor) const { return shape_values[static_cast<size_t>(tensor)]; }
  FixedArray<bool> shape_values;
  /// Graph inputs whose elements the shape program or a shape rule reads; by input.
  FixedArray<bool> shape_inputs;
};

struct SignatureData {
  const char* name = "";
  FixedArray<PortInfo> inputs;
  FixedArray<PortInfo> outputs;
  FixedArray<FixedArray<const char*>> labels;  ///< One list per output.
  FixedArray<PlanData> plans;
};

struct MetadataEntry {
  const char* key = "";
  const char* value = "";
};

struct ModelData {
  FixedArray<uint64_t> flatbuffer;  ///< The copy; words, so that it is aligned.
  FixedArray<SignatureData> signatures;
  FixedArray<SymbolInfo> symbols;
  FixedArray<MetadataEntry> metadata;
  uint32_t format_version = 0;
  const char* producer = "";
  uint64_t file_bytes = 0;
  uint64_t model_bytes = 0;
  uint64_t weights_bytes = 0;
};

/// Verifies and decodes a whole .skiff file that lies at `file`; constants will point into it, so it must
/// outlive the result. Every failure is kInvalidModel (or kUnsupported for a newer format, kOutOfMemory) with
/// a sentence in the log that begins with `name`.
Status ReadModel(const char* name, Span<const uint8_t> file, ModelData* model);

}  // namespace skiff
