/// The ONNX backend test suites (Debian: libonnx-testdata) as cases: a model, inputs and expected outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

struct OnnxCase {
  std::string
      suite;  ///< "node", "simple", "pytorch-converted", "pytorch-operator", "node-1.20", "simple-1.20".
  std::string name;    ///< "test_abs".
  std::string folder;  ///< Holds model.onnx and test_data_set_0, ...
};

/// A case made ready to run.
struct OnnxCaseData {
  Graph graph;
  struct Set {
    std::map<std::string, TensorData> inputs;
    std::vector<std::pair<std::string, TensorData>> outputs;
  };
  std::vector<Set> sets;
  bool frozen = false;  ///< Inputs became constants, because Skiff needs them before the run.
};

/// Sorted; empty where the package is not installed. What platforms/onnx_node_cases fetches is "node-1.20"
/// and "simple-1.20", without the cases that the older suite has as well. The environment variable
/// SKIFF_ONNX_TESTDATA names another place, instead of both.
std::vector<OnnxCase> AllOnnxCases();

/// Throws Error. Inputs that Skiff needs as constants (axes, scales) are turned into initializers.
OnnxCaseData LoadOnnxCase(const OnnxCase& test);

/// Empty when `actual` is what the suite expects, else a sentence. Suites compute with NumPy in the storage
/// type. `rounded`: the expected floats were written down with four decimals, the last of which
/// may be off by one.
std::string CompareWithExpected(const TensorData& actual, const TensorData& expected, bool rounded = false);

/// Why a case is out of scope, or compared less sharply; empty when it has to pass.
struct OnnxCaseStatus {
  enum Kind { kPasses, kUnsupported, kDiffers, kRounded };
  Kind kind = kPasses;
  std::string reason;
};
OnnxCaseStatus StatusOf(const OnnxCase& test);

/// Why a case's inputs are made constants; null for those that are run as they are.
const char* WhyFrozen(const OnnxCase& test);
/// From which of them on: 1, where the first is what the case is about.
int FirstFrozenInput(const OnnxCase& test);

/// Rows of the list of exceptions that match none of these cases. Rows of a suite that is absent are not
/// judged.
std::vector<std::string> UnusedExceptions(const std::vector<OnnxCase>& cases);

}  // namespace skiff
