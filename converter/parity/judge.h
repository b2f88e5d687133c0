/// Whether two tensors that should be equal are.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parity/layers.h"
#include "parity/parity.h"
#include "parity/sensitivity.h"

namespace skiff {

/// What eager mode computed, and what takes part in it.
struct EagerRun {
  NamedTensors outputs;
  std::vector<EagerTensor> layers;
  TakesPart takes_part;
  std::string refused;
};

/// Judges what ran on one set of inputs. Small differences are believed; others are compared with what
/// rounding costs this net at this place, which is measured when it is first asked for.
class Judge {
 public:
  /// What is passed must outlive the judge.
  Judge(const Graph& source, const NamedTensors& inputs, const EagerRun& eager, const ParityOptions& options)
      : source_(source), inputs_(inputs), eager_(eager), options_(options) {}

  /// A plan's output, or a layer where `op` is one, against eager mode's.
  TensorParity AgainstEager(const std::string& name, const std::string& op, const TensorData& eager,
                            const TensorData& got, DelegateKind delegate);
  /// What another framework computed. `got` is the plan's, or eager mode's.
  TensorParity AgainstExpected(const std::string& name, const TensorData& expected, const TensorData& got,
                               DelegateKind delegate);
  /// Nothing where nothing was measured, or where rounding grows nowhere much.
  std::optional<Amplifier> FindAmplifier(DelegateKind delegate) const;

 private:
  TensorParity Compare(const std::string& name, const std::string& op, const TensorData& expected,
                       const TensorData& got) const;
  bool MayMeasure(const TensorParity& row) const;
  void Measure(TensorParity& row, const TensorData& expected, const TensorData& got, DelegateKind delegate);
  const Sensitivity& SensitivityOf(DelegateKind delegate);

  const Graph& source_;
  const NamedTensors& inputs_;
  const EagerRun& eager_;
  const ParityOptions& options_;
  std::map<DelegateKind, Sensitivity> sensitivities_;
};

}  // namespace skiff
