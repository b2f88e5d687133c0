/// The whole conversion as one call: import, fix the shapes, run the passes, emit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emit/write_model.h"
#include "graph/graph.h"
#include "passes/passes.h"

namespace skiff {

/// The sizes that a dimension may have.
struct DimRange {
  int64_t min = 1;
  int64_t max = Symbol::kUnbounded;
  int64_t multiple = 1;

  DimRange() = default;
  DimRange(int64_t size) : min(size), max(size) {}  // NOLINT: one size is a range
  DimRange(int64_t smallest, int64_t largest, int64_t step = 1)
      : min(smallest), max(largest), multiple(step) {}
  bool operator==(const DimRange&) const = default;
};

struct ConvertOptions {
  std::map<std::string, std::vector<int64_t>> shapes;  ///< --shape: by input name.
  std::map<std::string, DimRange> dims;                ///< --dim: by Symbol name.
  /// --bucket: the ranges that one plan each serves, by Symbol name; Symbols that are left out have the range
  /// of their contract. Empty: one plan for the whole contract.
  std::vector<std::map<std::string, DimRange>> buckets;
  bool keep_open =
      true;  ///< Dimensions that nothing fixes stay open, as the file's contract; else they are an error.
  PartitionOptions partition;
  PipelineOptions pipeline;
  /// For every 4-D input whose size fits; height, width 0: from the input.
  std::optional<ImageSettings> image;
  /// For every output whose last extent is their count.
  std::vector<std::string> labels;
  bool strip = false;
  /// Told when a step begins, for a progress display; may be empty.
  std::function<void(const std::string& step)> progress;
};

struct ConvertResult {
  std::vector<uint8_t> file;
  Graph graph;      ///< As it was emitted.
  PlanDraft draft;  ///< Points into `graph`.
};

/// Gives every Symbol of the graph's inputs its contract, and checks that the buckets lie inside of it.
/// Throws Error (kInvalidArgument) for an unknown input or dimension, a shape that contradicts the file's,
/// and for dimensions that stay open (listing the options that would fix them).
void FixShapes(Graph& graph, const ConvertOptions& options);

/// "1..512,multiple=8", "7", "1..": a range as --dim takes it.
std::string RangeText(const DimRange& range);

/// Which options would bound the dimensions without a maximum; "" when all have one.
std::string OpenDimsHint(const Graph& graph);

/// Passes, partition and memory plan over a graph whose input shapes are fixed, and the file's bytes.
std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options = {});

/// From a model file (.onnx).
std::unique_ptr<ConvertResult> ConvertFile(const std::string& path, const ConvertOptions& options = {});

/// What became of every node of the source file, one line each.
std::string Explain(const ConvertResult& result);

}  // namespace skiff
