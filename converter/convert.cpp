#include "convert.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/error_capture.h"
#include "core/platform.h"
#include "emit/file_limits.h"
#include "emit/stages.h"
#include "graph/custom_operators.h"
#include "graph/error.h"
#include "ops/op_codes.h"
#include "passes/folding_budget.h"
#include "passes/shapes/baked_sizes.h"
#include "signatures.h"
#include "skiff/model.h"
#include "state.h"
#include "write_options.h"

namespace skiff {
namespace {

/// An input that is also an output gets a node of its own, so that the output does not change with the input;
/// nor does that of a body.
void CopyPassedThroughInputs(Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId value = graph.outputs()[i].value;
    if (!graph.IsGraphInput(value)) continue;
    const ValueId copy = graph.Emit(OpCode::kIdentity, {value});
    InferNode(graph, graph.value(copy).producer);
    graph.SetOutput(i, copy);
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    for (Graph& body : graph.node(id).bodies) CopyPassedThroughInputs(body);
  }
}

/// The plan's bucket, by the contracts that its graph's Symbols have.
void SetRanges(PlanDraft& draft, const std::set<SymbolId>& symbols) {
  for (const SymbolId id : symbols) {
    const Symbol& symbol = draft.graph->symbols()[static_cast<size_t>(id)];
    draft.ranges.push_back({static_cast<uint32_t>(id), symbol.min, symbol.max});
  }
}

std::set<SymbolId> OpenSymbols(const Graph& graph) {
  std::set<SymbolId> symbols;
  for (const GraphPort& port : graph.inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant()) symbols.insert(dim.symbol());
    }
  }
  return symbols;
}

/// What the loader would refuse is never written: an output file is only replaced by one that opens. `file`:
/// its bytes, or its path.
template <class File>
void CheckOpens(const File& file) {
  ErrorCapture capture;
  const std::vector<CustomOperator> operators = RunnableCustomOperators();
  const auto opened = Model::Open(file, {{}, nullptr, {operators.data(), operators.size()}});
  if (opened.ok()) return;
  const StatusCode code = opened.status().code();
  if (code == StatusCode::kOutOfMemory || code == StatusCode::kIo)
    Throw(code, "the file that was made cannot be checked: {}", capture.message());
  Throw(StatusCode::kInternal, "the converter made a file that does not open; please report it: {}",
        capture.message());
}

void CheckOwnFile(const std::vector<uint8_t>& file) {
  const std::unique_ptr<void, void (*)(void*)> copy(platform::AllocateAligned(file.size()),
                                                    platform::FreeAligned);
  if (!copy) Throw(StatusCode::kOutOfMemory, "there is no memory to check the file of {} bytes", file.size());
  std::memcpy(copy.get(), file.data(), file.size());
  CheckOpens(Span<const uint8_t>(static_cast<const uint8_t*>(copy.get()), file.size()));
}

void Optimise(PlannedGraph& planned, const ConvertOptions& options) {
  RunPipeline(planned.graph, options.pipeline);
  CheckStates(planned.graph);
  CopyPassedThroughInputs(planned.graph);
  SplitStages(planned.graph);
  CheckBodyDepth(planned.graph);
}

/// Plans that share a file share the Session's input buffers, which then lie outside of the arena.
void Draft(PlannedGraph& planned, const std::set<SymbolId>& symbols, bool one_of_several,
           const ConvertOptions& options, FileLimits& limits) {
  const auto draft = [&](Target target) {
    PlanDraft made = DraftPlan(planned.graph);
    made.target = target;
    made.inputs_outside = made.inputs_outside || one_of_several;
    SetRanges(made, symbols);
    Partition(made, {options.delegates.data(), options.delegates.size()});
    if (!options.copy_state) UpdateStatesInPlace(made);
    return made;
  };
  planned.draft = draft(Target::kCpu);
  limits.Add(planned.draft);
  for (const Target target : options.targets) limits.Add(planned.others.emplace_back(draft(target)));
}

void PlanArenas(PlannedGraph& planned) {
  PlanArena(planned.draft);
  CheckArena(planned.draft);
  for (PlanDraft& draft : planned.others) {
    PlanArena(draft);
    CheckArena(draft);
  }
}

/// No caller has elements of 4 bits.
void CheckPorts(const Graph& graph) {
  const auto check = [&](const char* what, const std::vector<GraphPort>& ports) {
    for (const GraphPort& port : ports) {
      const DType dtype = graph.value(port.value).dtype;
      if (DTypeBits(dtype) == 4)
        Throw(StatusCode::kUnsupported, "{} '{}' is {}, which only constants can be", what, port.name,
              DTypeName(dtype));
    }
  };
  check("input", graph.inputs());
  check("output", graph.outputs());
}

void Plan(Graph graph, const ConvertOptions& options, FileLimits& limits, PlannedSignature& result) {
  CheckPorts(graph);
  CheckInputCount(graph);
  CheckDimensions(graph);
  CheckBodyDepth(graph);
  const auto progress = [&](const std::string& step) {
    if (options.progress) options.progress(step);
  };
  for (const Bucket& bucket : options.buckets) {
    result.buckets.push_back(std::make_unique<PlannedGraph>());
    result.buckets.back()->graph = graph;
    NarrowTo(result.buckets.back()->graph, bucket);
    CheckDimensions(result.buckets.back()->graph);
  }
  const std::set<SymbolId> symbols = OpenSymbols(graph);
  const std::vector<std::string> baked = BakedSizes(graph);
  graph.left_out.insert(graph.left_out.end(), baked.begin(), baked.end());
  result.graph = std::move(graph);
  progress("optimise");
  try {
    Optimise(result, options);
    for (const auto& bucket : result.buckets) Optimise(*bucket, options);
  } catch (const Error& error) {
    if (baked.empty()) throw;
    throw Error(error.code(), fmt::format("{}\n{}", error.what(), fmt::join(baked, "\n")));
  }
  progress("partition");
  Draft(result, symbols, !result.buckets.empty(), options, limits);
  for (const auto& bucket : result.buckets) Draft(*bucket, symbols, true, options, limits);
  progress("plan memory");
  PlanArenas(result);
  for (const auto& bucket : result.buckets) PlanArenas(*bucket);
  if (!options.labels.empty()) return;
  for (std::string& sentence : LabelsLeftOut(result.graph))
    result.graph.left_out.push_back(std::move(sentence));
}

/// The number of a variable in the file, to which it is added where no signature had it before.
int32_t VariableIndex(const GraphVariable& variable, FileDraft& draft) {
  const auto known = std::find_if(draft.variables.begin(), draft.variables.end(),
                                  [&](const auto& other) { return other.first == variable.name; });
  const auto index = static_cast<int32_t>(known - draft.variables.begin());
  if (known == draft.variables.end()) {
    draft.variables.emplace_back(variable.name, variable.first);
    return index;
  }
  const TensorData& first = known->second;
  const bool same =
      first.dtype() == variable.first.dtype() && first.shape() == variable.first.shape() &&
      SameQuantization(first.quantization(), variable.first.quantization()) &&
      (first.size_bytes() == 0 || std::memcmp(first.data(), variable.first.data(), first.size_bytes()) == 0);
  if (!same)
    Throw(StatusCode::kUnsupported,
          "the variable '{}' begins with other elements than in a signature before it; a file has one "
          "beginning for all (--signature converts some of the signatures)",
          variable.name);
  return index;
}

/// `write` makes a file of the draft.
template <class Write>
auto WriteFile(const std::vector<const PlannedSignature*>& planned, const ConvertOptions& options,
               FileLimits limits, Write&& write_draft) {
  if (options.progress) options.progress("write");
  std::vector<const Graph*> graphs;
  for (const PlannedSignature* signature : planned) graphs.push_back(&signature->graph);
  std::vector<PortSettings> ports = PortSettingsFor(graphs, options);
  FileDraft draft;
  for (size_t i = 0; i < planned.size(); ++i) {
    SignatureDraft& signature = draft.signatures.emplace_back(SignatureOf(*planned[i]));
    signature.ports = std::move(ports[i]);
    Within(planned.size() == 1 ? "" : SignatureText(planned[i]->name), [&] {
      for (const GraphVariable& variable : planned[i]->graph.variables)
        signature.read_variables.push_back(VariableIndex(variable, draft));
    });
    signature.assigned_variables = signature.read_variables;
  }
  WriteOptions write;
  write.strip = options.strip;
  write.metadata = StatedMetadata(graphs);
  limits.AddTables(write.metadata.size());
  return write_draft(draft, write);
}

/// Without a file.
std::unique_ptr<ConvertedFile> PlanGraphs(std::vector<NamedGraph> graphs, const ConvertOptions& options,
                                          FileLimits& limits) {
  const bool one = graphs.size() == 1;
  if (!one) CheckBuckets(graphs, options.buckets);
  auto result = std::make_unique<ConvertedFile>();
  for (NamedGraph& from : graphs) {
    const std::string where = one ? "" : SignatureText(from.name);
    ConvertOptions own = options;
    if (!one) {
      own.buckets = BucketsOf(from.graph, options.buckets);
      ShareFoldingBudget(from.graph, graphs.size());
    }
    PlannedSignature& signature = *result->signatures.emplace_back(std::make_unique<PlannedSignature>());
    signature.name = from.name;
    Within(where, [&] { Plan(std::move(from.graph), own, limits, signature); });
  }
  return result;
}

std::vector<const PlannedSignature*> SignaturesOf(const ConvertedFile& file) {
  std::vector<const PlannedSignature*> planned;
  for (const auto& signature : file.signatures) planned.push_back(signature.get());
  return planned;
}

/// The source is closed, with all that it still has in memory, when the graphs are there.
std::vector<NamedGraph> ImportFile(const std::string& path, const ConvertOptions& options) {
  if (options.progress) options.progress("import");
  return ImportSignatures(*OpenSource(path), options);
}

}  // namespace

std::unique_ptr<PlannedSignature> PlanGraph(Graph graph, const ConvertOptions& options) {
  auto result = std::make_unique<PlannedSignature>();
  result->name = kMainSignature;
  FileLimits limits;
  Plan(std::move(graph), options, limits, *result);
  return result;
}

SignatureDraft SignatureOf(const PlannedSignature& planned) {
  SignatureDraft signature;
  signature.name = planned.name;
  signature.plans.push_back(&planned.draft);
  for (const auto& bucket : planned.buckets) signature.plans.push_back(&bucket->draft);
  for (size_t i = 0; i < planned.others.size(); ++i) {
    signature.plans.push_back(&planned.others[i]);
    for (const auto& bucket : planned.buckets) signature.plans.push_back(&bucket->others[i]);
  }
  return signature;
}

std::vector<uint8_t> WriteChecked(const FileDraft& draft, const WriteOptions& options) {
  std::vector<uint8_t> file = SerializeModel(draft, options).ToBytes();
  CheckOwnFile(file);
  return file;
}

std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options) {
  auto result = std::make_unique<ConvertResult>();
  result->name = kMainSignature;
  FileLimits limits;
  Plan(std::move(graph), options, limits, *result);
  result->file = WriteFile({result.get()}, options, limits, WriteChecked);
  return result;
}

std::unique_ptr<ConvertedFile> ConvertGraphs(std::vector<NamedGraph> graphs, const ConvertOptions& options) {
  FileLimits limits;
  auto result = PlanGraphs(std::move(graphs), options, limits);
  result->file = WriteFile(SignaturesOf(*result), options, limits, WriteChecked);
  return result;
}

std::unique_ptr<ConvertedFile> ConvertFile(const std::string& path, const ConvertOptions& options) {
  return ConvertGraphs(ImportFile(path, options), options);
}

std::unique_ptr<ConvertedFile> ConvertFileTo(const std::string& path, const std::string& output,
                                             const ConvertOptions& options) {
  return ConvertGraphsTo(ImportFile(path, options), output, options);
}

std::unique_ptr<ConvertedFile> ConvertGraphsTo(std::vector<NamedGraph> graphs, const std::string& output,
                                               const ConvertOptions& options) {
  FileLimits limits;
  auto result = PlanGraphs(std::move(graphs), options, limits);
  WriteFile(SignaturesOf(*result), options, limits, [&](const FileDraft& draft, const WriteOptions& write) {
    const ModelFile file = SerializeModel(draft, write);
    const std::vector<Span<const uint8_t>> parts = file.parts();
    WriteFileAtomically(output, {parts.data(), parts.size()},
                        [](const std::string& temporary) { CheckOpens(temporary.c_str()); });
  });
  return result;
}

std::string Explain(const PlannedGraph& result) {
  std::vector<std::vector<size_t>> nodes_of(result.graph.sources().size());
  for (size_t i = 0; i < result.draft.nodes.size(); ++i) {
    for (const SourceId source : result.graph.node(result.draft.nodes[i].id).sources)
      nodes_of[static_cast<size_t>(source)].push_back(i);
  }
  std::string text;
  for (size_t s = 0; s < nodes_of.size(); ++s) {
    const SourceNode& source = result.graph.sources()[s];
    text += fmt::format("{} ({}):", source.name, source.op);
    for (const size_t i : nodes_of[s]) {
      const PlanNode node = result.draft.ViewOf(i);
      const DelegateSupport* support = result.draft.nodes[i].support;
      text += fmt::format(" runs as {} '{}' on {};", node.op->name, node.name,
                          support != nullptr ? support->name() : DelegateKindName(DelegateKind::kControl));
    }
    for (const auto& note : source.notes) text += fmt::format(" {};", *note);
    if (nodes_of[s].empty() && source.notes.empty()) text += " no output needs it: removed;";
    text.back() = '\n';
  }
  return text;
}

}  // namespace skiff
