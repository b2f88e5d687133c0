#include "plan/state_order.h"

#include "ops/op.h"
#include "ops/op_codes.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"

namespace skiff {
namespace {

constexpr int32_t kNone = TensorPlacement::kRoot;

bool IsScatter(const PlanNode& node) {
  return (node.op->code == OpCode::kScatterElements || node.op->code == OpCode::kScatterND) &&
         node.attrs->as<ScatterAttrs>().reduction == ScatterReduction::kNone;
}

class StateFinder {
 public:
  StateFinder(PlanData& plan, const PlanPorts& ports, PlanMessage& message)
      : plan_(plan), ports_(ports), message_(message) {}

  Status Find() {
    const size_t count = plan_.tensors.size();
    SKIFF_RETURN_IF_ERROR(plan_.states.Allocate(count));
    for (int32_t& state : plan_.states) state = kNone;
    SKIFF_RETURN_IF_ERROR(port_of_.Allocate(count));
    SKIFF_RETURN_IF_ERROR(version_.Allocate(count));
    for (int32_t& port : port_of_) port = kNone;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) port_of_[At(plan_.inputs[i])] = static_cast<int32_t>(i);
    bool any = false;
    for (size_t i = 0; i < count; ++i) {
      const int32_t buffer = plan_.placements[i].buffer;
      if (buffer == kNone || port_of_[At(buffer)] == kNone) continue;
      SKIFF_RETURN_IF_ERROR(CheckPlace(i, buffer));
      plan_.states[i] = plan_.states[At(buffer)] = buffer;
      any = true;
    }
    if (kBuildWritesStates && any) {
      for (size_t i = 0; i < count; ++i) {
        const int32_t whole = plan_.placements[i].view_of;
        if (whole == kNone || IsElsewhere(i) || plan_.states[At(whole)] == kNone) continue;
        plan_.states[i] = plan_.states[At(whole)];
      }
      SKIFF_RETURN_IF_ERROR(FollowNodes());
      SKIFF_RETURN_IF_ERROR(CheckOutputs());
    }
    return CheckSegments();
  }

 private:
  static size_t At(int32_t tensor) { return static_cast<size_t>(tensor); }
  bool IsElsewhere(size_t tensor) const {
    return plan_.tensors[tensor].constant || plan_.IsShapeValue(static_cast<int32_t>(tensor)) ||
           plan_.IsLate(static_cast<int32_t>(tensor));
  }

  Status CheckPlace(size_t tensor, int32_t input) {
    const auto port = static_cast<size_t>(port_of_[At(input)]);
    const bool variable = kBuildWritesStates && !ports_.of_body && plan_.target == Target::kCpu &&
                          ports_.inputs[port].variable >= 0 && !plan_.shape_inputs[port];
    const bool root =
        plan_.placements[tensor].view_of == kNone && !IsElsewhere(tensor) && port_of_[tensor] == kNone;
    const bool plain = plan_.tensors[tensor].view.quantization == nullptr &&
                       plan_.tensors[At(input)].view.quantization == nullptr;
    if (variable && root && plain) return OkStatus();
    return message_.Invalid("tensor %zu is written in the place of input tensor %d, which it must not be",
                            tensor, input);
  }

  /// Nodes run in their order. `version_`: how many writes a tensor comes behind; of a variable's input, of
  /// its memory at this node.
  Status FollowNodes() {
    for (uint32_t i = plan_.shape_node_count; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      for (const int32_t input : node.inputs) {
        if (input >= 0 && !IsCurrent(input))
          return message_.Invalid("node %u (%s) reads tensor %d, over which its variable was written before",
                                  i, node.op->name, input);
      }
      for (const int32_t output : node.outputs) {
        const int32_t state = plan_.states[At(output)];
        if (state == kNone) continue;
        if (plan_.placements[At(output)].buffer == state) SKIFF_RETURN_IF_ERROR(Write(i, state));
        version_[At(output)] = writes_of(state);
      }
    }
    return OkStatus();
  }

  /// Of an input, the version is 0 as long as nobody has written.
  bool IsCurrent(int32_t tensor) {
    const int32_t state = plan_.states[At(tensor)];
    if (state == kNone) return true;
    return (tensor == state ? 0 : version_[At(tensor)]) == writes_of(state);
  }
  uint32_t& writes_of(int32_t state) { return version_[At(state)]; }

  Status Write(uint32_t index, int32_t state) {
    const PlanNode& node = plan_.nodes[index];
    bool takes = node.bodies.empty() && IsScatter(node);
    for (size_t i = 0; takes && i < node.inputs.size(); ++i)
      takes = (plan_.states[At(node.inputs[i])] == state) == (i == 0);
    if (!takes)
      return message_.Invalid("node %u (%s) writes a variable in its place and is no scatter of it", index,
                              node.op->name);
    ++writes_of(state);
    return OkStatus();
  }

  Status CheckOutputs() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const int32_t output = plan_.outputs[i];
      const int32_t state = plan_.states[At(output)];
      if (state == kNone) continue;
      if (ports_.outputs[i].variable < 0)
        return message_.Invalid("output '%s' lies in a variable, which the next run writes",
                                ports_.outputs[i].name);
      if (!IsCurrent(output))
        return message_.Invalid("the next value of '%s' is overwritten before the run ends",
                                ports_.outputs[i].name);
    }
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const int32_t input = plan_.inputs[i];
      if (plan_.states[At(input)] == input && !KeepsOwnValue(i))
        return message_.Invalid("variable '%s' is written in its place, and its next value lies elsewhere",
                                ports_.inputs[i].name);
    }
    return OkStatus();
  }

  /// Its next value is all of its memory.
  bool KeepsOwnValue(size_t port) const {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (ports_.outputs[i].variable != ports_.inputs[port].variable) continue;
      const TensorPlacement& placement = plan_.placements[At(plan_.outputs[i])];
      return plan_.states[At(plan_.outputs[i])] == plan_.inputs[port] &&
             (placement.view_of == kNone || placement.offset == 0);
    }
    return false;
  }

  Status CheckSegments() {
    for (const SegmentData& segment : plan_.segments) {
      for (uint32_t i = segment.begin; i < segment.end; ++i) {
        const PlanNode& node = plan_.nodes[i];
        const bool control = HasBodies(node) || plan_.WritesState(node);
        if (control != (segment.delegate == DelegateKind::kControl))
          return message_.Invalid("node %u (%s) is in a segment of the %s delegate", i, node.op->name,
                                  DelegateKindName(segment.delegate));
      }
    }
    return OkStatus();
  }

  PlanData& plan_;
  const PlanPorts& ports_;
  PlanMessage& message_;
  FixedArray<int32_t> port_of_;  ///< By tensor.
  FixedArray<uint32_t> version_;
};

}  // namespace

Status FindStates(PlanData& plan, const PlanPorts& ports, PlanMessage& message) {
  return StateFinder(plan, ports, message).Find();
}

}  // namespace skiff
