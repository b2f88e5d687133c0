#include "delegates/vulkan/segment/residency.h"

#include <algorithm>

#include "plan/memory_planner.h"

namespace skiff::vulkan {
namespace {

/// The planner's offsets are multiples of 64; in units of 4 bytes they are multiples of kTensorAlignment.
constexpr uint64_t kUnit = kTensorAlignment / 64;

uint64_t Padded(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

int32_t AliasOf(const Program& program, int32_t tensor) {
  for (const TensorAlias& alias : program.aliases) {
    if (alias.tensor == tensor) return alias.of;
  }
  return -1;
}

bool IsOutput(const PlanNode& node, int32_t tensor) {
  return std::find(node.outputs.begin(), node.outputs.end(), tensor) != node.outputs.end();
}

}  // namespace

const Resident* Residency::Find(const NodeSpan& span, const Operand& operand) const {
  const bool scratch = operand.place == Operand::Place::kScratch;
  for (size_t i = span.first_resident; i < span.end_resident; ++i) {
    const Resident& resident = residents[i];
    if ((scratch ? resident.scratch : resident.tensor) == operand.index) return &resident;
  }
  return nullptr;
}

/// The tensor is used by this node of the span; the first time it gets a resident.
Status Residency::Touch(const ResidencyInput& input, NodeSpan& span, int32_t tensor, uint32_t node,
                        bool written) {
  const PlanTensor& plan_tensor = input.segment.tensors[static_cast<size_t>(tensor)];
  if (plan_tensor.constant) return OkStatus();
  const auto time = static_cast<int32_t>(node);
  Operand operand;
  operand.index = tensor;
  if (const Resident* known = Find(span, operand)) {
    Resident& root = residents[static_cast<size_t>(known->root)];
    root.last = std::max(root.last, time);
    return OkStatus();
  }
  Resident resident;
  resident.tensor = tensor;
  resident.root = static_cast<int32_t>(residents.size());
  resident.first = resident.last = time;
  resident.bytes = Padded(static_cast<uint64_t>(plan_tensor.view.shape.elements()) *
                          DeviceBytes(plan_tensor.view.dtype, input.f16));
  const TensorUse& use = input.uses[static_cast<size_t>(tensor)];
  if (written) {
    resident.download = input.keep_all || use.plan_output || use.last_reader < 0 ||
                        use.last_reader >= static_cast<int32_t>(span.end);
    operand.index = AliasOf(input.program, tensor);
    if (operand.index >= 0) resident.root = Find(span, operand)->root;
  } else {
    resident.upload = true;
    resident.first = static_cast<int32_t>(span.begin);
  }
  Resident& root = resident.root == static_cast<int32_t>(residents.size())
                       ? resident
                       : residents[static_cast<size_t>(resident.root)];
  root.last = std::max(root.last, resident.download ? static_cast<int32_t>(span.end) - 1 : time);
  SKIFF_RETURN_IF_ERROR(residents.Append(resident));
  span.end_resident = residents.size();
  return OkStatus();
}

Status Residency::AddSpan(const ResidencyInput& input, NodeSpan& span) {
  span.first_resident = span.end_resident = residents.size();
  for (uint32_t n = span.begin; span.gpu && n < span.end; ++n) {
    const PlanNode& node = input.segment.nodes[n];
    // What a node reads is what its dispatches name: shape inputs stay on the host.
    for (const Dispatch& dispatch : input.program.dispatches) {
      if (dispatch.node != n) continue;
      for (int i = 0; i < dispatch.reads; ++i) {
        const Operand& operand = dispatch.operands[i];
        if (operand.place == Operand::Place::kTensor && !IsOutput(node, operand.index))
          SKIFF_RETURN_IF_ERROR(Touch(input, span, operand.index, n, false));
      }
    }
    for (const int32_t output : node.outputs) {
      if (output < 0) continue;
      if (const int32_t of = AliasOf(input.program, output); of >= 0)
        SKIFF_RETURN_IF_ERROR(Touch(input, span, of, n, false));
      SKIFF_RETURN_IF_ERROR(Touch(input, span, output, n, true));
    }
  }
  for (size_t i = 0; i < input.program.scratch.size(); ++i) {
    const ScratchBuffer& scratch = input.program.scratch[i];
    if (scratch.node < span.begin || scratch.node >= span.end) continue;
    Resident resident;
    resident.scratch = static_cast<int32_t>(i);
    resident.root = static_cast<int32_t>(residents.size());
    resident.first = resident.last = static_cast<int32_t>(scratch.node);
    resident.bytes = Padded(scratch.bytes);
    SKIFF_RETURN_IF_ERROR(residents.Append(resident));
    span.end_resident = residents.size();
  }
  return spans.Append(span);
}

/// An arena this much above the lower bound is good enough at a new shape.
constexpr double kSlack = 0.05;

Status Residency::PlaceAll() {
  FixedArray<BufferLifetime> lifetimes;
  FixedArray<uint64_t> offsets;
  SKIFF_RETURN_IF_ERROR(lifetimes.Allocate(residents.size()));
  SKIFF_RETURN_IF_ERROR(offsets.Allocate(residents.size()));
  for (size_t i = 0; i < residents.size(); ++i) {
    const bool own = residents[i].root == static_cast<int32_t>(i);
    lifetimes[i] = {own ? residents[i].bytes / kUnit : 0, residents[i].first, residents[i].last};
  }
  MemoryPlanner planner;
  SKIFF_RETURN_IF_ERROR(planner.Init(lifetimes));
  arena_bytes = planner.Plan(lifetimes, kSlack, offsets) * kUnit;
  for (Resident& resident : residents) resident.offset = offsets[static_cast<size_t>(resident.root)] * kUnit;
  return OkStatus();
}

Status Residency::Plan(const ResidencyInput& input) {
  spans.Truncate(0);
  residents.Truncate(0);
  for (uint32_t n = input.segment.begin; n < input.segment.end;) {
    NodeSpan span{n, n, input.on_gpu[n - input.segment.begin], 0, 0};
    while (span.end < input.segment.end && input.on_gpu[span.end - input.segment.begin] == span.gpu)
      ++span.end;
    n = span.end;
    SKIFF_RETURN_IF_ERROR(AddSpan(input, span));
  }
  return PlaceAll();
}

}  // namespace skiff::vulkan
