/// What a file cannot hold, because no loader would take it (plan/limits.h), said by the net's names.
#pragma once

#include "emit/write_model.h"

namespace skiff {

/// Throws Error (kUnsupported) where bodies lie too deep in bodies.
void CheckBodyDepth(const Graph& graph);

/// Throws Error (kUnsupported) where the graph has too many inputs.
void CheckInputCount(const Graph& graph);

/// Throws Error (kUnsupported) where a dimension or an input has sizes alone that no tensor has.
void CheckDimensions(const Graph& graph);

/// Throws Error (kUnsupported) where the arena of a plan, whose places are known, is too large.
void CheckArena(const PlanDraft& draft);

/// What all plans of a file take together.
class FileLimits {
 public:
  /// Throws Error (kUnsupported) where the plan, or the file with it, is too large.
  void Add(const PlanDraft& draft);
  /// Throws Error (kUnsupported) where the labels are too many for the file.
  void Add(const PortSettings& ports);
  /// Tables beside the plans.
  void AddTables(uint64_t count);

 private:
  void AddPlan(const PlanDraft& draft);

  uint64_t tables_ = 0;
  uint64_t references_ = 0;
};

}  // namespace skiff
