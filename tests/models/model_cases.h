/// One real model taken through import, eager mode, conversion and every backend, with the figures that the
/// tests check and print.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/tiny_models.h"

namespace skiff::testing {

/// Whole-net tolerances relative to the largest output (docs/numerics.md).
inline constexpr double kF32NetTolerance = 2e-5;
inline constexpr double kF16NetTolerance = 1e-2;

class ModelCase {
 public:
  /// Imports `path` and fixes open dimensions by input shapes. Throws Error.
  ModelCase(const std::string& path, const std::map<std::string, std::vector<int64_t>>& shapes);
  /// Leaves dimensions open, within the contract.
  ModelCase(const std::string& path, const ShapeContract& contract);

  const Graph& source() const { return source_; }
  const ConvertResult& converted() const { return *converted_; }
  bool half() const { return half_; }

  std::map<std::string, TensorData> RunEagerly(const std::map<std::string, TensorData>& inputs) const;
  std::map<std::string, TensorData> Run(Backend backend, const std::map<std::string, TensorData>& inputs,
                                        Target target = Target::kCpu);

  std::unique_ptr<Session> Open(Backend backend, Target target = Target::kCpu);

  int fell_back() const { return fell_back_; }

  // What the optimised graph looks like.
  int nodes() const { return static_cast<int>(converted_->draft.nodes.size()); }
  int NodesOn(DelegateKind delegate) const;
  /// Nodes of the plan for the GPU that are planned for the CPU, the shape program aside.
  int NodesBesideTheGpu() const;
  int CountOps(OpCode op) const;
  /// Convolutions that XNNPACK does not run.
  int ConvolutionsElsewhere() const;
  /// Transposes that move elements and lie on a path from one convolution to another.
  int TransposesBetweenConvolutions() const;

 private:
  Graph source_;
  std::unique_ptr<ConvertResult> converted_;
  AlignedBytes file_;
  std::unique_ptr<Model> model_;
  bool half_ = false;
  int fell_back_ = 0;
};

/// The largest difference over all outputs, each relative to that output's largest value.
double WorstRelative(const std::map<std::string, TensorData>& got,
                     const std::map<std::string, TensorData>& expected);

/// The seeded inputs that some reference outputs were computed from: numpy.random.RandomState(0).rand() for
/// each graph input in order (MT19937, 53-bit doubles, as documented by NumPy), as f32; bytes by randint()
/// over all of their numbers.
std::map<std::string, TensorData> NumpySeededInputs(const Graph& graph);

}  // namespace skiff::testing
