#include "trace/apply.h"

#include <filesystem>

#include "graph/evaluate.h"
#include "graph/node_types.h"
#include "passes/passes.h"
#include "trace/effects.h"
#include "trace/frame.h"

namespace skiff::eager {
namespace {

/// The sentence of an error, with the place of the call before it and the operands' types behind it.
[[noreturn]] void Rethrow(const Error& error, const Tensors& inputs, const Location& where) {
  std::string types;
  for (const Tensor& input : inputs)
    types += (types.empty() ? "" : ", ") + (input.empty() ? "-" : input.TypeText());
  // What no model could have is, in a call, an argument of its own.
  const StatusCode code =
      error.code() == StatusCode::kInvalidModel ? StatusCode::kInvalidArgument : error.code();
  throw PlacedError(code, fmt::format("{}: {} (operands: {})", PlaceText(where), error.what(), types));
}

/// Shape rules and kernels read the operands that an operator must have without a look.
void CheckOperands(const OpDef& op, const Tensors& inputs, const Location& where) {
  if (inputs.size() < op.min_inputs)
    ThrowAt(where, StatusCode::kInvalidArgument, "{}: {} operands were given; expected {} or more", op.name,
            inputs.size(), op.min_inputs);
  if (inputs.size() > op.max_inputs && op.max_inputs != kVariadic)
    ThrowAt(where, StatusCode::kInvalidArgument, "{}: {} operands were given; expected at most {}", op.name,
            inputs.size(), op.max_inputs);
  for (size_t i = 0; i < op.min_inputs; ++i) {
    if (inputs[i].empty() && !IsOptionalInput(op, i))
      ThrowAt(where, StatusCode::kInvalidArgument, "{}: operand {} is an empty Tensor; it cannot be left out",
              op.name, i);
  }
}

Tensors Compute(OpCode op, const AttrStorage& attrs, const Tensors& inputs, size_t output_count,
                const Location& where, const std::vector<DeclaredType>& declared) {
  std::vector<const TensorData*> arguments;
  for (const Tensor& input : inputs) {
    if (!input.empty() && input.symbolic()) {
      ThrowAt(where, StatusCode::kInvalidArgument, "{}", LeakText(input));
    }
    arguments.push_back(input.empty() ? nullptr : &input.impl()->data);
  }
  Tensors outputs;
  for (TensorData& result : EvaluateOp(op, attrs, arguments, output_count, "", declared))
    outputs.emplace_back(std::move(result));
  return outputs;
}

Tensors Record(Frame& frame, OpCode op, const AttrStorage& attrs, const Tensors& inputs, size_t output_count,
               const Location& where, const std::vector<DeclaredType>& declared) {
  std::vector<ValueId> values;
  for (const Tensor& input : inputs) values.push_back(input.empty() ? kNoValue : frame.Import(input, where));
  Graph& graph = frame.graph;
  const NodeId id = graph.AddNode(op, values, std::vector<std::string>(output_count));
  graph.node(id).attrs = attrs;
  for (size_t i = 0; i < declared.size(); ++i) {
    graph.value(graph.node(id).outputs[i]).dtype = declared[i].dtype;
    graph.value(graph.node(id).outputs[i]).quantization = declared[i].quantization;
  }
  try {
    InferNode(graph, id);
  } catch (const Error&) {
    graph.RemoveNode(id);  // The function may catch the error and go on.
    throw;
  }
  graph.node(id).sources = {graph.AddSource(PlaceText(where), FindOp(op)->name)};
  Tensors outputs;
  for (const ValueId output : graph.node(id).outputs) outputs.push_back(frame.Export(output, where));
  return outputs;
}

}  // namespace

std::string PlaceText(const Location& where) {
  return fmt::format("{}:{}", std::filesystem::path(where.file_name()).filename().string(), where.line());
}

Tensors Apply(OpCode op, const AttrStorage& attrs, Tensors inputs, size_t output_count, const Location& where,
              const std::vector<DeclaredType>& declared) {
  const OpDef& def = *FindOp(op);
  while (inputs.size() > def.min_inputs && inputs.back().empty()) inputs.pop_back();
  CheckOperands(def, inputs, where);
  Tensors outputs;
  try {
    Frame* frame = Frame::Current();
    outputs = frame != nullptr ? Record(*frame, op, attrs, inputs, output_count, where, declared)
                               : Compute(op, attrs, inputs, output_count, where, declared);
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    Rethrow(error, inputs, where);
  }
  CheckResults(op, outputs, where);
  return outputs;
}

}  // namespace skiff::eager
