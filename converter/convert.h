/// The whole conversion as one call: import, fix the shapes, run the passes, emit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delegates/supports.h"
#include "emit/write_model.h"
#include "graph/graph.h"
#include "import/import_model.h"
#include "passes/passes.h"
#include "shape_contract.h"
#include "state.h"

namespace skiff {

struct ConvertOptions : ShapeContract {
  /// Of a file, in this order; empty: all of them (ConvertFile).
  std::vector<std::string> signatures;
  /// Buckets that get plans of their own beside the plan for the whole contract.
  std::vector<Bucket> buckets;
  /// Inputs that become constants (ConvertFile).
  FixedInputs fixed_inputs;
  /// What the Session keeps from run to run instead of the caller (ConvertFile).
  std::vector<StatePair> states;
  /// No variable is updated where it lies: what a run makes of it is copied (files that older builds read).
  bool copy_state = false;
  /// Who may run nodes, in the order of preference: Skiff's delegates, and an application's. What none of
  /// them supports runs with the reference kernels.
  std::vector<const DelegateSupport*> delegates = {BuiltinSupports().begin(), BuiltinSupports().end()};
  /// Plans beside each plan for the CPU, which runs where the target's device is absent.
  std::vector<Target> targets;
  PipelineOptions pipeline;
  /// For every 4-D input whose size fits. Others are pictures where the source says how (graph/port_notes.h).
  std::optional<ImageSettings> image;
  /// For every output that has as many classes (skiff/labels.h). Others have the labels of the source.
  std::vector<std::string> labels;
  bool strip = false;
  /// Told when a step begins, for a progress display; may be empty.
  std::function<void(const std::string& step)> progress;
};

/// A graph as it was emitted, and the plans made from it, which point into it.
struct PlannedGraph {
  Graph graph;
  PlanDraft draft;                ///< For the CPU.
  std::vector<PlanDraft> others;  ///< For ConvertOptions::targets.
};

struct PlannedSignature : PlannedGraph {  ///< Of the whole contract.
  std::string name;
  std::vector<std::unique_ptr<PlannedGraph>>
      buckets;  ///< In the order of the options; plans behind the first.
};

/// One graph, and the file that was made of it.
struct ConvertResult : PlannedSignature {
  std::vector<uint8_t> file;
};

/// A file with several.
struct ConvertedFile {
  std::vector<std::unique_ptr<PlannedSignature>> signatures;
  std::vector<uint8_t> file;
};

/// Passes, partition and memory plan over a graph, for the whole contract of its Symbols and for each bucket;
/// no file yet.
std::unique_ptr<PlannedSignature> PlanGraph(Graph graph, const ConvertOptions& options = {});

/// What a file says about a graph that was planned; points into `planned`.
SignatureDraft SignatureOf(const PlannedSignature& planned);

/// The bytes of a file, which a loader has opened once. Throws Error (kInternal) where it did not.
std::vector<uint8_t> WriteChecked(const FileDraft& draft, const WriteOptions& options);

/// PlanGraph, and the bytes of a file with that one signature, "main".
std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options = {});

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// The same with several signatures, the first of which is the default. They share weights, and variables by
/// name. Buckets apply to those that have their dimensions. Throws Error, which names the signature where
/// there are several; kUnsupported where two begin with other elements of a variable.
std::unique_ptr<ConvertedFile> ConvertGraphs(std::vector<NamedGraph> graphs,
                                             const ConvertOptions& options = {});

/// ConvertGraphs(), with the file at `output` as ConvertFileTo() puts it there.
std::unique_ptr<ConvertedFile> ConvertGraphsTo(std::vector<NamedGraph> graphs, const std::string& output,
                                               const ConvertOptions& options = {});

/// From a model file (.onnx, .tflite), with the signatures that the options name.
std::unique_ptr<ConvertedFile> ConvertFile(const std::string& path, const ConvertOptions& options = {});

/// The same, with the file at `output`, as WriteFileAtomically() puts it there, instead of in `file`: nothing
/// of its size is in memory beside the weights. Throws Error (kIo) also for that place.
std::unique_ptr<ConvertedFile> ConvertFileTo(const std::string& path, const std::string& output,
                                             const ConvertOptions& options = {});

/// What became of every node of the source file, one line each.
std::string Explain(const PlannedGraph& result);

}  // namespace skiff
