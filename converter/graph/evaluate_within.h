/// Eager mode with limits of the caller's, for what a stranger's file asks for.
#pragma once

#include "graph/evaluate.h"

namespace skiff {

/// Evaluate() itself takes no more than these; a file of a kilobyte can ask for more.
struct EvaluateLimits {
  /// What the values of a run may take at a time, beside inputs and constants; 0: 4 GiB and four times the
  /// constants.
  uint64_t bytes = 0;
  /// Steps of all loops in a run, as SessionOptions::loop_limit.
  int64_t steps = int64_t{1} << 24;
  /// Steps of operators (StepsOf), of which a loop asks for as many as it likes: what this and other runs may
  /// still take, and what is left then. Null: there is no limit.
  int64_t* work = nullptr;
};

/// Evaluate() within limits. Throws Error, also (kUnsupported) beyond them.
std::map<std::string, TensorData> EvaluateWithin(const EvaluateLimits& limits, const Graph& graph,
                                                 const std::map<std::string, TensorData>& inputs,
                                                 const EvaluateOptions& options = {});

}  // namespace skiff
