/// What the tests of TensorFlow Lite nets share: their inputs, and how far two runs are apart.
#pragma once

#include <string>

#include "tests/models/model_cases.h"

namespace skiff::testing {

/// Every open dimension is 1.
ShapeContract AllOnes(const std::string& path);

/// Whether the inputs that the reference data was computed from are known here.
bool DrawnByNumpy(const Graph& graph);
/// Those, or else random ones.
std::map<std::string, TensorData> TfliteInputs(const Graph& graph);

/// How far outputs are apart, and whether that is allowed.
struct TfliteVerdict {
  double worst = 0;
  bool ok = true;

  /// Of real numbers the largest difference over the largest number counts, at most `tolerance`; of quantised
  /// integers the share of those that are more than `units` apart, at most `codes`; other integers must be
  /// equal.
  void Add(const TensorData& got, const TensorData& expected, double units, double tolerance, double codes);
};

}  // namespace skiff::testing
