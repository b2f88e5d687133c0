#include "cli/parity.h"

#include <algorithm>

#include "cli/parity_layers.h"
#include "convert.h"
#include "graph/error.h"
#include "graph/evaluate.h"

namespace skiff::cli {
namespace {

bool AllOk(const std::vector<TensorParity>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const TensorParity& row) { return row.comparison.ok; });
}

/// The tolerance of each float tensor: the caller's, or the default, which depends on whether f16 takes part
/// anywhere.
struct Rule {
  std::optional<Tolerance> chosen;
  bool f16 = false;

  Tolerance For(DType dtype) const {
    return chosen && IsFloat(dtype) ? *chosen : DefaultTolerance(dtype, f16);
  }
};

TensorParity CompareRow(const std::string& name, const std::string& op, const TensorData& expected,
                        const TensorData& got, const Rule& rule) {
  const Tolerance tolerance = rule.For(expected.dtype());
  return {name, op, expected.dtype(), expected.shape(), tolerance, Compare(expected, got, tolerance)};
}

std::vector<TensorParity> CompareOutputs(const NamedTensors& expected, const NamedTensors& got,
                                         const Rule& rule, Span<const PortInfo> order) {
  std::vector<TensorParity> rows;
  for (const PortInfo& port : order) {
    if (const auto found = expected.find(port.name); found != expected.end()) {
      rows.push_back(CompareRow(port.name, "", found->second, got.at(port.name), rule));
    }
  }
  return rows;
}

}  // namespace

const TensorParity* BackendParity::FirstBadLayer() const {
  const auto found =
      std::find_if(layers.begin(), layers.end(), [](const TensorParity& row) { return !row.comparison.ok; });
  return found == layers.end() ? nullptr : &*found;
}

bool ParityReport::ok() const {
  return AllOk(eager_expected) &&
         std::all_of(backends.begin(), backends.end(), [](const BackendParity& backend) {
           return AllOk(backend.outputs) && AllOk(backend.expected) && AllOk(backend.layers);
         });
}

void FixToModel(Graph& source, const SignatureInfo& model) {
  const auto check = [](const std::vector<GraphPort>& ports, Span<const PortInfo> of_model,
                        const char* kind) {
    std::string names;
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
  check(source.inputs(), model.inputs, "input");
  check(source.outputs(), model.outputs, "output");
  ConvertOptions options;
  for (const PortInfo& port : model.inputs) {
    const bool open =
        std::any_of(port.shape.begin(), port.shape.end(), [](int64_t extent) { return extent < 0; });
    if (!open) options.shapes[port.name] = {port.shape.begin(), port.shape.end()};
  }
  try {
    FixShapes(source, options);
  } catch (const Error& error) {
    Throw(error.code(), "the model's shapes do not fit this source: {}", error.what());
  }
}

ParityReport CheckParity(const Graph& source, Model& model, const ParityRequest& request) {
  const auto progress = [&](const std::string& step) {
    if (request.progress) request.progress(step);
  };
  const SignatureInfo signature = model.signature(0);
  if (request.layers && !HasSources(model.data())) {
    Throw(StatusCode::kInvalidArgument,
          "layers cannot be compared: the model was stripped of the source's tensor names; convert it "
          "without --strip");
  }
  progress("eager");
  Rule rule{request.tolerance, false};
  std::vector<EagerTensor> layers;
  EvaluateOptions options;
  options.observe = [&](ValueId value, const TensorData& tensor) {
    rule.f16 |= tensor.dtype() == DType::kF16;
    if (request.layers) AddLayer(source, value, tensor, layers);
  };
  const NamedTensors eager = Evaluate(source, request.inputs, options);

  ParityReport report;
  report.eager_expected = CompareOutputs(request.expected, eager, rule, signature.outputs);
  for (const Backend backend : request.backends) {
    progress(BackendName(backend));
    SessionOptions session_options;
    session_options.backend = backend;
    session_options.threads = request.threads;
    // Outputs come from a Session as applications use it: with tensors that share memory.
    const std::unique_ptr<Session> session = CreateSession(model, session_options);
    SetInputs(*session, request.inputs);
    Must([&] { return session->Run(); });
    const NamedTensors outputs = Outputs(*session);
    BackendParity& result = report.backends.emplace_back();
    result.backend = backend;
    result.outputs = CompareOutputs(eager, outputs, rule, signature.outputs);
    result.expected = CompareOutputs(request.expected, outputs, rule, signature.outputs);
    if (!request.layers) continue;
    session_options.keep_intermediates = true;
    const std::unique_ptr<Session> tapped = CreateSession(model, session_options);
    SetInputs(*tapped, request.inputs);
    Must([&] { return tapped->Run(); });
    for (const EagerTensor& layer : layers) {
      const std::optional<TensorData> got = TapLayer(*tapped, model.data(), layer);
      if (got) {
        result.layers.push_back(CompareRow(layer.name, layer.op, layer.tensor, *got, rule));
      } else {
        ++result.fused_away;
      }
    }
  }
  return report;
}

}  // namespace skiff::cli
