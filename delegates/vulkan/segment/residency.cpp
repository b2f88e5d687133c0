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

bool IsOutput(const PlanNode& node, int32_t tensor) {
  return std::find(node.outputs.begin(), node.outputs.end(), tensor) != node.outputs.end();
}

}  // namespace

Status TensorUses::Find(const SegmentView& segment) {
  size_t count = 0;
  for (uint32_t n = segment.begin; n < segment.end; ++n)
    count += segment.nodes[n].inputs.size() + segment.nodes[n].outputs.size();
  FixedArray<int32_t> named;
  SKIFF_RETURN_IF_ERROR(named.Allocate(count));
  size_t end = 0;
  for (uint32_t n = segment.begin; n < segment.end; ++n) {
    for (const Span<const int32_t> list : {segment.nodes[n].inputs, segment.nodes[n].outputs})
      end = static_cast<size_t>(std::copy(list.begin(), list.end(), named.begin() + end) - named.begin());
  }
  std::sort(named.begin(), named.begin() + end);
  const int32_t* const last = std::unique(named.begin(), named.begin() + end);
  const int32_t* const first = std::lower_bound(static_cast<const int32_t*>(named.begin()), last, 0);
  SKIFF_RETURN_IF_ERROR(uses_.Allocate(static_cast<size_t>(last - first)));
  for (size_t i = 0; i < uses_.size(); ++i) uses_[i].tensor = first[i];
  for (size_t n = 0; n < segment.nodes.size(); ++n) {
    for (const int32_t input : segment.nodes[n].inputs) {
      if (TensorUse* use = Of(input)) use->last_reader = static_cast<int32_t>(n);
    }
  }
  for (const int32_t output : segment.outputs) {
    if (TensorUse* use = Of(output)) use->plan_output = true;
  }
  return OkStatus();
}

size_t TensorUses::IndexOf(int32_t tensor) const {
  const TensorUse* const at =
      std::lower_bound(uses_.begin(), uses_.end(), tensor,
                       [](const TensorUse& use, int32_t value) { return use.tensor < value; });
  return at != uses_.end() && at->tensor == tensor ? static_cast<size_t>(at - uses_.begin()) : uses_.size();
}

TensorUse* TensorUses::Of(int32_t tensor) {
  const size_t index = IndexOf(tensor);
  return index < uses_.size() ? &uses_[index] : nullptr;
}

const Resident* Residency::Find(const TensorUses& uses, const NodeSpan& span, const Operand& operand) const {
  const bool scratch = operand.place == Operand::Place::kScratch;
  const size_t index = scratch ? static_cast<size_t>(operand.index) : uses.IndexOf(operand.index);
  const FixedArray<int32_t>& newest = scratch ? of_scratch_ : of_tensor_;
  const int32_t resident = index < newest.size() ? newest[index] : -1;
  const bool inside = resident >= 0 && static_cast<size_t>(resident) >= span.first_resident &&
                      static_cast<size_t>(resident) < span.end_resident;
  return inside ? &residents[static_cast<size_t>(resident)] : nullptr;
}

void Residency::Note(const TensorUses& uses, size_t resident) {
  const Resident& added = residents[resident];
  int32_t& newest = added.scratch >= 0 ? of_scratch_[static_cast<size_t>(added.scratch)]
                                       : of_tensor_[uses.IndexOf(added.tensor)];
  newest = static_cast<int32_t>(resident);
}

void Residency::Enter(const TensorUses& uses, const NodeSpan& span) {
  for (size_t i = span.first_resident; i < span.end_resident; ++i) Note(uses, i);
}

/// The tensor is used by this node of the span; the first time it gets a resident.
Status Residency::Touch(const ResidencyInput& input, NodeSpan& span, int32_t tensor, uint32_t node,
                        bool written) {
  const PlanTensor& plan_tensor = input.segment.tensors[static_cast<size_t>(tensor)];
  if (plan_tensor.constant) return OkStatus();
  const auto time = static_cast<int32_t>(node);
  Operand operand;
  operand.index = tensor;
  if (const Resident* known = Find(input.uses, span, operand)) {
    Resident& root = residents[static_cast<size_t>(known->root)];
    root.last = std::max(root.last, time);
    return OkStatus();
  }
  const size_t position = input.uses.IndexOf(tensor);
  const auto index = static_cast<int32_t>(residents.size());
  Resident resident;
  resident.tensor = tensor;
  resident.root = index;
  resident.first = resident.last = time;
  resident.bytes = Padded(static_cast<uint64_t>(plan_tensor.view.shape.elements()) *
                          DeviceBytes(plan_tensor.view.dtype, input.f16));
  const TensorUse& use = input.uses[position];
  if (written) {
    const bool is_read = input.keep_all || use.plan_output || use.last_reader < 0 ||
                         use.last_reader >= static_cast<int32_t>(span.end);
    resident.download = is_read && !plan_tensor.in_input;
    operand.index = alias_of_[position];
    if (operand.index >= 0) resident.root = Find(input.uses, span, operand)->root;
  } else {
    resident.upload = true;
    resident.first = static_cast<int32_t>(span.begin);
  }
  SKIFF_RETURN_IF_ERROR(residents.Append(resident));
  span.end_resident = residents.size();
  Note(input.uses, span.end_resident - 1);
  Resident& root = residents[static_cast<size_t>(resident.root)];
  root.last = std::max(root.last, resident.download ? static_cast<int32_t>(span.end) - 1 : time);
  bool& copied = resident.upload ? root.uploaded : root.downloaded;
  residents[static_cast<size_t>(index)].copied = (resident.upload || resident.download) && !copied;
  copied = copied || resident.upload || resident.download;
  return OkStatus();
}

/// What a node reads is what its dispatches name: shape inputs stay on the host.
Status Residency::AddDispatches(const ResidencyInput& input, NodeSpan& span, uint32_t node) {
  const List<Dispatch>& dispatches = input.program.dispatches;
  for (; span.end_dispatch < dispatches.size() && dispatches[span.end_dispatch].node == node;
       ++span.end_dispatch) {
    const Dispatch& dispatch = dispatches[span.end_dispatch];
    for (int i = 0; i < dispatch.reads; ++i) {
      const Operand& operand = dispatch.operands[i];
      if (operand.place == Operand::Place::kTensor && !IsOutput(input.segment.nodes[node], operand.index))
        SKIFF_RETURN_IF_ERROR(Touch(input, span, operand.index, node, false));
    }
  }
  return OkStatus();
}

Status Residency::AddScratch(const ResidencyInput& input, NodeSpan& span) {
  const List<ScratchBuffer>& all = input.program.scratch;
  for (; next_scratch_ < all.size() && all[next_scratch_].node < span.end; ++next_scratch_) {
    Resident resident;
    resident.scratch = static_cast<int32_t>(next_scratch_);
    resident.root = static_cast<int32_t>(residents.size());
    resident.first = resident.last = static_cast<int32_t>(all[next_scratch_].node);
    resident.bytes = Padded(all[next_scratch_].bytes);
    SKIFF_RETURN_IF_ERROR(residents.Append(resident));
    span.end_resident = residents.size();
    Note(input.uses, span.end_resident - 1);
  }
  return OkStatus();
}

Status Residency::AddSpan(const ResidencyInput& input, NodeSpan& span) {
  span.first_resident = span.end_resident = residents.size();
  for (uint32_t n = span.begin; span.gpu && n < span.end; ++n) {
    SKIFF_RETURN_IF_ERROR(AddDispatches(input, span, n));
    for (const int32_t output : input.segment.nodes[n].outputs) {
      if (output < 0) continue;
      if (const int32_t of = alias_of_[input.uses.IndexOf(output)]; of >= 0)
        SKIFF_RETURN_IF_ERROR(Touch(input, span, of, n, false));
      SKIFF_RETURN_IF_ERROR(Touch(input, span, output, n, true));
    }
  }
  const List<IntegerCheck>& checks = input.program.checks;
  while (span.end_check < checks.size() && checks[span.end_check].node < span.end) ++span.end_check;
  SKIFF_RETURN_IF_ERROR(AddScratch(input, span));
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
  next_scratch_ = 0;
  SKIFF_RETURN_IF_ERROR(of_tensor_.Allocate(input.uses.size()));
  SKIFF_RETURN_IF_ERROR(alias_of_.Allocate(input.uses.size()));
  SKIFF_RETURN_IF_ERROR(of_scratch_.Allocate(input.program.scratch.size()));
  std::fill(of_tensor_.begin(), of_tensor_.end(), -1);
  std::fill(alias_of_.begin(), alias_of_.end(), -1);
  for (const TensorAlias& alias : input.program.aliases)
    alias_of_[input.uses.IndexOf(alias.tensor)] = alias.of;
  NodeSpan span;
  for (uint32_t n = input.segment.begin; n < input.segment.end;) {
    span.begin = span.end = n;
    span.gpu = input.on_gpu[n - input.segment.begin];
    span.first_dispatch = span.end_dispatch;
    span.first_check = span.end_check;
    while (span.end < input.segment.end && input.on_gpu[span.end - input.segment.begin] == span.gpu)
      ++span.end;
    n = span.end;
    SKIFF_RETURN_IF_ERROR(AddSpan(input, span));
  }
  return PlaceAll();
}

}  // namespace skiff::vulkan
