#include "run/opened_model.h"

#include <algorithm>

#include "files/tensor_files.h"
#include "format/container.h"
#include "graph/custom_operators.h"
#include "graph/error.h"

namespace skiff {

OpenedModel::OpenedModel(const std::string& path, const std::string& cache_folder,
                         Span<const Delegate* const> delegates)
    : model_(Must([&] {
        ModelOptions options;
        options.delegates = delegates;
        options.cache_folder = cache_folder.empty() ? nullptr : cache_folder.c_str();
        const std::vector<CustomOperator> operators = RunnableCustomOperators();
        options.custom_operators = {operators.data(), operators.size()};
        return Model::Open(path.c_str(), options);
      })) {}

OpenedModel::OpenedModel(const std::vector<uint8_t>& bytes)
    : storage_(new uint8_t[bytes.size() + format::kAlignment]) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.get());
  uint8_t* aligned = storage_.get() + (format::AlignUp(address) - address);
  std::copy(bytes.begin(), bytes.end(), aligned);
  const std::vector<CustomOperator> operators = RunnableCustomOperators();
  const ModelOptions options = {BuiltinDelegates(), nullptr, {operators.data(), operators.size()}};
  model_ = Must([&] { return Model::Open(Span<const uint8_t>(aligned, bytes.size()), options); });
}

RunsOn BackendFromName(const std::string& name) {
  if (name == "reference") return Backend::kReference;
  return {Backend::kPlanned, name == "vulkan" ? Target::kVulkan : Target::kCpu};
}

const char* BackendName(const RunsOn& runs_on) {
  if (runs_on.backend == Backend::kReference) return "reference";
  return runs_on.target == Target::kVulkan ? "vulkan" : "xnnpack";
}

std::unique_ptr<Session> CreateSession(Model& model, const SessionOptions& options) {
  return Must([&] { return Session::Create(model, options); });
}

void SetInputs(Session& session, const NamedTensors& inputs) {
  for (const PortInfo& port : session.signature().inputs) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end()) {
      Throw(StatusCode::kInvalidArgument, "input '{}' ({} {}) has no value", port.name, DTypeName(port.dtype),
            ShapeText(port.shape).c_str());
    }
    Must([&] { return session.SetInput(port.name, found->second.view()); });
  }
}

NamedTensors Outputs(const Session& session) {
  NamedTensors outputs;
  for (const PortInfo& port : session.signature().outputs) {
    outputs[port.name] = DenseCopy(Must([&] { return session.Output(port.name); }));
  }
  return outputs;
}

NamedTensors OutputsInPlace(const Session& session) {
  NamedTensors outputs;
  for (const PortInfo& port : session.signature().outputs) {
    const TensorView view = Must([&] { return session.Output(port.name); });
    outputs[port.name] = view.dense() ? TensorData::Borrowed(view) : DenseCopy(view);
  }
  return outputs;
}

std::vector<std::string> NamesOf(Span<const PortInfo> ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.emplace_back(port.name);
  return names;
}

std::string PortNames(Span<const PortInfo> ports) {
  const std::vector<std::string> names = NamesOf(ports);
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace skiff
