/// An opened model as host code uses it: what the runtime refuses becomes an Error.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/model_data.h"
#include "graph/graph.h"
#include "graph/must.h"
#include "skiff/delegates.h"
#include "skiff/session.h"

namespace skiff {

/// A model from a file, or from bytes that it keeps.
class OpenedModel {
 public:
  /// `cache_folder`: see ModelOptions; empty for none.
  explicit OpenedModel(const std::string& path, const std::string& cache_folder = "",
                       Span<const Delegate* const> delegates = BuiltinDelegates());
  explicit OpenedModel(const std::vector<uint8_t>& bytes);

  Model& model() { return *model_; }
  const ModelData& data() const { return model_->data(); }
  /// The first one.
  SignatureInfo signature() const { return model_->signature(0); }

 private:
  std::unique_ptr<uint8_t[]> storage_;
  std::unique_ptr<Model> model_;
};

using NamedTensors = std::map<std::string, TensorData>;

/// What the tool calls a backend: which plan of the file runs, and by what.
struct RunsOn {
  Backend backend = Backend::kPlanned;
  Target target = Target::kCpu;

  RunsOn(Backend backend) : backend(backend) {}  // NOLINT: a backend of the cpu plan
  RunsOn(Backend backend, Target target) : backend(backend), target(target) {}
  auto operator<=>(const RunsOn&) const = default;
};

/// "xnnpack" (each node of the cpu plan where the converter put it), "reference", and "vulkan" (the same of
/// the vulkan plan).
RunsOn BackendFromName(const std::string& name);
const char* BackendName(const RunsOn& runs_on);
inline constexpr const char* kBackendNames[] = {"xnnpack", "vulkan", "reference"};

std::unique_ptr<Session> CreateSession(Model& model, const SessionOptions& options);
/// Throws Error naming inputs that are missing.
void SetInputs(Session& session, const NamedTensors& inputs);
/// Copies of all outputs.
NamedTensors Outputs(const Session& session);
/// The outputs where they lie, until the next run; copies of those that are not dense.
NamedTensors OutputsInPlace(const Session& session);

/// "'a', 'b'" of inputs or outputs, for messages.
std::string PortNames(Span<const PortInfo> ports);
std::vector<std::string> NamesOf(Span<const PortInfo> ports);

}  // namespace skiff
