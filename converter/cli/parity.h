/// Parity: does a converted model compute what its source computes? The source graph runs eagerly (operator
/// by operator, by the reference kernels); the model's plan runs on each backend; outputs are compared, and
/// layers where asked for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "cli/opened_model.h"
#include "graph/graph.h"

namespace skiff::cli {

struct ParityRequest {
  NamedTensors inputs;
  NamedTensors expected;  ///< Outputs of the original framework, where known; may be some of them, or empty.
  std::vector<Backend> backends = {Backend::kPlanned, Backend::kReference};
  int threads = 0;
  std::optional<Tolerance> tolerance;  ///< Instead of DefaultTolerance() for float tensors.
  bool layers = false;
  std::function<void(const std::string& step)> progress;  ///< May be empty.
};

/// One tensor compared.
struct TensorParity {
  std::string name;
  std::string op;  ///< Of the source node that makes it; "" for outputs.
  DType dtype = DType::kInvalid;
  Shape shape;
  Tolerance tolerance;
  Comparison comparison;
};

struct BackendParity {
  Backend backend = Backend::kPlanned;
  std::vector<TensorParity> outputs;   ///< Plan against eager.
  std::vector<TensorParity> expected;  ///< Plan against the expected outputs.
  std::vector<TensorParity> layers;    ///< Plan against eager, in the source's order.
  size_t fused_away = 0;               ///< Source tensors that the plan does not have.

  /// The first layer beyond its tolerance, or null.
  const TensorParity* FirstBadLayer() const;
};

struct ParityReport {
  std::vector<TensorParity> eager_expected;  ///< Eager against the expected outputs.
  std::vector<BackendParity> backends;

  bool ok() const;
};

/// Fixes the source's open dimensions to the model's shapes. Throws Error when the two do not belong
/// together: other inputs, outputs or shapes.
void FixToModel(Graph& source, const SignatureInfo& model);

/// `source` has constant input shapes. Throws Error where something cannot run at all.
ParityReport CheckParity(const Graph& source, Model& model, const ParityRequest& request);

}  // namespace skiff::cli
