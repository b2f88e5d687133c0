/// Where a segment's tensors are while it runs: in device memory, at offsets found by the runtime's planner.
#pragma once

#include "delegates/vulkan/program/program.h"
#include "skiff/delegate.h"

namespace skiff::vulkan {

/// Consecutive nodes that one side runs.
struct NodeSpan {
  uint32_t begin = 0;  ///< Nodes of the plan.
  uint32_t end = 0;
  bool gpu = false;
  size_t first_resident = 0;  ///< Of Residency::residents.
  size_t end_resident = 0;
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
};

/// Which nodes a tensor of the plan is read by, whatever its shape.
struct TensorUse {
  int32_t producer = -1;
  int32_t last_reader = -1;
  bool plan_output = false;
};

struct ResidencyInput {
  const SegmentView& segment;
  Span<const TensorUse> uses;
  const Program& program;
  Span<const bool> on_gpu;  ///< By node of the segment.
  bool f16 = false;
  bool keep_all = false;  ///< Every tensor goes back to the host.
};

struct Residency {
  List<NodeSpan> spans;
  List<Resident> residents;
  uint64_t arena_bytes = 0;

  Status Plan(const ResidencyInput& input);
  /// The resident of a tensor or temporary in a span; null where it has none.
  const Resident* Find(const NodeSpan& span, const Operand& operand) const;

 private:
  Status AddSpan(const ResidencyInput& input, NodeSpan& span);
  Status Touch(const ResidencyInput& input, NodeSpan& span, int32_t tensor, uint32_t node, bool written);
  Status PlaceAll();
};

}  // namespace skiff::vulkan
