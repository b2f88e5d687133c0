#include "state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "graph/error.h"
#include "graph/node_types.h"
#include "passes/passes.h"

namespace skiff {
namespace {

std::string NamesOf(std::span<const GraphPort> ports) {
  std::string names;
  for (const GraphPort& port : ports) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name);
  return names;
}

size_t IndexOf(std::span<const GraphPort> ports, const std::string& name, const char* kind,
               const std::string& option) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
  }
  Throw(StatusCode::kInvalidArgument, "{}: the model has no {} '{}'; its {}s are {}", option, kind, name,
        kind, NamesOf(ports));
}

std::string TypeText(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.has_shape) return std::string(DTypeName(value.dtype)) + " of unknown shape";
  return DTypeName(value.dtype) + DimsText(graph, value.dims) + QuantizationText(value.quantization);
}

bool SameType(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.has_shape && b.has_shape && a.dims == b.dims &&
         SameQuantization(a.quantization, b.quantization);
}

/// What is left of a name without what says that it goes in or comes out.
std::string Stem(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::array kBefore = {"input_", "output_", "new_", "next_",
                                         "prev_",  "old_",    "in_",  "out_"};
  static constexpr std::array kBehind = {"_input", "_output", "_new", "_next", "_prev", "_old", "_in",
                                         "_out",   "out",     "_n",   "in",    "n",     "0"};
  for (const std::string_view part : kBefore) {
    if (name.size() > part.size() && name.starts_with(part)) {
      name.erase(0, part.size());
      break;
    }
  }
  for (const std::string_view part : kBehind) {
    if (name.size() > part.size() && name.ends_with(part)) {
      name.erase(name.size() - part.size());
      break;
    }
  }
  return name;
}

}  // namespace

void KeepStates(Graph& graph, const std::vector<StatePair>& pairs) {
  if (pairs.empty()) return;
  Graph typed = graph;
  InferShapes(typed);
  for (const StatePair& pair : pairs) {
    const std::string option = fmt::format("--state {}={}", pair.input, pair.output);
    const size_t input = IndexOf(graph.caller_inputs(), pair.input, "input", option);
    const size_t output = IndexOf(graph.caller_outputs(), pair.output, "output", option);
    const ValueId from = graph.caller_inputs()[input].value;
    const ValueId to = graph.caller_outputs()[output].value;
    if (!typed.value(from).has_static_shape()) {
      Throw(StatusCode::kInvalidArgument,
            "{}: the input is {}; what a Session keeps has one shape (--shape {}=AxBx... or --dim NAME=SIZE "
            "fixes it)",
            option, TypeText(typed, from), pair.input);
    }
    if (!SameType(typed.value(from), typed.value(to))) {
      Throw(StatusCode::kInvalidArgument,
            "{}: the input is {}, the output {}; the output of one run must do as the input of the next",
            option, TypeText(typed, from), TypeText(typed, to));
    }
    TensorData zeros = TensorData(typed.value(from).dtype, typed.value(from).shape());
    graph.MakeVariable(input, output, {pair.input, zeros.Quantized(typed.value(from).quantization)});
    graph.stated.emplace_back("state:" + pair.input, pair.output);
  }
}

void CheckStates(const Graph& graph) {
  const size_t variables = graph.variables.size();
  for (size_t i = 0; i < variables; ++i) {
    const TensorData& first = graph.variables[i].first;
    for (const std::span<const GraphPort> ports : {std::span(graph.inputs()), std::span(graph.outputs())}) {
      const ValueId id = ports[ports.size() - variables + i].value;
      const Value& value = graph.value(id);
      if (value.dtype == first.dtype() && value.has_static_shape() && value.shape() == first.shape() &&
          SameQuantization(value.quantization, first.quantization()))
        continue;
      Throw(StatusCode::kUnsupported,
            "the variable '{}' is {}[{}]{} at first, and {} in a run; give it one type",
            graph.variables[i].name, DTypeName(first.dtype()), fmt::join(first.shape(), ", "),
            QuantizationText(first.quantization()), TypeText(graph, id));
    }
  }
}

std::vector<StatePair> LikelyStates(const Graph& graph) {
  std::map<std::string, std::vector<std::string>> outputs;
  for (const GraphPort& port : graph.caller_outputs()) outputs[Stem(port.name)].push_back(port.name);
  std::map<std::string, int> inputs;
  for (const GraphPort& port : graph.caller_inputs()) ++inputs[Stem(port.name)];
  std::vector<StatePair> pairs;
  for (const GraphPort& port : graph.caller_inputs()) {
    const auto found = outputs.find(Stem(port.name));
    if (found == outputs.end() || found->second.size() != 1 || inputs[found->first] != 1) continue;
    pairs.push_back({port.name, found->second[0]});
  }
  if (pairs.empty()) return pairs;
  Graph typed = graph;
  InferShapes(typed);
  const auto value = [&](std::span<const GraphPort> ports, const std::string& name) -> const Value& {
    return typed.value(std::find_if(ports.begin(), ports.end(), [&](const GraphPort& port) {
                         return port.name == name;
                       })->value);
  };
  std::erase_if(pairs, [&](const StatePair& pair) {
    return !SameType(value(typed.caller_inputs(), pair.input), value(typed.caller_outputs(), pair.output));
  });
  return pairs;
}

std::string StateHint(const StatePair& pair) {
  return fmt::format(
      "'{}' looks like '{}' of the next run; --state '{}={}' makes it a variable, which the Session keeps",
      pair.output, pair.input, pair.input, pair.output);
}

}  // namespace skiff
