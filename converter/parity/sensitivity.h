/// What rounding costs a net: how far its results move when every operator rounds as fast paths do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "run/opened_model.h"
#include "skiff/delegate.h"

namespace skiff {

/// For each element, how far rounding alone moves it: the largest movement of the elements that share an
/// index with it along one axis, for the axis where that is least. Groups of few elements say nothing.
using Movement = std::vector<double>;

struct SensitivityOptions {
  DelegateKind delegate = DelegateKind::kXnnpack;  ///< Whose fast paths.
  /// Graph values to look at beside the outputs, by the name of the source's tensor.
  const std::map<std::string, const TensorData*>* layers = nullptr;
};

struct Sensitivity {
  std::map<std::string, Movement> outputs;
  std::map<std::string, Movement> layers;
};

/// Monte Carlo arithmetic (D. S. Parker, 1997), in which each operator's result is perturbed by what its
/// rounding rule (rounding.h) says fast paths typically are away from the reference: the graph runs a few
/// times, in threads, and is compared with `eager`, what it computed without. Deterministic.
Sensitivity MeasureSensitivity(const Graph& graph, const NamedTensors& inputs, const NamedTensors& eager,
                               const SensitivityOptions& options);

}  // namespace skiff
