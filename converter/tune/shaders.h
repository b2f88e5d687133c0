/// Sizes of the GPU's work groups, measured: skiff bench --tune.
#pragma once

#include <string>
#include <vector>

#include "run/bench.h"

namespace skiff {

/// A pipeline's sizes, and how long all of its nodes took in one run.
struct TunedShader {
  std::string shader;
  std::string constants;  ///< Of its variant.
  std::string precision;  ///< "f32", "f16", "f16 arithmetic".
  uint32_t group_by_rule = 0;
  uint32_t group = 0;
  uint32_t tile_by_rule = 0;  ///< 0: it has no tiles.
  uint32_t tile = 0;
  double ns_by_rule = 0;
  double ns = 0;
};

/// What the cache folder holds for the GPU of this machine; empty without a GPU or a folder.
std::vector<TunedShader> ReadTuning(const std::string& cache_folder);

/// Measures sizes for the model's shaders at these inputs and leaves them in the cache folder. Returns whole
/// runs by rule. Throws Error where there is no GPU.
BenchResult Tune(const std::string& model, const std::string& cache_folder, const NamedTensors& inputs,
                 const BenchOptions& options);

}  // namespace skiff
