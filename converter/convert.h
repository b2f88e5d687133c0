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

struct ConvertOptions {
  std::map<std::string, std::vector<int64_t>> shapes;  ///< --shape: by input name.
  std::map<std::string, int64_t> dims;                 ///< --dim: by Symbol name.
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

/// Gives every Symbol of the graph's inputs its value. Throws Error (kInvalidArgument) for an unknown input
/// or dimension, a shape that contradicts the file's, and for dimensions that stay open (listing the options
/// that would fix them).
void FixShapes(Graph& graph, const ConvertOptions& options);

/// Passes, partition and memory plan over a graph whose input shapes are fixed, and the file's bytes.
std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options = {});

/// From a model file (.onnx).
std::unique_ptr<ConvertResult> ConvertFile(const std::string& path, const ConvertOptions& options = {});

/// What became of every node of the source file, one line each.
std::string Explain(const ConvertResult& result);

}  // namespace skiff
