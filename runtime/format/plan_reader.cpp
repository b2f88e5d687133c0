// Plans, with the bodies in their nodes.
#include "format/plan_reader.h"

#include <algorithm>

#include "core/checksum.h"
#include "core/widen.h"
#include "format/attr_decoder.h"
#include "ops/build_ops.h"
#include "ops/custom.h"
#include "ops/quantized.h"
#include "plan/body_ports.h"
#include "plan/limits.h"
#include "plan/shaped_plan.h"

namespace skiff {
namespace {

/// Which of the file's weights they are, and whether they were widened. The hash that the file states for
/// them is no more than its word. Spread over all bits, because delegates put several together.
ContentHash IdOfWeights(uint32_t blob, bool widened) {
  const uint64_t low[] = {blob, widened ? 3u : 1u};
  const uint64_t high[] = {blob, widened ? 4u : 2u};
  return {Checksum(low, sizeof(low)), Checksum(high, sizeof(high))};
}

/// Whether shaping the plan's bodies may run kernels, on numbers of any size.
bool ComputesInBodies(const PlanData& plan) {
  for (const PlanData& body : plan.bodies) {
    if (!body.exact() || ComputesInBodies(body)) return true;
  }
  return false;
}

/// A plan of one shape is checked now, unless a file could ask for memory and time without limits by that;
/// others at every new shape.
Status CheckShape(const PlanData& plan, PlanMessage& message) {
  FixedArray<TensorView> inputs;
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(plan.inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = plan.tensors[static_cast<size_t>(plan.inputs[i])].view;
  ShapedPlan shaped;
  SKIFF_RETURN_IF_ERROR(shaped.Init(plan, false));
  return shaped.Shape(inputs, message);
}

Status ReadRanges(CheckedFile& file, const format::Plan& from, PlanData& to) {
  if (SizeOf(from.ranges()) == 0) return OkStatus();
  SKIFF_RETURN_IF_ERROR(file.Need(Feature::kShapes));
  SKIFF_RETURN_IF_ERROR(to.ranges.Allocate(SizeOf(from.ranges())));
  for (uint32_t i = 0; i < to.ranges.size(); ++i) {
    const format::Range& range = *from.ranges()->Get(i);
    if (range.symbol() >= SizeOf(file.model->symbols()) || range.min() < 0 || range.max() < range.min())
      return file.Invalid("range %u of a plan is of no dimension, or empty", i);
    to.ranges[i] = {range.symbol(), range.min(), range.max()};
  }
  return OkStatus();
}

Status ReadConstant(CheckedFile& file, uint32_t index, const format::Tensor& from, PlanTensor& to,
                    TensorPlacement& placement) {
  const auto blob_index = static_cast<uint32_t>(from.blob());
  if (from.blob() < 0 || blob_index >= SizeOf(file.model->blobs()))
    return file.Invalid("tensor %u has no weights", index);
  const format::Blob& blob = *file.model->blobs()->Get(blob_index);
  const bool narrow = from.stored() != 0;
  TensorView stored = to.view;
  if (narrow) stored.dtype = static_cast<DType>(from.stored());
  if (DTypeBits(stored.dtype) == 0 || static_cast<uint64_t>(stored.bytes()) != blob.size() ||
      placement.row_stride != 0 || placement.view_of != TensorPlacement::kRoot) {
    return file.Invalid("the shape of constant %u does not fit its weights", index);
  }
  to.constant = true;
  to.hash = IdOfWeights(blob_index, narrow);
  stored.data = to.view.data = file.WeightsOf(blob);
  if (!narrow) return OkStatus();
  SKIFF_RETURN_IF_ERROR(file.Need(Feature::kNarrowWeights));
  SKIFF_RETURN_IF_ERROR(
      file.ReadQuantization(from.stored_quantization(), stored.dtype, stored.shape, &stored.quantization));
  if (to.view.dtype != DType::kF32 || !CanWiden(stored.dtype, stored.quantization != nullptr))
    return file.Invalid("constant %u is %s and stored as %s%s, from which it cannot be made", index,
                        DTypeName(to.view.dtype), stored.quantization != nullptr ? "quantised " : "",
                        DTypeName(stored.dtype));
  placement.stored = stored.dtype;
  placement.stored_quantization = stored.quantization;
  Result<WideConstant*> wide = file.wide_weights->Find(blob_index, stored);
  if (wide.ok()) {
    to.wide = *wide;
    to.view.data = to.wide->elements();
    return OkStatus();
  }
  if (wide.status().code() != StatusCode::kInvalidModel) return wide.status();
  return file.Invalid(
      "constant %u: its weights are stored in two forms, or the file's weights would take more than %llu "
      "times their bytes",
      index, static_cast<unsigned long long>(WideWeights::kMostGrowth));
}

Status ReadTensors(CheckedFile& file, const format::Plan& from, PlanData& to) {
  SKIFF_RETURN_IF_ERROR(to.tensors.Allocate(SizeOf(from.tensors())));
  SKIFF_RETURN_IF_ERROR(to.placements.Allocate(to.tensors.size()));
  for (uint32_t i = 0; i < to.tensors.size(); ++i) {
    const format::Tensor& tensor = *from.tensors()->Get(i);
    PlanTensor& out = to.tensors[i];
    TensorPlacement& placement = to.placements[i];
    DType dtype;
    Shape shape;
    const bool may_vary = !to.exact() && tensor.blob() < 0;
    SKIFF_RETURN_IF_ERROR(file.ReadType(tensor.dtype(), tensor.extents(), may_vary, &dtype, &shape));
    out.name = TextOf(tensor.name());
    out.view = TensorView(nullptr, dtype, shape);
    if (tensor.row_stride() < 0 || tensor.row_stride() > kMaxTensorBytes)
      return file.Invalid("tensor %u has a bad stride", i);
    placement.row_stride = tensor.row_stride();
    placement.buffer = tensor.buffer();
    placement.view_of = tensor.view_of();
    placement.offset = tensor.offset();
    placement.source = TextOf(tensor.source());
    if (SizeOf(tensor.source_perm()) > kMaxRank) return file.Invalid("tensor %u has a bad permutation", i);
    for (uint32_t j = 0; j < SizeOf(tensor.source_perm()); ++j) {
      const uint8_t axis = tensor.source_perm()->Get(j);
      if (axis >= kMaxRank) return file.Invalid("tensor %u has a bad permutation", i);
      placement.source_perm[placement.source_perm.size++] = axis;
    }
    if (tensor.blob() >= 0 || tensor.stored() != 0 || tensor.stored_quantization() >= 0) {
      SKIFF_RETURN_IF_ERROR(ReadConstant(file, i, tensor, out, placement));
    } else if (DTypeBits(dtype) < 8) {
      return file.Invalid("tensor %u is %s, which only constants can be", i, DTypeName(dtype));
    }
    SKIFF_RETURN_IF_ERROR(file.ReadQuantization(tensor.quantization(), dtype, shape, &out.view.quantization));
  }
  return OkStatus();
}

Status ReadIndices(CheckedFile& file, const flatbuffers::Vector<int32_t>* from, uint32_t node,
                   int32_t smallest, const PlanData& plan, int32_t** next, Span<const int32_t>* to) {
  *to = {*next, SizeOf(from)};
  for (uint32_t i = 0; i < SizeOf(from); ++i) {
    const int32_t index = from->Get(i);
    if (index < smallest || index >= static_cast<int64_t>(plan.tensors.size())) {
      return file.Invalid("node %u refers to tensor %d of %zu", node, index, plan.tensors.size());
    }
    *(*next)++ = index;
  }
  return OkStatus();
}

Status UnknownOperator(CheckedFile& file, uint16_t op, uint32_t node, const char* name) {
  if (const char* absent = OpName(static_cast<OpCode>(op)))
    return Fail(StatusCode::kUnsupported,
                "%s: node %u '%s' is a %s, which this build of Skiff leaves out; %s", file.name, node, name,
                absent, kRebuildHint);
  return Fail(StatusCode::kUnsupported,
              "%s: node %u uses operator %u, which this build does not know; update Skiff", file.name, node,
              op);
}

/// Finds the operator that a Custom node names; none is no error yet.
Status ResolveCustom(CheckedFile& file, uint32_t index, PlanData& plan) {
  const PlanNode& node = plan.nodes[index];
  const auto constant = [&](size_t input) {
    const PlanTensor& tensor = plan.tensors[static_cast<size_t>(node.inputs[input])];
    return tensor.constant ? tensor.view : TensorView();
  };
  const CustomText name = CustomNameOf(constant(kCustomName));
  const TensorView options = constant(kCustomOptions);
  if (name.size == 0 || options.dtype != DType::kU8 || options.shape.rank() != 1)
    return file.Invalid("node %u (Custom) lacks its name or options", index);
  for (const CustomOperator& op : file.custom_operators) {
    if (name.Is(op.name)) plan.attrs[index].as<CustomAttrs>().registered = &op;
  }
  return OkStatus();
}

Status ReadNodes(CheckedFile& file, const format::Plan& from, PlanData& to) {
  const size_t count = SizeOf(from.nodes());
  size_t indices = 0;
  for (uint32_t i = 0; i < count; ++i) {
    indices += SizeOf(from.nodes()->Get(i)->inputs()) + SizeOf(from.nodes()->Get(i)->outputs());
  }
  SKIFF_RETURN_IF_ERROR(file.CountIndices(indices));
  SKIFF_RETURN_IF_ERROR(to.nodes.Allocate(count));
  SKIFF_RETURN_IF_ERROR(to.attrs.Allocate(count));
  SKIFF_RETURN_IF_ERROR(to.indices.Allocate(indices));
  int32_t* next = to.indices.data();
  for (uint32_t i = 0; i < count; ++i) {
    const format::Node& node = *from.nodes()->Get(i);
    PlanNode& out = to.nodes[i];
    out.op = FindOp(static_cast<OpCode>(node.op()));
    out.name = TextOf(node.name());
    if (out.op == nullptr) return UnknownOperator(file, node.op(), i, out.name);
    const size_t inputs = SizeOf(node.inputs());
    const size_t outputs = SizeOf(node.outputs());
    const bool arity = inputs >= out.op->min_inputs &&
                       (out.op->max_inputs == kVariadic || inputs <= out.op->max_inputs) &&
                       (out.op->outputs == kVariadic ? outputs >= 1 : outputs == out.op->outputs);
    if (inputs + outputs > kMaxOperands)
      return file.Invalid("node %u (%s) has more than %zu operands", i, out.op->name, kMaxOperands);
    if (!arity)
      return file.Invalid("node %u (%s) has %zu inputs and %zu outputs", i, out.op->name, inputs, outputs);
    SKIFF_RETURN_IF_ERROR(ReadIndices(file, node.inputs(), i, -1, to, &next, &out.inputs));
    SKIFF_RETURN_IF_ERROR(ReadIndices(file, node.outputs(), i, 0, to, &next, &out.outputs));
    for (size_t j = 0; j < out.op->min_inputs; ++j) {
      if (out.inputs[j] < 0) return file.Invalid("node %u (%s) lacks input %zu", i, out.op->name, j);
    }
    InitAttrs(out.op->code, to.attrs[i]);
    if (!DecodeAttrs(out.op->code, node.attrs(), to.attrs[i]))
      return file.Invalid("node %u (%s) has a bad attribute", i, out.op->name);
    out.attrs = &to.attrs[i];
    if (BuildHas(OpCode::kCustom) && out.op->code == OpCode::kCustom)
      SKIFF_RETURN_IF_ERROR(ResolveCustom(file, i, to));
  }
  return OkStatus();
}

/// The first output that is an input, or a view of one; -1 when there is none.
int OutputInInput(const PlanData& plan) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const int32_t root = plan.placements[static_cast<size_t>(plan.outputs[i])].view_of;
    for (const int32_t input : plan.inputs) {
      if (plan.outputs[i] == input || root == input) return static_cast<int>(i);
    }
  }
  return -1;
}

Status ReadBody(CheckedFile& file, const format::Plan& from, uint32_t index, uint32_t body,
                const PlanData& plan, PlanData& to) {
  const PlanNode& node = plan.nodes[index];
  const size_t first = FirstBodyInput(node.op->code);
  FixedArray<PortInfo> inputs;
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(node.inputs.size() - first));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t tensor = node.inputs[i + first];
    if (tensor < 0) return file.Invalid("node %u (%s) lacks input %zu", index, node.op->name, i + first);
    const TensorView& view = plan.tensors[static_cast<size_t>(tensor)].view;
    inputs[i].dtype = view.dtype;
    inputs[i].quantization = view.quantization;
    if (i >= LoopVariables(node)) continue;
    // What an iteration returns is copied to where the next one reads it.
    const TensorView& result = plan.tensors[static_cast<size_t>(node.outputs[i])].view;
    if (result.dtype != view.dtype || !SameQuantization(result.quantization, view.quantization))
      return file.Invalid("loop variable %zu of node %u (%s) has another type than its result", i, index,
                          node.op->name);
  }
  const bool asks = node.op->code == OpCode::kWhile && body == 0;
  FixedArray<PortInfo> outputs;
  SKIFF_RETURN_IF_ERROR(outputs.Allocate(asks ? 1 : BodyResults(node).size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].dtype = asks ? DType::kBool : plan.tensors[static_cast<size_t>(node.outputs[i])].view.dtype;
    if (!asks) outputs[i].quantization = plan.tensors[static_cast<size_t>(node.outputs[i])].view.quantization;
  }
  SKIFF_RETURN_IF_ERROR(ReadPlan(file, from, {inputs, outputs, true}, to));
  // The results are copied to where a While's loop variables lie, one after the other.
  if (OutputInInput(to) >= 0)
    return file.Invalid("an output of a body of node %u (%s) lies in an input", index, node.op->name);
  return OkStatus();
}

/// Operands of quantised tensors, which the operators must take.
Status CheckQuantizedNodes(CheckedFile& file, const PlanData& plan) {
  if (!BuildHas(Feature::kQuantization)) return OkStatus();
  FixedArray<TensorView> views;
  size_t most = 0;  // A file may have as many plans as tables.
  for (const PlanNode& node : plan.nodes) most = std::max(most, node.inputs.size() + node.outputs.size());
  SKIFF_RETURN_IF_ERROR(views.Allocate(most));
  for (uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    size_t count = 0;
    bool quantized = false;
    for (const Span<const int32_t> operands : {node.inputs, node.outputs}) {
      for (const int32_t operand : operands) {
        views[count] = operand < 0 ? TensorView() : plan.tensors[static_cast<size_t>(operand)].view;
        SKIFF_RETURN_IF_ERROR(file.CountScales(views[count].quantization));
        quantized |= views[count++].quantization != nullptr;
      }
    }
    char message[InferContext<int64_t>::kMessageBytes] = "";
    const Span<const TensorView> inputs(views.data(), node.inputs.size());
    const Span<const TensorView> outputs(views.data() + node.inputs.size(), node.outputs.size());
    if (!CheckQuantized(*node.op, *node.attrs, inputs, outputs, message).ok())
      return file.Invalid("node %u '%s' (%s): %s", i, node.name, node.op->name, message);
    if (quantized && i < plan.shape_node_count)
      return file.Invalid("node %u '%s' (%s) decides a shape and is quantised", i, node.name, node.op->name);
  }
  return OkStatus();
}

/// What the nodes with bodies run. Nothing is around a body but what the node passes it.
Status ReadBodies(CheckedFile& file, const format::Plan& from, PlanData& to) {
  size_t count = 0;
  for (uint32_t i = 0; i < to.nodes.size(); ++i) count += SizeOf(from.nodes()->Get(i)->bodies());
  SKIFF_RETURN_IF_ERROR(file.CountIndices(count));
  SKIFF_RETURN_IF_ERROR(to.bodies.Allocate(count));
  if (count > 0 && ++file.body_depth > kMaxBodyDepth)
    return file.Invalid("bodies lie in bodies more than %d deep", kMaxBodyDepth);
  PlanData* next = to.bodies.data();
  for (uint32_t i = 0; i < to.nodes.size(); ++i) {
    const format::Node& node = *from.nodes()->Get(i);
    PlanNode& out = to.nodes[i];
    const size_t bodies = SizeOf(node.bodies());
    if (bodies != (out.op->Is(kBodies) ? BodyCount(out.op->code) : 0))
      return file.Invalid("node %u (%s) has %zu bodies", i, out.op->name, bodies);
    if (bodies == 0) continue;
    if (out.outputs.size() < 2 || out.inputs.size() < FirstBodyInput(out.op->code) + LoopVariables(out))
      return file.Invalid("node %u (%s) has %zu inputs and %zu outputs", i, out.op->name, out.inputs.size(),
                          out.outputs.size());
    for (uint32_t b = 0; b < bodies; ++b)
      SKIFF_RETURN_IF_ERROR(ReadBody(file, *node.bodies()->Get(b), i, b, to, next[b]));
    out.bodies = {next, bodies};
    next += bodies;
  }
  if (count > 0) --file.body_depth;
  return OkStatus();
}

Status ReadSegments(CheckedFile& file, const format::Plan& from, PlanData& to) {
  SKIFF_RETURN_IF_ERROR(to.segments.Allocate(SizeOf(from.segments())));
  uint32_t covered = to.shape_node_count;
  if (covered > to.nodes.size()) return file.Invalid("the shape program is longer than the plan");
  for (uint32_t i = 0; i < to.segments.size(); ++i) {
    const format::Segment& segment = *from.segments()->Get(i);
    if (segment.begin() != covered || segment.end() <= segment.begin() || segment.end() > to.nodes.size()) {
      return file.Invalid("segment %u does not continue the one before it", i);
    }
    to.segments[i] = {static_cast<DelegateKind>(segment.delegate()), segment.begin(), segment.end()};
    covered = segment.end();
    const bool control = to.segments[i].delegate == DelegateKind::kControl;
    if (control && segment.end() - segment.begin() != 1)
      return file.Invalid("segment %u holds more than a node of the runtime itself", i);
  }
  return covered == to.nodes.size() ? OkStatus() : file.Invalid("the segments leave nodes out");
}

bool Agree(const Shape& tensor, const Shape& port) {
  bool agree = tensor.rank() == port.rank();
  for (int i = 0; agree && i < tensor.rank(); ++i)
    agree = tensor[i] == port[i] || tensor[i] < 0 || port[i] < 0;
  return agree;
}

Status ReadPlanPorts(CheckedFile& file, const flatbuffers::Vector<int32_t>* from, Span<const PortInfo> ports,
                     bool of_body, const PlanData& plan, FixedArray<int32_t>& to, const char* what) {
  if (SizeOf(from) != ports.size())
    return file.Invalid("a plan has %zu %ss, its %s %zu", SizeOf(from), what, of_body ? "node" : "signature",
                        ports.size());
  // Plans may share a list, and each output is compared with the inputs.
  SKIFF_RETURN_IF_ERROR(file.CountIndices(ports.size() * (1 + plan.inputs.size() / 64)));
  SKIFF_RETURN_IF_ERROR(to.Allocate(ports.size()));
  for (uint32_t i = 0; i < to.size(); ++i) {
    const int32_t index = from->Get(i);
    if (index < 0 || index >= static_cast<int64_t>(plan.tensors.size()))
      return file.Invalid("%s %u refers to tensor %d", what, i, index);
    const TensorView& view = plan.tensors[static_cast<size_t>(index)].view;
    const bool dense = plan.placements[static_cast<size_t>(index)].row_stride == 0;
    SKIFF_RETURN_IF_ERROR(file.CountScales(view.quantization));
    if (view.dtype != ports[i].dtype || (!of_body && !Agree(view.shape, ports[i].shape)) || !dense ||
        !SameQuantization(view.quantization, ports[i].quantization)) {
      return file.Invalid("the plan's tensor for %s '%s' has another type", what, ports[i].name);
    }
    to[i] = index;
  }
  return OkStatus();
}

void Pin(const PlanData& plan, int32_t tensor) {
  if (tensor < 0) return;
  if (WideConstant* wide = plan.tensors[static_cast<size_t>(tensor)].wide; wide != nullptr) wide->Pin();
}

/// Constants that are read before a delegate prepares its nodes, or by who is none: what decides shapes, what
/// bodies, callers and the shape rules of custom operators get.
void PinWhatIsReadOutsideOfSegments(const PlanData& plan) {
  for (uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    const bool custom = BuildHas(OpCode::kCustom) && node.op->code == OpCode::kCustom;
    const bool all = i < plan.shape_node_count || node.op->Is(kBodies) || custom;
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      if (all || node.op->NeedsValues(j)) Pin(plan, node.inputs[j]);
    }
  }
  for (const int32_t output : plan.outputs) Pin(plan, output);
}

}  // namespace

Status ReadPlan(CheckedFile& file, const format::Plan& from, const PlanPorts& ports, PlanData& to) {
  if (from.target() > static_cast<uint8_t>(Target::kVulkan))
    return file.Invalid("target %u is unknown", from.target());
  to.target = static_cast<Target>(from.target());
  if (from.kind() > format::BucketKind::Unbounded) {
    return Fail(StatusCode::kUnsupported,
                "%s: it has a plan of kind %d, which this build does not know; update Skiff", file.name,
                static_cast<int>(from.kind()));
  }
  to.kind = static_cast<BucketKind>(from.kind());
  to.inputs_outside = from.inputs_outside();
  to.shape_node_count = from.shape_node_count();
  if (to.kind != BucketKind::kExact || (to.inputs_outside && !ports.of_body))
    SKIFF_RETURN_IF_ERROR(file.Need(Feature::kShapes));
  if (to.kind == BucketKind::kUnbounded) SKIFF_RETURN_IF_ERROR(file.Need(Feature::kUnbounded));
  const bool exact = to.exact();
  if ((exact && to.shape_node_count != 0) || ((!exact || ports.of_body) && !to.inputs_outside))
    return file.Invalid("a plan's parts contradict its kind");
  SKIFF_RETURN_IF_ERROR(ReadRanges(file, from, to));
  if (from.arena_bytes() > static_cast<uint64_t>(kMaxTensorBytes))
    return file.Invalid("the arena's size overflows");
  to.arena_bytes = from.arena_bytes();
  SKIFF_RETURN_IF_ERROR(ReadTensors(file, from, to));
  SKIFF_RETURN_IF_ERROR(ReadNodes(file, from, to));
  SKIFF_RETURN_IF_ERROR(CheckQuantizedNodes(file, to));
  if (kBuildHasBodies) SKIFF_RETURN_IF_ERROR(ReadBodies(file, from, to));
  SKIFF_RETURN_IF_ERROR(ReadSegments(file, from, to));
  SKIFF_RETURN_IF_ERROR(
      ReadPlanPorts(file, from.inputs(), ports.inputs, ports.of_body, to, to.inputs, "input"));
  SKIFF_RETURN_IF_ERROR(
      ReadPlanPorts(file, from.outputs(), ports.outputs, ports.of_body, to, to.outputs, "output"));
  // An input's memory is the caller's, or goes where another shape needs more; an output stays until the next
  // run.
  if (const int output = ports.of_body ? -1 : OutputInInput(to); output >= 0)
    return file.Invalid("output '%s' lies in an input", ports.outputs[static_cast<size_t>(output)].name);
  if (BuildHas(Feature::kNarrowWeights)) PinWhatIsReadOutsideOfSegments(to);
  PlanMessage message;
  Status status = OrderPlan(to, message);
  if (status.ok()) status = FindStates(to, ports, message);
  if (status.ok() && exact && !ports.of_body && !ComputesInBodies(to)) status = CheckShape(to, message);
  return status.code() == StatusCode::kInvalidModel ? file.Invalid("%s", message.text) : status;
}

}  // namespace skiff
