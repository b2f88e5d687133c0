#include "plan/plan_order.h"

#include <cstdarg>
#include <cstdio>

#include "ops/build_ops.h"
#include "ops/op.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"

namespace skiff {
namespace {

class Orderer {
 public:
  Orderer(PlanData& plan, PlanMessage& message) : plan_(plan), message_(message) {}

  Status Order() {
    SKIFF_RETURN_IF_ERROR(defined_.Allocate(plan_.tensors.size()));
    SKIFF_RETURN_IF_ERROR(input_of_.Allocate(plan_.tensors.size()));
    SKIFF_RETURN_IF_ERROR(plan_.infer_order.Allocate(plan_.nodes.size()));
    SKIFF_RETURN_IF_ERROR(plan_.shape_values.Allocate(plan_.tensors.size()));
    SKIFF_RETURN_IF_ERROR(plan_.late.Allocate(plan_.tensors.size()));
    SKIFF_RETURN_IF_ERROR(plan_.shape_inputs.Allocate(plan_.inputs.size()));
    SKIFF_RETURN_IF_ERROR(CheckViews());
    if (kBuildHasBodies) {
      SKIFF_RETURN_IF_ERROR(CheckScratch());
      SKIFF_RETURN_IF_ERROR(FindLate());
    }
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const int32_t input = plan_.inputs[i];
      input_of_[static_cast<size_t>(input)] = static_cast<uint32_t>(i + 1);
      // Callers write inputs, or have them in memory of their own.
      const bool view = plan_.placements[static_cast<size_t>(input)].view_of != TensorPlacement::kRoot;
      if (view || !Define(input))
        return message_.Invalid("tensor %d is an input twice, a constant, or a view", input);
    }
    SKIFF_RETURN_IF_ERROR(Merge());
    for (int32_t output : plan_.outputs) {
      if (!Known(output)) return message_.Invalid("output tensor %d is never written", output);
    }
    return CheckDeciders();
  }

 private:
  const PlanTensor& Tensor(int32_t index) const { return plan_.tensors[static_cast<size_t>(index)]; }
  bool Known(int32_t index) const {
    return index < 0 || Tensor(index).constant || defined_[static_cast<size_t>(index)];
  }
  bool Define(int32_t index) {
    if (Known(index)) return false;
    return defined_[static_cast<size_t>(index)] = true;
  }

  Status CheckViews() {
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const TensorPlacement& placement = plan_.placements[i];
      for (const int32_t target : {placement.view_of, placement.buffer}) {
        if (target == TensorPlacement::kRoot) continue;
        const auto root = static_cast<size_t>(target);
        if (target < 0 || root >= plan_.tensors.size() || plan_.tensors[root].constant ||
            plan_.placements[root].view_of != TensorPlacement::kRoot) {
          return message_.Invalid("tensor %zu is a view of tensor %d, which cannot be viewed", i, target);
        }
      }
      if (placement.view_of == TensorPlacement::kRoot && placement.row_stride != 0 &&
          !plan_.tensors[i].constant)
        return message_.Invalid("tensor %zu has a row stride and is no view", i);
    }
    return OkStatus();
  }

  /// Arenas are aligned, which parts of other tensors need not be, and another node's scratch may hold what
  /// this one reads.
  Status CheckScratch() {
    for (uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      if (node.bodies.empty()) continue;
      const TensorPlacement& scratch = plan_.placements[static_cast<size_t>(ScratchOf(node))];
      if (scratch.view_of != TensorPlacement::kRoot || scratch.buffer != TensorPlacement::kRoot)
        return message_.Invalid("the scratch of node %u (%s) lies in another tensor", i, node.op->name);
    }
    return OkStatus();
  }

  static bool IsStage(const PlanNode& node) {
    return BuildHas(OpCode::kStage) && node.op->code == OpCode::kStage;
  }

  /// A result that says to lie in its node's scratch is left there.
  bool StaysInScratch(const PlanNode& node, int32_t result) const {
    return BuildHas(OpCode::kStage) &&
           plan_.placements[static_cast<size_t>(result)].view_of == ScratchOf(node);
  }

  /// Nothing follows a Stage, so that its results need no place and its scratch stays as it is. What is late
  /// has its shape during the run only, so that nobody but a Stage may read it.
  Status FindLate() {
    for (uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      if (IsStage(node) && (i + 1 != plan_.nodes.size() || i < plan_.shape_node_count))
        return message_.Invalid("node %u (%s) is not the plan's last", i, node.op->name);
      for (size_t j = 0; !node.bodies.empty() && j < BodyResults(node).size(); ++j)
        plan_.late[static_cast<size_t>(node.outputs[j])] =
            IsStage(node) || StaysInScratch(node, node.outputs[j]);
    }
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const TensorPlacement& placement = plan_.placements[i];
      const bool viewed = placement.view_of != TensorPlacement::kRoot && plan_.IsLate(placement.view_of);
      const bool shared =
          placement.buffer != TensorPlacement::kRoot && (plan_.late[i] || plan_.IsLate(placement.buffer));
      if (viewed || shared)
        return message_.Invalid("tensor %zu shares memory with a result that has no place", i);
    }
    for (uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      for (const int32_t input : plan_.nodes[i].inputs) {
        if (input >= 0 && plan_.IsLate(input) && !IsStage(plan_.nodes[i]))
          return message_.Invalid("node %u reads tensor %d, whose shape is not known before the run", i,
                                  input);
      }
    }
    return OkStatus();
  }

  bool Ready(uint32_t node) const {
    for (int32_t input : plan_.nodes[node].inputs) {
      if (!Known(input)) return false;
    }
    return true;
  }

  Status Take(uint32_t node, size_t* at) {
    for (int32_t output : plan_.nodes[node].outputs) {
      if (!Define(output))
        return message_.Invalid("node %u writes tensor %d, which is not its own", node, output);
      if (node >= plan_.shape_nodes()) continue;
      // Computed before there is an arena: it lies nowhere in it, and side by side.
      const TensorPlacement& placement = plan_.placements[static_cast<size_t>(output)];
      if (placement.view_of != TensorPlacement::kRoot || placement.buffer != TensorPlacement::kRoot)
        return message_.Invalid("tensor %d decides a shape and is said to lie in another tensor", output);
      plan_.shape_values[static_cast<size_t>(output)] = true;
    }
    plan_.infer_order[(*at)++] = node;
    return OkStatus();
  }

  /// Two ordered lists into one: shape nodes as early as possible.
  Status Merge() {
    uint32_t shape = 0;
    uint32_t data = plan_.shape_nodes();
    size_t at = 0;
    while (at < plan_.nodes.size()) {
      if (shape < plan_.shape_nodes() && Ready(shape)) {
        SKIFF_RETURN_IF_ERROR(Take(shape++, &at));
      } else if (data < plan_.nodes.size() && Ready(data)) {
        SKIFF_RETURN_IF_ERROR(Take(data++, &at));
      } else {
        return message_.Invalid("node %u reads a tensor before it is written",
                                data < plan_.nodes.size() ? data : shape);
      }
    }
    return OkStatus();
  }

  /// What must be known before the run: all inputs of shape nodes but Shape's, and the shape inputs of the
  /// others.
  Status CheckDeciders() {
    for (uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      const bool computes = i < plan_.shape_nodes() && node.op->code != OpCode::kShape;
      if (computes && HasBodies(node))
        return message_.Invalid("node %u (%s) has bodies and cannot decide a shape", i, node.op->name);
      for (size_t j = 0; HasBodies(node) && j < LoopVariables(node); ++j) {
        if (NeedsValues(node, j))
          return message_.Invalid("loop variable %zu of node %u (%s) decides a shape", j, i, node.op->name);
      }
      for (size_t j = 0; j < node.inputs.size(); ++j) {
        const int32_t input = node.inputs[j];
        if (input < 0 || !(computes || NeedsValues(node, j))) continue;
        if (Tensor(input).constant || plan_.shape_values[static_cast<size_t>(input)] || MarkInput(input))
          continue;
        return message_.Invalid("input %zu of node %u (%s) decides a shape and is not known before the run",
                                j, i, node.op->name);
      }
    }
    return OkStatus();
  }

  bool MarkInput(int32_t tensor) {
    const uint32_t input = input_of_[static_cast<size_t>(tensor)];
    return input > 0 && (plan_.shape_inputs[input - 1] = !plan_.exact());
  }

  PlanData& plan_;
  PlanMessage& message_;
  FixedArray<bool> defined_;
  FixedArray<uint32_t> input_of_;  ///< By tensor: one more than which input of the plan it is; 0: none.
};

}  // namespace

Status PlanMessage::Invalid(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return Status(StatusCode::kInvalidModel);
}

bool NeedsValues(const PlanNode& node, size_t input) {
  if (!HasBodies(node)) return node.op->NeedsValues(input);
  if (BuildHas(OpCode::kStage) && node.op->code == OpCode::kStage) return false;  // Reads them in the run.
  const size_t first = FirstBodyInput(node.op->code);
  for (const PlanData& body : node.bodies) {
    if (input >= first && body.shape_inputs[input - first]) return true;
  }
  return false;
}

Status OrderPlan(PlanData& plan, PlanMessage& message) { return Orderer(plan, message).Order(); }

}  // namespace skiff
