/// The code that models need of the runtime, as a list that its build takes
/// (platforms/cmake/operators.cmake).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "skiff/model.h"

namespace skiff::cli {

/// Names of ops.def, by the delegate that has to have them, and of delegates/vulkan/pipelines/shaders.def.
struct SizeList {
  /// By the upper-case name of the delegate; those of applications together.
  std::map<std::string, std::set<std::string>> operators;
  std::set<std::string> shaders;
  bool f16 = false;       ///< Of the XNNPACK delegate.
  uint32_t features = 0;  ///< FeatureBit() of each (core/features.h).
};

/// Adds what all plans of a model need: where its nodes run, and reference kernels where a node may have to
/// run on one. `fallbacks`: of every node, for devices whose CPU or GPU refuses some.
void AddModel(Model& model, bool fallbacks, SizeList* list);

/// The file; `sources` says in it what it was made from.
std::string SizeListText(const SizeList& list, const std::vector<std::string>& sources);

}  // namespace skiff::cli
