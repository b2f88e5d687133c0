#include "convert.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/error_capture.h"
#include "core/platform.h"
#include "graph/custom_operators.h"
#include "graph/error.h"
#include "skiff/model.h"
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

/// What the loader would refuse is never written: an output file is only replaced by one that opens.
void CheckOwnFile(const std::vector<uint8_t>& file) {
  const std::unique_ptr<void, void (*)(void*)> copy(platform::AllocateAligned(file.size()),
                                                    platform::FreeAligned);
  if (!copy) Throw(StatusCode::kOutOfMemory, "there is no memory to check the file of {} bytes", file.size());
  std::memcpy(copy.get(), file.data(), file.size());
  ErrorCapture capture;
  const std::vector<CustomOperator> operators = RunnableCustomOperators();
  const auto opened = Model::Open({static_cast<const uint8_t*>(copy.get()), file.size()},
                                  {{}, nullptr, {operators.data(), operators.size()}});
  if (!opened.ok())
    Throw(StatusCode::kInternal, "the converter made a file that does not open; please report it: {}",
          capture.message());
}

void Optimise(PlannedGraph& planned, const ConvertOptions& options) {
  RunPipeline(planned.graph, options.pipeline);
  CopyPassedThroughInputs(planned.graph);
}

/// Plans that share a file share the Session's input buffers, which then lie outside of the arena.
void Draft(PlannedGraph& planned, const std::set<SymbolId>& symbols, bool one_of_several,
           const ConvertOptions& options) {
  const auto draft = [&](Target target) {
    PlanDraft made = DraftPlan(planned.graph);
    made.target = target;
    made.inputs_outside = made.inputs_outside || one_of_several;
    SetRanges(made, symbols);
    Partition(made, {options.delegates.data(), options.delegates.size()});
    return made;
  };
  planned.draft = draft(Target::kCpu);
  for (const Target target : options.targets) planned.others.push_back(draft(target));
}

void PlanArenas(PlannedGraph& planned) {
  PlanArena(planned.draft);
  for (PlanDraft& draft : planned.others) PlanArena(draft);
}

}  // namespace

std::unique_ptr<ConvertResult> PlanGraph(Graph graph, const ConvertOptions& options) {
  const auto progress = [&](const std::string& step) {
    if (options.progress) options.progress(step);
  };
  auto result = std::make_unique<ConvertResult>();
  for (const Bucket& bucket : options.buckets) {
    result->buckets.push_back(std::make_unique<PlannedGraph>());
    result->buckets.back()->graph = graph;
    NarrowTo(result->buckets.back()->graph, bucket);
  }
  const std::set<SymbolId> symbols = OpenSymbols(graph);
  result->graph = std::move(graph);
  progress("optimise");
  Optimise(*result, options);
  for (const auto& bucket : result->buckets) Optimise(*bucket, options);
  progress("partition");
  Draft(*result, symbols, !result->buckets.empty(), options);
  for (const auto& bucket : result->buckets) Draft(*bucket, symbols, true, options);
  progress("plan memory");
  PlanArenas(*result);
  for (const auto& bucket : result->buckets) PlanArenas(*bucket);
  return result;
}

SignatureDraft SignatureOf(const ConvertResult& planned) {
  SignatureDraft signature;
  signature.plans.push_back(&planned.draft);
  for (const auto& bucket : planned.buckets) signature.plans.push_back(&bucket->draft);
  for (size_t i = 0; i < planned.others.size(); ++i) {
    signature.plans.push_back(&planned.others[i]);
    for (const auto& bucket : planned.buckets) signature.plans.push_back(&bucket->others[i]);
  }
  return signature;
}

std::vector<uint8_t> WriteChecked(const FileDraft& draft, const WriteOptions& options) {
  std::vector<uint8_t> file = SerializeModel(draft, options);
  CheckOwnFile(file);
  return file;
}

std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options) {
  std::unique_ptr<ConvertResult> result = PlanGraph(std::move(graph), options);
  if (options.progress) options.progress("write");
  FileDraft draft{{SignatureOf(*result)}, {}};
  for (const GraphVariable& variable : result->graph.variables) {
    const auto index = static_cast<int32_t>(draft.variables.size());
    draft.signatures[0].read_variables.push_back(index);
    draft.signatures[0].assigned_variables.push_back(index);
    draft.variables.emplace_back(variable.name, variable.first);
  }
  result->file = WriteChecked(draft, WriteOptionsFor(result->graph, options));
  return result;
}

std::unique_ptr<ConvertResult> ConvertFile(const std::string& path, const ConvertOptions& options) {
  if (options.progress) options.progress("import");
  ImportOptions import{options.fixed_inputs, [&](Graph& graph) { FixShapes(graph, options); }};
  return ConvertGraph(ImportModel(path, import), options);
}

std::string Explain(const ConvertResult& result) {
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
    for (const std::string& note : source.notes) text += fmt::format(" {};", note);
    if (nodes_of[s].empty() && source.notes.empty()) text += " no output needs it: removed;";
    text.back() = '\n';
  }
  return text;
}

}  // namespace skiff
