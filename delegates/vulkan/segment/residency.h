/// Where a segment's tensors are while it runs: in device memory, at offsets found by the runtime's planner.
#pragma once

#include "delegates/vulkan/program/program.h"
#include "skiff/delegate.h"

namespace skiff::vulkan {

/// Consecutive nodes that one side runs, and what belongs to them.
struct NodeSpan {
  uint32_t begin = 0;  ///< Nodes of the plan.
  uint32_t end = 0;
  bool gpu = false;
  size_t first_resident = 0;  ///< Of Residency::residents.
  size_t end_resident = 0;
  size_t first_dispatch = 0;  ///< Of the program's, which are in the order of their nodes.
  size_t end_dispatch = 0;
  size_t first_check = 0;
  size_t end_check = 0;
};

/// A tensor (or a temporary) in device memory during one span.
struct Resident {
  int32_t tensor = -1;   ///< -1: a temporary.
  int32_t scratch = -1;  ///< Of Program::scratch.
  int32_t root = -1;     ///< The resident whose memory this is; itself, unless it is an alias.
  int32_t first = 0;     ///< Nodes during which it is needed.
  int32_t last = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  bool upload = false;
  bool download = false;
  /// Staged memory is copied for it; for one of those that share it, as two copies to one place would race.
  bool copied = false;
  bool uploaded = false;  ///< Of roots: one that shares it is copied already.
  bool downloaded = false;
};

/// Which nodes a tensor of the plan is read by, whatever its shape.
struct TensorUse {
  int32_t tensor = -1;
  int32_t last_reader = -1;
  bool plan_output = false;
};

/// Of the tensors that a segment's nodes name, in order. A plan of thousands of segments has more tensors
/// than each of these could afford to keep an entry for.
class TensorUses {
 public:
  Status Find(const SegmentView& segment);
  size_t size() const { return uses_.size(); }
  /// The tensor's position; size() where no node of the segment names it.
  size_t IndexOf(int32_t tensor) const;
  const TensorUse& operator[](size_t index) const { return uses_[index]; }

 private:
  TensorUse* Of(int32_t tensor);
  FixedArray<TensorUse> uses_;
};

struct ResidencyInput {
  const SegmentView& segment;
  const TensorUses& uses;
  const Program& program;
  Span<const bool> on_gpu;  ///< By node of the segment.
  bool f16 = false;
  bool keep_all = false;  ///< Every tensor goes back to the host.
};

class Residency {
 public:
  List<NodeSpan> spans;
  List<Resident> residents;
  uint64_t arena_bytes = 0;

  Status Plan(const ResidencyInput& input);
  /// From here on Find() is asked about this span.
  void Enter(const TensorUses& uses, const NodeSpan& span);
  /// The resident of a tensor or temporary in the span; null where it has none.
  const Resident* Find(const TensorUses& uses, const NodeSpan& span, const Operand& operand) const;

 private:
  Status AddSpan(const ResidencyInput& input, NodeSpan& span);
  Status AddScratch(const ResidencyInput& input, NodeSpan& span);
  Status AddDispatches(const ResidencyInput& input, NodeSpan& span, uint32_t node);
  Status Touch(const ResidencyInput& input, NodeSpan& span, int32_t tensor, uint32_t node, bool written);
  Status PlaceAll();
  void Note(const TensorUses& uses, size_t resident);

  FixedArray<int32_t> of_tensor_;   ///< The newest resident, by position among the uses.
  FixedArray<int32_t> of_scratch_;  ///< Of Program::scratch.
  FixedArray<int32_t> alias_of_;    ///< A tensor, by position; -1.
  size_t next_scratch_ = 0;
};

}  // namespace skiff::vulkan
