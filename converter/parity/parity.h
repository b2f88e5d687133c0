/// Parity: does a converted model compute what its source computes? The source graph runs eagerly (operator
/// by operator, by the reference kernels); the model's plan runs on each backend; outputs are compared, and
/// layers where asked for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "parity/compare.h"
#include "run/model_signature.h"
#include "run/opened_model.h"
#include "state.h"

namespace skiff {

struct EagerRun;
class Judge;

struct ParityOptions {
  int signature = 0;  ///< Of the model: the one that was made from the source.
  std::vector<RunsOn> backends = {Backend::kPlanned, Backend::kReference};
  int threads = 0;
  bool keep_state = false;  ///< Check() begins with the variables that eager mode's last one left.
  int repeat = 1;           ///< Runs of each backend, whose outputs must be the same bits.
  /// Of floats and the integers of quantised nets, instead of DefaultTolerance() and of measuring what
  /// rounding costs.
  std::optional<Tolerance> tolerance;
  bool layers = false;
  /// Inputs that eager mode or a plan cannot take are part of the report instead of an Error.
  bool note_refusals = false;
  std::function<void(const std::string& step)> progress;  ///< May be empty.
  /// Told what "eager" and each backend computed; may be empty.
  std::function<void(const std::string& by, const NamedTensors& outputs)> outputs;
};

/// One tensor compared.
struct TensorParity {
  std::string name;
  std::string op;  ///< Of the source node that makes it; "" for outputs.
  DType dtype = DType::kInvalid;
  Shape shape;
  Tolerance tolerance;
  Comparison comparison;
  bool measured = false;  ///< What rounding costs this net was measured, and counts instead of the tolerance.
};

/// Where rounding grows most: what it costs the layer, beside what it cost the layers that the node reads.
struct Amplifier {
  std::string layer;
  std::string op;
  double before = 0;  ///< Of the largest element, typically.
  double behind = 0;
};

struct BackendParity {
  RunsOn backend = Backend::kPlanned;
  std::vector<TensorParity> outputs;   ///< Plan against eager, and variables that it assigns.
  std::vector<TensorParity> expected;  ///< Plan against the expected outputs.
  std::vector<TensorParity> layers;    ///< Plan against eager, in the source's order.
  std::optional<Amplifier> amplifier;  ///< Where layers were compared and sensitivity was measured.
  size_t fused_away = 0;               ///< Source tensors that the plan does not have.
  std::string unstable;                ///< The output that another run gave other bits; "" when none did.
  std::string refused;                 ///< Why the plan did not run; "" when it did.

  /// The first layer beyond its tolerance, or null.
  const TensorParity* FirstBadLayer() const;
};

struct ParityReport {
  std::vector<TensorParity> eager_expected;  ///< Eager against the expected outputs.
  std::vector<BackendParity> backends;
  std::string refused;  ///< Why eager mode did not run; "" when it did. The plans must then refuse as well.

  bool Holds(const BackendParity& backend) const;
  bool ok() const;
};

/// Inputs and outputs of a source that are variables of a model.
struct StatesOfModel {
  std::vector<StatePair> pairs;
  std::map<std::string, std::vector<int64_t>> shapes;  ///< By input.
};

/// Fixes the source's open dimensions where the model's are fixed. Throws Error when the two do not belong
/// together: other inputs, outputs (as soon as the source has some) or shapes.
void FixToModel(Graph& source, const SignatureInfo& model, const StatesOfModel& states = {});

/// Compares at one shape after the other, in the same Sessions, as an application would use them.
class ParityChecker {
 public:
  /// `source` and `model` must outlive the checker. Throws Error when layers are wanted that the model lacks.
  ParityChecker(const Graph& source, Model& model, ParityOptions options);

  /// `expected`: outputs of the original framework, where known; may be some of them, or empty. Throws Error
  /// where something cannot run at all.
  ParityReport Check(const NamedTensors& inputs, const NamedTensors& expected = {});

  /// What the next Check() computes from: with the values that variables have then, by the source's inputs.
  NamedTensors WithState(const NamedTensors& inputs) const;

 private:
  struct BackendSessions {
    std::unique_ptr<Session> session;  ///< As applications use it: tensors share memory.
    std::unique_ptr<Session> tapped;   ///< Keeps intermediates; only for layers.
  };

  /// And what the run leaves in variables.
  Span<const PortInfo> AllOutputs() const;
  void KeepState(const EagerRun& eager);
  EagerRun RunEager(const NamedTensors& inputs);
  void CheckBackend(const EagerRun& eager, Judge& judge, const NamedTensors& inputs,
                    const NamedTensors& expected, BackendParity& result);
  NamedTensors Run(std::unique_ptr<Session>& session, const RunsOn& backend, bool keep_intermediates,
                   const NamedTensors& inputs);

  const Graph& source_;
  Model& model_;
  ModelSignature signature_;
  ParityOptions options_;
  std::map<RunsOn, BackendSessions> sessions_;
  NamedTensors state_;  ///< By the input of the source.
};

}  // namespace skiff
