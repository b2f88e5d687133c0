#include "plan/shaped_plan.h"

#include <algorithm>
#include <cstring>

#include "core/align.h"
#include "core/error_capture.h"
#include "core/extents.h"
#include "ops/build_ops.h"
#include "ops/op.h"
#include "ops/quantized.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"

namespace skiff {
namespace {

/// Known i32 values that a shape rule may ask for, widened into a buffer; i64 values are read where they lie.
constexpr int64_t kMaxWidenedValues = 4 * kMaxRank;
/// What the shape program computes at first, and at most.
constexpr size_t kFirstValueBytes = 4096;
constexpr size_t kMaxValueBytes = size_t{1} << 26;
/// How much more than necessary an arena may take before the planner looks for a better one.
constexpr double kArenaSlack = 0.05;

/// The stored extents, of which -1 fits everything.
bool Matches(const TensorView& stored, DType dtype, const Shape& shape) {
  if (stored.dtype != dtype || stored.shape.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (stored.shape[i] >= 0 && stored.shape[i] != shape[i]) return false;
  }
  return true;
}

bool SameType(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && SameQuantization(a.quantization, b.quantization);
}
/// What a body returns is known when it has run.
bool IsLate(const ShapedPlan& body, size_t output) { return body.plan().IsLate(body.plan().outputs[output]); }
/// By what is known of its shape so far.
bool MayHaveType(const ShapedPlan& body, size_t output, const TensorView& type) {
  const TensorView& stored = body.plan().tensors[static_cast<size_t>(body.plan().outputs[output])].view;
  return Matches(stored, type.dtype, type.shape) && SameQuantization(stored.quantization, type.quantization);
}
bool IsCondition(const TensorView& view) { return view.dtype == DType::kBool && view.shape.elements() == 1; }

InferOutput<int64_t> TypeOf(const TensorView& view) {
  InferOutput<int64_t> type{RuleDType(view.dtype, view.quantization), view.shape.rank()};
  for (int i = 0; i < type.rank; ++i) type.extents[i] = view.shape[i];
  return type;
}

/// Of what a body will return: open extents are 0 until it has run.
InferOutput<int64_t> TypeBeforeRun(const TensorView& stored) {
  InferOutput<int64_t> type = TypeOf(stored);
  for (int axis = 0; axis < type.rank; ++axis)
    type.extents[axis] = type.extents[axis] < 0 ? 0 : type.extents[axis];
  return type;
}

}  // namespace

Status ShapedPlan::Operands::Allocate(size_t most_inputs, size_t most_outputs) {
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(most_inputs));
  SKIFF_RETURN_IF_ERROR(outputs.Allocate(most_outputs));
  SKIFF_RETURN_IF_ERROR(widened.Allocate(most_inputs * kMaxWidenedValues));
  return views.Allocate(most_inputs + most_outputs);
}

Status ShapedPlan::Init(const PlanData& plan, bool keep_apart) {
  Needs needs;
  SKIFF_RETURN_IF_ERROR(Init(plan, keep_apart, needs));
  return own_operands_.Allocate(needs.most_inputs, needs.most_outputs);
}

Status ShapedPlan::Init(const PlanData& plan, bool keep_apart, Needs& needs) {
  plan_ = &plan;
  keep_apart_ = keep_apart;
  const size_t count = plan.tensors.size();
  SKIFF_RETURN_IF_ERROR(tensors_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(offsets_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(buffer_of_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(input_of_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(places_.Allocate(count));
  for (size_t i = 0; i < count; ++i) {
    tensors_[i] = plan.tensors[i];
    input_of_[i] = buffer_of_[i] = -1;
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    input_of_[static_cast<size_t>(plan.inputs[i])] = static_cast<int32_t>(i);
  for (size_t i = 0; i < count; ++i) {
    const int32_t root = plan.placements[i].view_of;
    tensors_[i].in_input = root != TensorPlacement::kRoot && input_of_[static_cast<size_t>(root)] >= 0;
  }
  SKIFF_RETURN_IF_ERROR(FindLifetimes(&needs.pairs_left));
  for (const PlanNode& node : plan.nodes) {
    needs.most_inputs = std::max(needs.most_inputs, node.inputs.size());
    needs.most_outputs = std::max(needs.most_outputs, node.outputs.size());
  }
  if (kBuildHasBodies) SKIFF_RETURN_IF_ERROR(bodies_.Allocate(plan.bodies.size()));
  for (size_t i = 0; kBuildHasBodies && i < bodies_.size(); ++i)
    SKIFF_RETURN_IF_ERROR(bodies_[i].Init(plan.bodies[i], false, needs));
  return OkStatus();
}

/// The buffers that are planned at each new shape, and when each is needed; that does not depend on the
/// shape.
Status ShapedPlan::FindLifetimes(size_t* pairs_left) {
  const PlanData& plan = *plan_;
  if (keep_apart_ || !plan.unbounded()) return OkStatus();
  size_t buffers = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (RootOf(index) == index && !Elsewhere(index)) buffer_of_[i] = static_cast<int32_t>(buffers++);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    // What stays in a scratch needs it for as long.
    const bool in_scratch = plan.late[i] && plan.placements[i].view_of != TensorPlacement::kRoot;
    if (in_scratch || !Elsewhere(static_cast<int32_t>(i)))
      buffer_of_[i] = buffer_of_[static_cast<size_t>(RootOf(static_cast<int32_t>(i)))];
  }
  SKIFF_RETURN_IF_ERROR(lifetimes_.Allocate(buffers));
  SKIFF_RETURN_IF_ERROR(buffer_offsets_.Allocate(buffers));
  for (BufferLifetime& lifetime : lifetimes_) lifetime = {0, INT32_MAX, 0};
  const auto use = [&](int32_t tensor, int32_t at) {
    const int32_t buffer = tensor < 0 ? -1 : buffer_of_[static_cast<size_t>(tensor)];
    if (buffer < 0) return;
    BufferLifetime& lifetime = lifetimes_[static_cast<size_t>(buffer)];
    lifetime.first = at < lifetime.first ? at : lifetime.first;
    lifetime.last = at > lifetime.last ? at : lifetime.last;
  };
  for (uint32_t n = plan.shape_node_count; n < plan.nodes.size(); ++n) {
    for (int32_t tensor : plan.nodes[n].inputs) use(tensor, static_cast<int32_t>(n));
    for (int32_t tensor : plan.nodes[n].outputs) use(tensor, static_cast<int32_t>(n));
  }
  for (int32_t tensor : plan.outputs) use(tensor, static_cast<int32_t>(plan.nodes.size()));
  return planner_.Init(lifetimes_, pairs_left);
}

/// The tensor whose buffer holds this one in an unbounded plan, or that it is a view of.
int32_t ShapedPlan::RootOf(int32_t tensor) const {
  const auto follow = [this](int32_t at, int32_t TensorPlacement::*link) {
    const int32_t next = plan_->placements[static_cast<size_t>(at)].*link;
    return next == TensorPlacement::kRoot ? at : next;
  };
  const int32_t root = follow(tensor, &TensorPlacement::view_of);
  // A chain of in-place steps names its first buffer; longer chains are cut by the loader's checks.
  return follow(root, &TensorPlacement::buffer);
}

bool ShapedPlan::Elsewhere(int32_t tensor) const {
  const auto i = static_cast<size_t>(tensor);
  return tensors_[i].constant || plan_->IsShapeValue(tensor) || plan_->IsLate(tensor) ||
         (plan_->inputs_outside && input_of_[i] >= 0) || InState(tensor);
}

/// Kept apart, a scatter writes a copy of its variable.
bool ShapedPlan::InState(int32_t tensor) const {
  const int32_t state = plan_->StateOf(tensor);
  return state != TensorPlacement::kRoot && (!keep_apart_ || state == tensor);
}

void ShapedPlan::Describe(int32_t index, size_t slot) {
  const PlanTensor& tensor = tensors_[static_cast<size_t>(index)];
  InferInput<int64_t>& input = operands_->inputs[slot];
  input = {};
  input.present = true;
  input.dtype = RuleDType(tensor.view.dtype, tensor.view.quantization);
  input.rank = tensor.view.shape.rank();
  for (int i = 0; i < input.rank; ++i) input.extents[i] = tensor.view.shape[i];
  const int32_t port = input_of_[static_cast<size_t>(index)];
  const bool known = tensor.constant || plan_->IsShapeValue(index) ||
                     (port >= 0 && plan_->shape_inputs[static_cast<size_t>(port)]);
  if (!known || tensor.view.quantization != nullptr) return;
  input.constant = tensor.view.data;
  const int64_t count = tensor.view.shape.elements();
  if (tensor.view.dtype == DType::kI64) {
    input.values = tensor.view.as<const int64_t>();
    input.value_count = count;
  } else if (tensor.view.dtype == DType::kI32 && count <= kMaxWidenedValues) {
    int64_t* values = operands_->widened.data() + slot * kMaxWidenedValues;
    for (int64_t i = 0; i < count; ++i) values[i] = tensor.view.as<const int32_t>()[i];
    input.values = values;
    input.value_count = count;
  }
}

Status ShapedPlan::StoreTypes(uint32_t index, PlanMessage& message) {
  const PlanNode& node = plan_->nodes[index];
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const InferOutput<int64_t>& inferred = operands_->outputs[i];
    const auto at = static_cast<size_t>(node.outputs[i]);
    const TensorView& stored = plan_->tensors[at].view;
    const skiff::Shape shape(inferred.extents, inferred.rank);
    const bool same_dtype =
        stored.quantization != nullptr ? IsFloat(inferred.dtype) : inferred.dtype == stored.dtype;
    if (!same_dtype || !Matches(stored, stored.dtype, shape)) {
      return message.Invalid("node %u '%s' (%s): output %zu is stored as %s %s, the operator makes %s %s",
                             index, node.name, node.op->name, i, DTypeName(stored.dtype),
                             ShapeText(stored.shape).c_str(), DTypeName(inferred.dtype),
                             ShapeText(shape).c_str());
    }
    if (const char* why = WhyNoTensor(stored.dtype, shape); why != nullptr) {
      return message.Invalid("node %u '%s' (%s): output %zu would be %s, which %s", index, node.name,
                             node.op->name, i, ShapeText(shape).c_str(), why);
    }
    TensorView& view = tensors_[at].view;
    view.shape = shape;
    view.row_stride = plan_->placements[at].row_stride != 0 ? plan_->placements[at].row_stride : shape.last();
  }
  return OkStatus();
}

/// Runs a node of the shape program. Its results lie in values_, which the caller has made large enough.
Status ShapedPlan::ComputeValues(uint32_t index, PlanMessage& message) {
  if (operands_->cancelled != nullptr && operands_->cancelled->load(std::memory_order_relaxed))
    return Status(StatusCode::kCancelled);
  const PlanNode& node = plan_->nodes[index];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    operands_->views[i] =
        node.inputs[i] < 0 ? TensorView() : tensors_[static_cast<size_t>(node.inputs[i])].view;
  }
  bool empty = true;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    TensorView& view = tensors_[static_cast<size_t>(node.outputs[i])].view;
    empty = empty && view.shape.elements() == 0;
    const uint64_t end = values_used_ + AlignUp(static_cast<uint64_t>(view.bytes()));
    if (end > kMaxValueBytes)
      return message.Invalid("node %u '%s' (%s) makes too many numbers for a shape", index, node.name,
                             node.op->name);
    values_too_small_ = end + kReadableTail > values_.size();  // Delegates read them as well.
    if (values_too_small_) return Status(StatusCode::kOutOfMemory);
    view.data = values_.data() + values_used_;
    values_used_ = end;
    operands_->views[node.inputs.size() + i] = view;
  }
  if (empty) return OkStatus();  // No kernel is asked for nothing.
  ErrorCapture capture;
  const KernelArgs args{node.op->code,
                        node.attrs,
                        {operands_->views.data(), node.inputs.size()},
                        {operands_->views.data() + node.inputs.size(), node.outputs.size()}};
  const Status status = node.op->kernel(args);
  if (status.ok()) return status;
  return message.Invalid("node %u '%s' (%s): %s", index, node.name, node.op->name, capture.message());
}

Span<ShapedPlan> ShapedPlan::BodiesOf(uint32_t node) {
  const Span<const PlanData> bodies = plan_->nodes[node].bodies;
  return {bodies_.data() + (bodies.data() - plan_->bodies.data()), bodies.size()};
}

/// Shapes the bodies of a node at its inputs. Fills operands_->outputs.
Status ShapedPlan::InferBodies(uint32_t index, PlanMessage& message) {
  const PlanNode& node = plan_->nodes[index];
  const size_t first = FirstBodyInput(node.op->code);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!tensors_[static_cast<size_t>(node.inputs[i])].view.dense())
      return message.Invalid("node %u '%s' (%s): input %zu is strided", index, node.name, node.op->name, i);
  }
  uint64_t scratch = 0;
  for (ShapedPlan& body : BodiesOf(index)) {
    PlanMessage inner;
    // Anew for each: a body writes its own operands over them.
    for (size_t i = first; i < node.inputs.size(); ++i)
      operands_->views[i] = tensors_[static_cast<size_t>(node.inputs[i])].view;
    const Status status =
        body.Shape({operands_->views.data() + first, node.inputs.size() - first}, *operands_, inner);
    if (!status.ok() && status.code() != StatusCode::kInvalidModel) return status;
    if (!status.ok())
      return message.Invalid("in a body of node %u '%s' (%s): %.400s", index, node.name, node.op->name,
                             inner.text);
    scratch = body.arena_bytes() > scratch ? body.arena_bytes() : scratch;
  }
  operands_->outputs[node.outputs.size() - 1] = {DType::kU8, 1, {static_cast<int64_t>(scratch)}};
  return CompareBodies(index, message);
}

/// Its bodies are shaped in the run. Loop variables that are not late keep their shapes.
Status ShapedPlan::InferShapedInRun(uint32_t index, PlanMessage& message) {
  const PlanNode& node = plan_->nodes[index];
  for (const int32_t input : node.inputs) {
    if (!tensors_[static_cast<size_t>(input)].view.dense())
      return message.Invalid("node %u '%s' (%s) reads a strided tensor", index, node.name, node.op->name);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool stays = i < LoopVariables(node) && !plan_->IsLate(node.outputs[i]);
    operands_->outputs[i] = stays ? TypeOf(tensors_[static_cast<size_t>(node.inputs[i])].view)
                                  : TypeBeforeRun(plan_->tensors[static_cast<size_t>(node.outputs[i])].view);
  }
  return OkStatus();
}

/// Whether the bodies return what the node needs of them.
Status ShapedPlan::CompareBodies(uint32_t index, PlanMessage& message) {
  const PlanNode& node = plan_->nodes[index];
  const bool choose = node.op->code == OpCode::kIf;
  const Span<ShapedPlan> bodies = BodiesOf(index);
  const auto input = [&](size_t i) -> const TensorView& {
    return tensors_[static_cast<size_t>(node.inputs[i])].view;
  };
  const auto output = [](ShapedPlan& body, size_t i) -> const TensorView& {
    return body.tensors()[static_cast<size_t>(body.plan().outputs[i])].view;
  };
  if (!IsCondition(choose ? input(0) : output(bodies[0], 0)))
    return message.Invalid("node %u '%s' (%s): the condition is no bool of one element", index, node.name,
                           node.op->name);
  for (size_t i = 0; i < BodyResults(node).size(); ++i) {
    if (plan_->IsLate(node.outputs[i])) {
      operands_->outputs[i] = TypeBeforeRun(plan_->tensors[static_cast<size_t>(node.outputs[i])].view);
      continue;
    }
    const bool other = choose && IsLate(bodies[0], i);
    const TensorView& expected = choose ? output(bodies[other ? 1 : 0], i) : input(i);
    const TensorView& got = output(bodies[other ? 0 : 1], i);
    const bool same = IsLate(bodies[other ? 0 : 1], i) ? MayHaveType(bodies[other ? 0 : 1], i, expected)
                                                       : SameType(expected, got);
    if (!same) {
      return message.Invalid("node %u '%s' (%s): output %zu is %s %s %s and %s %s %s", index, node.name,
                             node.op->name, i, DTypeName(expected.dtype), ShapeText(expected.shape).c_str(),
                             choose ? "in one branch" : "before the loop", DTypeName(got.dtype),
                             ShapeText(got.shape).c_str(), choose ? "in the other" : "after an iteration");
    }
    operands_->outputs[i] = TypeOf(expected);
  }
  return OkStatus();
}

Status ShapedPlan::InferNode(uint32_t index, PlanMessage& message) {
  const PlanNode& node = plan_->nodes[index];
  if (HasBodies(node)) {
    SKIFF_RETURN_IF_ERROR(IsShapedInRun(*plan_, node) ? InferShapedInRun(index, message)
                                                      : InferBodies(index, message));
    return StoreTypes(index, message);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    operands_->inputs[i] = {};
    if (node.inputs[i] >= 0) Describe(node.inputs[i], i);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) operands_->outputs[i] = {};
  char reason[InferContext<int64_t>::kMessageBytes] = "";
  InferContext<int64_t> context{node.op->code,
                                node.attrs,
                                {operands_->inputs.data(), node.inputs.size()},
                                {operands_->outputs.data(), node.outputs.size()},
                                reason};
  if (!node.op->infer(context).ok())
    return message.Invalid("node %u '%s' (%s): %s", index, node.name, node.op->name, reason);
  SKIFF_RETURN_IF_ERROR(StoreTypes(index, message));
  return kBuildHasKernels && index < plan_->shape_nodes() ? ComputeValues(index, message) : OkStatus();
}

Status ShapedPlan::TakeInputs(Span<const TensorView> inputs, PlanMessage& message) {
  for (size_t i = 0; i < plan_->inputs.size(); ++i) {
    const auto at = static_cast<size_t>(plan_->inputs[i]);
    const TensorView& stored = plan_->tensors[at].view;
    if (!Matches(stored, inputs[i].dtype, inputs[i].shape)) {
      return message.Invalid("input %zu is stored as %s %s and is %s %s", i, DTypeName(stored.dtype),
                             ShapeText(stored.shape).c_str(), DTypeName(inputs[i].dtype),
                             ShapeText(inputs[i].shape).c_str());
    }
    tensors_[at].view = TensorView(inputs[i].data, stored.dtype, inputs[i].shape, stored.quantization);
  }
  return OkStatus();
}

Status ShapedPlan::Infer(PlanMessage& message) {
  values_used_ = 0;
  values_too_small_ = false;
  for (const uint32_t node : plan_->infer_order) SKIFF_RETURN_IF_ERROR(InferNode(node, message));
  return OkStatus();
}

Status ShapedPlan::Shape(Span<const TensorView> inputs, Operands& operands, PlanMessage& message) {
  operands_ = &operands;
  SKIFF_RETURN_IF_ERROR(TakeInputs(inputs, message));
  Status status = Infer(message);
  while (BuildHas(Feature::kShapes) && values_too_small_) {
    const size_t wanted = values_.empty() ? kFirstValueBytes : values_.size() * 2;
    SKIFF_RETURN_IF_ERROR(values_.Allocate(wanted + kAlignment));
    status = Infer(message);
  }
  SKIFF_RETURN_IF_ERROR(status);
  return Place(message);
}

/// Lifetimes are those of the plan, sizes those of this shape.
Status ShapedPlan::PlanBuffers() {
  for (BufferLifetime& lifetime : lifetimes_) lifetime.bytes = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (buffer_of_[i] < 0 || plan_->placements[i].view_of != TensorPlacement::kRoot) continue;
    BufferLifetime& lifetime = lifetimes_[static_cast<size_t>(buffer_of_[i])];
    const auto bytes = static_cast<uint64_t>(tensors_[i].view.bytes());
    lifetime.bytes = bytes > lifetime.bytes ? bytes : lifetime.bytes;
  }
  arena_bytes_ = planner_.Plan(lifetimes_, kArenaSlack, buffer_offsets_);
  if (arena_bytes_ > static_cast<uint64_t>(kMaxTensorBytes))
    return Fail(StatusCode::kOutOfMemory, "the tensors of this shape need too much memory together");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (buffer_of_[i] >= 0) offsets_[i] = buffer_offsets_[static_cast<size_t>(buffer_of_[i])];
  }
  return OkStatus();
}

Status ShapedPlan::KeepApart() {
  arena_bytes_ = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (plan_->placements[i].view_of != TensorPlacement::kRoot || Elsewhere(static_cast<int32_t>(i)))
      continue;
    offsets_[i] = arena_bytes_;
    arena_bytes_ += AlignUp(static_cast<uint64_t>(tensors_[i].view.bytes()));
    if (arena_bytes_ > static_cast<uint64_t>(kMaxTensorBytes))
      return Fail(StatusCode::kOutOfMemory, "keeping every intermediate tensor needs too much memory");
  }
  return OkStatus();
}

Status ShapedPlan::Place(PlanMessage& message) {
  if (keep_apart_) {
    SKIFF_RETURN_IF_ERROR(KeepApart());
  } else if (plan_->unbounded()) {
    SKIFF_RETURN_IF_ERROR(PlanBuffers());
  } else {
    for (size_t i = 0; i < tensors_.size(); ++i) offsets_[i] = plan_->placements[i].offset;
    arena_bytes_ = plan_->arena_bytes;
  }
  return CheckPlacement({*plan_, tensors_, offsets_, input_of_, arena_bytes_, keep_apart_}, places_, message);
}

uint64_t ShapedPlan::value_bytes() const {
  uint64_t bytes = values_.size();
  for (const ShapedPlan& body : bodies_) bytes += body.value_bytes();
  return bytes;
}

void ShapedPlan::Locate(unsigned char* arena, Span<void* const> inputs) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (tensors_[i].constant || plan_->IsShapeValue(index) || plan_->IsLate(index)) continue;
    const TensorPlacement& placement = plan_->placements[i];
    const bool view = placement.view_of != TensorPlacement::kRoot;
    const auto root = view ? static_cast<size_t>(placement.view_of) : i;
    const auto state = static_cast<int32_t>(root);
    const auto home = InState(state) ? static_cast<size_t>(plan_->StateOf(state)) : root;
    void* const own = input_of_[home] >= 0 ? inputs[static_cast<size_t>(input_of_[home])] : nullptr;
    // What is empty has no place, whatever the plan says.
    const uint64_t place = tensors_[root].view.shape.elements() > 0 ? offsets_[root] : 0;
    auto* base = own != nullptr ? static_cast<unsigned char*>(own) : arena + place;
    const bool inside = view && tensors_[i].view.shape.elements() > 0;
    tensors_[i].view.data = base + (inside ? placement.offset : 0);
  }
}

}  // namespace skiff
