#include "graph/evaluate.h"

#include <algorithm>

#include "core/error_capture.h"
#include "core/extents.h"
#include "eager/quantized.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/evaluate_within.h"
#include "graph/node_types.h"
#include "graph/op_steps.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff {
namespace {

/// No tensor that a graph makes may be larger than this; shape arithmetic gone wrong ends here instead of in
/// bad_alloc.
constexpr int64_t kMaxHostBytes = int64_t{1} << 40;

InferInput<int64_t> DescribeInput(const TensorData& data, std::vector<int64_t>& values) {
  InferInput<int64_t> input;
  input.present = true;
  input.dtype = RuleDType(data.dtype(), data.quantization().get());
  input.rank = data.shape().rank();
  std::copy(data.shape().begin(), data.shape().end(), input.extents);
  if (data.quantization()) return input;
  input.constant = data.data();
  if (!IsFloat(data.dtype())) {
    values = data.ToInts();
    input.values = values.data();
    input.value_count = data.elements();
  }
  return input;
}

/// Of a result without a declared type: that of what is moved, or what the rule says.
DeclaredType TypeOfMoved(OpCode op, const AttrStorage& attrs, const std::vector<const TensorData*>& inputs,
                         DType rule) {
  const bool moves = QuantizedUseOf(op) == QuantizedUse::kMoves && inputs[0]->quantization() != nullptr;
  Quantization moved;
  if (!moves || !MovedQuantization(op, attrs, *inputs[0]->quantization(), inputs[0]->shape().rank(), &moved))
    return {rule, nullptr};
  return {inputs[0]->dtype(), AlongAxis(inputs[0]->quantization(), moved.axis)};
}

/// Kernels read as many scales as the shape asks for.
void CheckQuantization(const DeclaredType& type, const Shape& shape, const std::string& speaker,
                       size_t output) {
  const char* defect = QuantizationDefect(*type.quantization, type.dtype, shape);
  if (defect != nullptr)
    Throw(StatusCode::kInvalidModel, "{}: the quantisation of output {}, {}{}, is wrong: {}", speaker, output,
          DTypeName(type.dtype), ShapeText(shape).c_str(), defect);
}

Status RunKernel(const OpDef& def, const KernelArgs& args) {
  char message[InferContext<int64_t>::kMessageBytes] = "";
  if (!CheckQuantized(def, *args.attrs, args.inputs, args.outputs, message).ok())
    return Fail(StatusCode::kInvalidModel, "%s", message);
  // Kernels need not care for extents beside a zero.
  const bool empty = std::all_of(args.outputs.begin(), args.outputs.end(),
                                 [](const TensorView& output) { return output.shape.elements() == 0; });
  if (empty) return OkStatus();
  if (!eager::ComputesQuantized(args)) return def.kernel(args);
  std::vector<double> scratch(eager::QuantizedScratchBytes(args) / sizeof(double));
  return eager::RunQuantized(def, args, reinterpret_cast<unsigned char*>(scratch.data()));
}

/// Who is speaking, in messages: a node of a graph, or an operator that was called.
std::string Speaker(const std::string& node_name, const OpDef& def) {
  return node_name.empty() ? def.name : fmt::format("node '{}' ({})", node_name, def.name);
}

}  // namespace

std::vector<TensorView> InferOutputs(OpCode op, const AttrStorage& attrs,
                                     const std::vector<const TensorData*>& inputs, size_t output_count,
                                     const std::string& node_name) {
  const OpDef* def = FindOp(op);
  if (def == nullptr)
    Throw(StatusCode::kInternal, "node '{}': operator {} is not in the table", node_name,
          static_cast<int>(op));
  std::vector<InferInput<int64_t>> described(inputs.size());
  std::vector<std::vector<int64_t>> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) described[i] = DescribeInput(*inputs[i], values[i]);
  }
  std::vector<InferOutput<int64_t>> outputs(output_count);
  char message[InferContext<int64_t>::kMessageBytes] = "";
  InferContext<int64_t> context{
      op, &attrs, {described.data(), described.size()}, {outputs.data(), outputs.size()}, message};
  if (const Status status = def->infer(context); !status.ok()) {
    Throw(StatusCode::kInvalidModel, "{}: {}", Speaker(node_name, *def), message);
  }
  std::vector<TensorView> views;
  for (const InferOutput<int64_t>& output : outputs) {
    const TensorView view(nullptr, output.dtype, Shape(output.extents, output.rank));
    if (const char* why = WhyNoTensor(view.dtype, view.shape); why != nullptr) {
      Throw(StatusCode::kInvalidModel, "{}: the output {} {}", Speaker(node_name, *def),
            ShapeText(view.shape).c_str(), why);
    }
    if (view.bytes() > kMaxHostBytes) {
      Throw(StatusCode::kInvalidModel, "{}: the output {} would be larger than {} bytes",
            Speaker(node_name, *def), ShapeText(view.shape).c_str(), kMaxHostBytes);
    }
    views.push_back(view);
  }
  return views;
}

namespace {

/// Of a value, for its place and what makes it: operators of one element take time as well.
constexpr uint64_t kStepsOfValue = 4096;

void TakeWork(int64_t* left, uint64_t steps, const std::string& speaker) {
  if (left == nullptr) return;
  if (steps > static_cast<uint64_t>(*left))
    Throw(StatusCode::kUnsupported,
          "{}: it takes {} steps (multiply-adds, and bytes moved), and {} are left of what a run in eager "
          "mode may take",
          speaker, steps, *left);
  *left -= static_cast<int64_t>(steps);
}

/// EvaluateOp(), whose outputs may take no more than `bytes_left`; `work` is as in EvaluateLimits.
std::vector<TensorData> EvaluateOpWithin(uint64_t bytes_left, int64_t* work, OpCode op,
                                         const AttrStorage& attrs,
                                         const std::vector<const TensorData*>& inputs, size_t output_count,
                                         const std::string& node_name,
                                         const std::vector<DeclaredType>& declared) {
  const OpDef* def = FindOp(op);
  const std::vector<TensorView> types = InferOutputs(op, attrs, inputs, output_count, node_name);
  if (def->kernel == nullptr)
    Throw(StatusCode::kUnsupported, "node '{}': this build has no kernel for {}", node_name, def->name);
  std::vector<TensorView> input_views(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) input_views[i] = inputs[i]->view();
  }
  uint64_t bytes = 0;
  for (const TensorView& type : types) bytes = SaturatingAdd(bytes, static_cast<uint64_t>(type.bytes()));
  if (bytes > bytes_left)
    Throw(StatusCode::kUnsupported,
          "{}: its results take {} MiB, and {} MiB are left of what a run in eager mode may take",
          Speaker(node_name, *def), bytes >> 20, bytes_left >> 20);
  if (work != nullptr) TakeWork(work, StepsOf(op, attrs, inputs, types), Speaker(node_name, *def));
  std::vector<TensorData> outputs;
  std::vector<TensorView> output_views;
  for (size_t i = 0; i < types.size(); ++i) {
    if (i < declared.size() && declared[i].quantization)
      CheckStandsForReal(types[i].dtype, Speaker(node_name, *def), i);
    const DeclaredType type = i < declared.size() && declared[i].quantization
                                  ? declared[i]
                                  : TypeOfMoved(op, attrs, inputs, types[i].dtype);
    if (type.quantization) CheckQuantization(type, types[i].shape, Speaker(node_name, *def), i);
    outputs.push_back(TensorData(type.dtype, types[i].shape).Quantized(type.quantization));
    output_views.push_back(outputs.back().view());
  }
  ErrorCapture capture;
  const KernelArgs args{
      op, &attrs, {input_views.data(), input_views.size()}, {output_views.data(), output_views.size()}};
  if (const Status status = RunKernel(*def, args); !status.ok()) {
    Throw(status.code(), "{}: {}", Speaker(node_name, *def), capture.message());
  }
  return outputs;
}

}  // namespace

std::vector<TensorData> EvaluateOp(OpCode op, const AttrStorage& attrs,
                                   const std::vector<const TensorData*>& inputs, size_t output_count,
                                   const std::string& node_name, const std::vector<DeclaredType>& declared) {
  return EvaluateOpWithin(UINT64_MAX, nullptr, op, attrs, inputs, output_count, node_name, declared);
}

namespace {

void CheckInput(const Graph& graph, const GraphPort& port, const TensorData& data,
                std::map<SymbolId, int64_t>& symbols) {
  const Value& value = graph.value(port.value);
  if (data.quantization() && !SameQuantization(data.quantization(), value.quantization)) {
    Throw(StatusCode::kInvalidArgument, "input '{}' must have the quantisation{}, got{}", port.name,
          QuantizationText(value.quantization), QuantizationText(data.quantization()));
  }
  if (data.dtype() != value.dtype) {
    Throw(StatusCode::kInvalidArgument, "input '{}' must be {}, got {}", port.name, DTypeName(value.dtype),
          DTypeName(data.dtype()));
  }
  if (!value.has_shape) return;
  if (static_cast<int>(value.dims.size()) != data.shape().rank()) {
    Throw(StatusCode::kInvalidArgument, "input '{}' must have rank {}, got {}", port.name, value.dims.size(),
          ShapeText(data.shape()).c_str());
  }
  for (int axis = 0; axis < data.shape().rank(); ++axis) {
    const Dim& dim = value.dims[static_cast<size_t>(axis)];
    const int64_t extent = data.shape()[axis];
    const int64_t expected =
        dim.constant() ? dim.value : symbols.try_emplace(dim.symbol(), extent).first->second;
    if (extent != expected) {
      Throw(StatusCode::kInvalidArgument, "input '{}': dimension {} must be {}, got {} (shape {})", port.name,
            axis, expected, extent, ShapeText(data.shape()).c_str());
    }
  }
}

std::string TypeText(const TensorData& data) {
  return std::string(DTypeName(data.dtype())) + ShapeText(data.shape()).c_str() +
         QuantizationText(data.quantization());
}

/// What is left of the limits of a run.
struct Left {
  uint64_t bytes;   ///< Of each graph's values: those of a body are gone when it has run.
  int64_t* steps;   ///< Of all loops together.
  int64_t at_most;  ///< These, at first.
  int64_t* work;    ///< Null: there is no limit.
};

std::vector<TensorData> RunNode(const Graph& graph, const Node& node,
                                const std::vector<const TensorData*>& inputs, const EvaluateOptions& options,
                                const Left& left);

/// Runs a graph over its inputs in order; the outputs in order.
std::vector<TensorData> RunGraph(const Graph& graph, const std::vector<TensorData>& inputs,
                                 const EvaluateOptions& options, Left left) {
  TakeWork(left.work, kStepsOfValue * static_cast<uint64_t>(graph.value_count()),
           fmt::format("graph '{}'", graph.name));
  std::vector<TensorData> live(static_cast<size_t>(graph.value_count()));
  std::vector<size_t> remaining(live.size(), 0);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    remaining[static_cast<size_t>(id)] = value.uses.size() + (graph.IsGraphOutput(id) ? 1 : 0);
    if (value.constant) live[static_cast<size_t>(id)] = *value.constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = graph.inputs()[i].value;
    const QuantizationPtr& declared =
        graph.value(id).quantization;  // An input of a body need not have a type.
    live[static_cast<size_t>(id)] = declared ? inputs[i].Quantized(declared) : inputs[i];
  }
  for (NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    std::vector<const TensorData*> arguments;
    for (ValueId input : node.inputs)
      arguments.push_back(input == kNoValue ? nullptr : &live[static_cast<size_t>(input)]);
    std::vector<TensorData> results = RunNode(graph, node, arguments, options, left);
    for (size_t i = 0; i < results.size(); ++i) {
      if (options.observe) options.observe(node.outputs[i], results[i]);
      if (remaining[static_cast<size_t>(node.outputs[i])] == 0) continue;
      left.bytes -= std::min<uint64_t>(results[i].size_bytes(), left.bytes);
      live[static_cast<size_t>(node.outputs[i])] = std::move(results[i]);
    }
    for (ValueId input : node.inputs) {
      if (input == kNoValue || --remaining[static_cast<size_t>(input)] > 0) continue;
      if (graph.value(input).producer != kNoNode) left.bytes += live[static_cast<size_t>(input)].size_bytes();
      live[static_cast<size_t>(input)] = TensorData();
    }
  }
  std::vector<TensorData> outputs;
  for (const GraphPort& port : graph.outputs()) outputs.push_back(live[static_cast<size_t>(port.value)]);
  return outputs;
}

bool IsTrue(const Node& node, const TensorData& condition) {
  if (condition.dtype() != DType::kBool || condition.elements() != 1) {
    Throw(StatusCode::kInvalidModel, "node '{}' ({}): the condition is {}; it must be a bool of one element",
          node.name, FindOp(node.op)->name, TypeText(condition));
  }
  return *condition.as<uint8_t>() != 0;
}

std::vector<TensorData> RunIf(const Node& node, const std::vector<const TensorData*>& inputs,
                              const EvaluateOptions& options, const Left& left) {
  std::vector<TensorData> arguments;
  for (size_t i = FirstBodyInput(node.op); i < inputs.size(); ++i) arguments.push_back(*inputs[i]);
  return RunGraph(node.bodies[IsTrue(node, *inputs[0]) ? 0 : 1], arguments, options, left);
}

std::vector<TensorData> RunWhile(const Node& node, const std::vector<const TensorData*>& inputs,
                                 const EvaluateOptions& options, const Left& left) {
  std::vector<TensorData> values;
  for (const TensorData* input : inputs) values.push_back(*input);
  while (IsTrue(node, RunGraph(node.bodies[0], values, options, left)[0])) {
    if (--*left.steps < 0)
      Throw(StatusCode::kUnsupported, "node '{}' (While): the loops of a run take more than {} steps",
            node.name, left.at_most);
    std::vector<TensorData> next = RunGraph(node.bodies[1], values, options, left);
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i].dtype() != values[i].dtype() || next[i].shape().rank() != values[i].shape().rank() ||
          !SameQuantization(next[i].quantization(), values[i].quantization())) {
        ThrowLoopVariableChanges(fmt::format("node '{}' (While)", node.name), i,
                                 node.bodies[1].inputs()[i].name, TypeText(values[i]), TypeText(next[i]));
      }
      values[i] = std::move(next[i]);
    }
  }
  values.resize(node.outputs.size());
  return values;
}

std::vector<TensorData> RunNode(const Graph& graph, const Node& node,
                                const std::vector<const TensorData*>& inputs, const EvaluateOptions& options,
                                const Left& left) {
  const EvaluateOptions in_bodies{{}, options.adjust};
  if (node.op == OpCode::kIf) return RunIf(node, inputs, in_bodies, left);
  if (node.op == OpCode::kWhile) return RunWhile(node, inputs, in_bodies, left);
  std::vector<DeclaredType> declared;
  for (const ValueId id : node.outputs)
    declared.push_back({graph.value(id).dtype, graph.value(id).quantization});
  std::vector<TensorData> results = EvaluateOpWithin(left.bytes, left.work, node.op, node.attrs, inputs,
                                                     node.outputs.size(), node.name, declared);
  if (options.adjust) options.adjust(node, inputs, results);
  return results;
}

uint64_t MemoryLimit(const Graph& graph) {
  uint64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) bytes += graph.value(id).constant->size_bytes();
  }
  return (uint64_t{4} << 30) + 4 * bytes;
}

}  // namespace

std::vector<TensorData> EvaluateNode(const Graph& graph, const Node& node,
                                     const std::vector<const TensorData*>& inputs) {
  int64_t steps = EvaluateLimits().steps;
  return RunNode(graph, node, inputs, {}, {UINT64_MAX, &steps, steps, nullptr});
}

std::map<std::string, TensorData> Evaluate(const Graph& graph,
                                           const std::map<std::string, TensorData>& inputs,
                                           const EvaluateOptions& options) {
  return EvaluateWithin({}, graph, inputs, options);
}

std::map<std::string, TensorData> EvaluateWithin(const EvaluateLimits& limits, const Graph& graph,
                                                 const std::map<std::string, TensorData>& inputs,
                                                 const EvaluateOptions& options) {
  std::map<SymbolId, int64_t> symbols;
  std::vector<TensorData> values;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphPort& port = graph.inputs()[i];
    const auto found = inputs.find(port.name);
    const size_t callers = graph.caller_inputs().size();
    if (found == inputs.end() && i >= callers) {
      values.push_back(graph.variables[i - callers].first);
      continue;
    }
    if (found == inputs.end())
      Throw(StatusCode::kInvalidArgument, "no value was given for input '{}'", port.name);
    CheckInput(graph, port, found->second, symbols);
    values.push_back(found->second);
  }
  int64_t steps = limits.steps;
  const uint64_t bytes = limits.bytes > 0 ? limits.bytes : MemoryLimit(graph);
  std::vector<TensorData> results =
      RunGraph(graph, values, options, {bytes, &steps, limits.steps, limits.work});
  std::map<std::string, TensorData> outputs;
  // Where a variable is called as an output is, the output is meant.
  for (size_t i = 0; i < results.size(); ++i) outputs.emplace(graph.outputs()[i].name, std::move(results[i]));
  return outputs;
}

}  // namespace skiff
