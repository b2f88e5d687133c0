/// The runtime as host code uses it: its Status and logged sentence become an Error.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error_capture.h"
#include "delegates/registry.h"
#include "format/model_data.h"
#include "graph/graph.h"
#include "skiff/session.h"

namespace skiff::cli {

/// Throws Error with the captured sentence, or with the code's name where there is none.
[[noreturn]] void ThrowStatus(Status status, const char* message);

/// Runs a call into the runtime and returns its value, or throws Error.
template <class Call>
auto Must(Call&& call) {
  ErrorCapture capture;
  auto result = call();
  if constexpr (std::is_same_v<decltype(result), Status>) {
    if (!result.ok()) ThrowStatus(result, capture.message());
  } else {
    if (!result.ok()) ThrowStatus(result.status(), capture.message());
    return std::move(result.value());
  }
}

/// A model from a file, or from bytes that it keeps.
class OpenedModel {
 public:
  /// `cache_folder`: see ModelOptions; empty for none.
  explicit OpenedModel(const std::string& path, const std::string& cache_folder = "",
                       Span<const Delegate* const> delegates = BuiltinDelegates());
  explicit OpenedModel(const std::vector<uint8_t>& bytes);

  Model& model() { return *model_; }
  const ModelData& data() const { return model_->data(); }
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

/// "'a', 'b'" of inputs or outputs, for messages.
std::string PortNames(Span<const PortInfo> ports);

}  // namespace skiff::cli
