#include "parity/parity.h"

#include <algorithm>
#include <cstring>

#include "convert.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "parity/judge.h"
#include "parity/layers.h"
#include "run/model_sizes.h"

namespace skiff {
namespace {

bool AllOk(const std::vector<TensorParity>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const TensorParity& row) { return row.comparison.ok; });
}

/// One row for each output that `expected` has.
std::vector<TensorParity> CompareOutputs(
    const NamedTensors& expected, const NamedTensors& got, Span<const PortInfo> order,
    const std::function<TensorParity(const std::string& name, const TensorData& expected,
                                     const TensorData& got)>& compare) {
  std::vector<TensorParity> rows;
  for (const PortInfo& port : order) {
    const auto found = expected.find(port.name);
    if (found == expected.end()) continue;
    rows.push_back(compare(port.name, found->second, got.at(port.name)));
    if (port.variable >= 0) rows.back().name = fmt::format("variable {}", port.name);
  }
  return rows;
}

DelegateKind KindOf(const RunsOn& backend) {
  return backend.target == Target::kVulkan ? DelegateKind::kVulkan : DelegateKind::kXnnpack;
}

/// The name of an output whose bits differ between two runs; "" when there is none.
std::string FirstChanged(const NamedTensors& before, const NamedTensors& after) {
  for (const auto& [name, tensor] : before) {
    const TensorData& again = after.at(name);
    if (tensor.size_bytes() != again.size_bytes() ||
        (tensor.size_bytes() > 0 && std::memcmp(tensor.data(), again.data(), tensor.size_bytes()) != 0))
      return name;
  }
  return "";
}

/// What the model fixes of an input that the source leaves open.
void FixPort(const Graph& source, const PortInfo& port, ConvertOptions& options) {
  const bool open =
      std::any_of(port.shape.begin(), port.shape.end(), [](int64_t extent) { return extent < 0; });
  if (!open) {
    options.shapes[port.name] = {port.shape.begin(), port.shape.end()};
    return;
  }
  const auto found = std::find_if(source.inputs().begin(), source.inputs().end(),
                                  [&](const GraphPort& other) { return other.name == port.name; });
  const std::vector<Dim>& dims = source.value(found->value).dims;
  bool same = static_cast<int>(dims.size()) == port.shape.rank();
  for (size_t axis = 0; same && axis < dims.size(); ++axis) {
    const int64_t extent = port.shape[static_cast<int>(axis)];
    if (dims[axis].constant()) {
      same = dims[axis].value == extent;
    } else if (extent >= 0) {
      const auto symbol = static_cast<size_t>(dims[axis].symbol());
      options.dims.emplace(source.symbols()[symbol].name, extent);
    }
  }
  if (!same) {
    Throw(StatusCode::kInvalidArgument,
          "the model was not made from this source: its input '{}' is {}, the source's has other dimensions",
          port.name, ShapeText(port.shape).c_str());
  }
}

}  // namespace

const TensorParity* BackendParity::FirstBadLayer() const {
  const auto found =
      std::find_if(layers.begin(), layers.end(), [](const TensorParity& row) { return !row.comparison.ok; });
  return found == layers.end() ? nullptr : &*found;
}

bool ParityReport::Holds(const BackendParity& backend) const {
  if (!refused.empty() || !backend.refused.empty()) return !refused.empty() && !backend.refused.empty();
  return backend.unstable.empty() && AllOk(backend.outputs) && AllOk(backend.expected) &&
         AllOk(backend.layers);
}

bool ParityReport::ok() const {
  return AllOk(eager_expected) && std::all_of(backends.begin(), backends.end(),
                                              [&](const BackendParity& backend) { return Holds(backend); });
}

void FixToModel(Graph& source, const SignatureInfo& model, const StatesOfModel& states) {
  const auto check = [&](std::span<const GraphPort> all, Span<const PortInfo> of_model,
                         std::string StatePair::*port_of_state, const char* kind) {
    std::string names;
    std::vector<GraphPort> ports(all.begin(), all.end());
    std::erase_if(ports, [&](const GraphPort& port) {
      return std::any_of(states.pairs.begin(), states.pairs.end(),
                         [&](const StatePair& pair) { return port.name == pair.*port_of_state; });
    });
    for (const GraphPort& port : ports) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name);
    const bool same = ports.size() == of_model.size() &&
                      std::all_of(ports.begin(), ports.end(), [&](const GraphPort& port) {
                        return std::any_of(of_model.begin(), of_model.end(),
                                           [&](const PortInfo& other) { return port.name == other.name; });
                      });
    if (!same) {
      Throw(StatusCode::kInvalidArgument,
            "the model was not made from this source: its {}s are {}, the source's are {}", kind,
            PortNames(of_model), names);
    }
  };
  check(source.caller_inputs(), model.inputs, &StatePair::input, "input");
  if (!source.caller_outputs().empty())
    check(source.caller_outputs(), model.outputs, &StatePair::output, "output");
  ConvertOptions options;
  for (const GraphPort& port : source.caller_inputs()) {
    if (const auto found = states.shapes.find(port.name); found != states.shapes.end())
      options.shapes.insert(*found);
  }
  for (const PortInfo& port : model.inputs) FixPort(source, port, options);
  try {
    FixShapes(source, options);
  } catch (const Error& error) {
    Throw(error.code(), "the model's shapes do not fit this source: {}", error.what());
  }
}

ParityChecker::ParityChecker(const Graph& source, Model& model, ParityOptions options)
    : source_(source), model_(model), signature_(model, options.signature), options_(std::move(options)) {
  if (options_.layers && !HasSources(signature_.data())) {
    Throw(StatusCode::kInvalidArgument,
          "layers cannot be compared: the model was stripped of the source's tensor names; convert it "
          "without --strip");
  }
}

Span<const PortInfo> ParityChecker::AllOutputs() const {
  return {signature_.data().outputs.data(), signature_.data().outputs.size()};
}

EagerRun ParityChecker::RunEager(const NamedTensors& inputs) {
  EagerRun eager;
  EvaluateOptions options;
  options.observe = [&](ValueId value, const TensorData& tensor) {
    eager.takes_part.f16 |= tensor.dtype() == DType::kF16;
    eager.takes_part.quantized |= tensor.quantization() != nullptr;
    if (options_.layers) AddLayer(source_, value, tensor, eager.layers);
  };
  eager.outputs = Evaluate(source_, inputs, options);
  return eager;
}

NamedTensors ParityChecker::WithState(const NamedTensors& inputs) const {
  NamedTensors all = inputs;
  all.insert(state_.begin(), state_.end());
  const size_t callers = source_.caller_inputs().size();
  for (size_t i = 0; i < source_.variables.size(); ++i)
    all.emplace(source_.inputs()[callers + i].name, source_.variables[i].first);
  return all;
}

void ParityChecker::KeepState(const EagerRun& eager) {
  const size_t inputs = source_.caller_inputs().size();
  const size_t outputs = source_.caller_outputs().size();
  for (size_t i = 0; i < source_.variables.size(); ++i)
    state_[source_.inputs()[inputs + i].name] = eager.outputs.at(source_.outputs()[outputs + i].name);
}

NamedTensors ParityChecker::Run(std::unique_ptr<Session>& session, const RunsOn& backend,
                                bool keep_intermediates, const NamedTensors& inputs) {
  if (!session) {
    SessionOptions options;
    options.signature = signature_.name();
    options.backend = backend.backend;
    options.target = backend.target;
    options.fall_back = false;  // What is compared must be what was asked for.
    options.threads = options_.threads;
    options.keep_intermediates = keep_intermediates;
    session = CreateSession(model_, options);
  }
  session->variables().Reset();  // Eager mode begins with their first values, or with these.
  const size_t callers = source_.caller_inputs().size();
  for (size_t i = 0; i < source_.variables.size(); ++i) {
    const auto found = state_.find(source_.inputs()[callers + i].name);
    if (found == state_.end()) continue;
    Must([&] { return session->variables().Set(source_.variables[i].name.c_str(), found->second.view()); });
  }
  SetInputs(*session, inputs);
  Must([&] { return session->Run(); });
  NamedTensors outputs = Outputs(*session);
  for (const PortInfo& port : AllOutputs()) {
    if (port.variable < 0) continue;
    const char* name = model_.variables()[static_cast<size_t>(port.variable)].name;
    outputs[port.name] = DenseCopy(Must([&] { return session->variables().Get(name); }));
  }
  return outputs;
}

void ParityChecker::CheckBackend(const EagerRun& eager, Judge& judge, const NamedTensors& inputs,
                                 const NamedTensors& expected, BackendParity& result) {
  BackendSessions& sessions = sessions_[result.backend];
  const Span<const PortInfo> order = AllOutputs();
  const DelegateKind kind = KindOf(result.backend);
  const NamedTensors outputs = Run(sessions.session, result.backend, false, inputs);
  if (options_.outputs) options_.outputs(BackendName(result.backend), outputs);
  result.outputs =
      CompareOutputs(eager.outputs, outputs, order,
                     [&](const std::string& name, const TensorData& want, const TensorData& got) {
                       return judge.AgainstEager(name, "", want, got, kind);
                     });
  result.expected = CompareOutputs(
      expected, outputs, order, [&](const std::string& name, const TensorData& want, const TensorData& got) {
        return judge.AgainstExpected(name, want, got, kind);
      });
  for (int run = 1; run < options_.repeat && result.unstable.empty(); ++run)
    result.unstable = FirstChanged(outputs, Run(sessions.session, result.backend, false, inputs));
  if (!options_.layers) return;
  Run(sessions.tapped, result.backend, true, inputs);
  const std::unordered_set<std::string_view> layers =
      LayersOf(PlanAt(signature_, SizesOf(signature_, inputs), result.backend.target));
  for (const EagerTensor& layer : eager.layers) {
    const std::optional<TensorData> got = TapLayer(*sessions.tapped, layers, layer);
    if (got) {
      result.layers.push_back(judge.AgainstEager(layer.name, layer.op, layer.tensor, *got, kind));
    } else {
      ++result.fused_away;
    }
  }
  result.amplifier = judge.FindAmplifier(kind);
}

ParityReport ParityChecker::Check(const NamedTensors& inputs, const NamedTensors& expected) {
  const auto progress = [&](const std::string& step) {
    if (options_.progress) options_.progress(step);
  };
  /// What was refused, where refusals are noted.
  const auto attempt = [&](auto&& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      // Memory and defects of Skiff are no answer about the inputs.
      const bool about_inputs =
          error.code() != StatusCode::kOutOfMemory && error.code() != StatusCode::kInternal;
      if (!options_.note_refusals || !about_inputs) throw;
      return error.what();
    }
    return "";
  };
  ParityReport report;
  EagerRun eager;
  progress("eager");
  const NamedTensors all = WithState(inputs);
  report.refused = attempt([&] { eager = RunEager(all); });
  if (options_.outputs && report.refused.empty()) options_.outputs("eager", eager.outputs);
  Judge judge(source_, all, eager, options_);
  report.eager_expected =
      CompareOutputs(expected, eager.outputs, signature_.info().outputs,
                     [&](const std::string& name, const TensorData& want, const TensorData& got) {
                       return judge.AgainstExpected(name, want, got, DelegateKind::kXnnpack);
                     });
  for (const RunsOn& backend : options_.backends) {
    progress(BackendName(backend));
    BackendParity& result = report.backends.emplace_back();
    result.backend = backend;
    result.refused = attempt([&] { CheckBackend(eager, judge, inputs, expected, result); });
  }
  if (options_.keep_state && report.refused.empty()) KeepState(eager);
  return report;
}

}  // namespace skiff
