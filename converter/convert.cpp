#include "convert.h"

#include <algorithm>
#include <cstring>

#include "core/error_capture.h"
#include "core/platform.h"
#include "graph/error.h"
#include "import/onnx.h"
#include "skiff/model.h"

namespace skiff {
namespace {

std::string InputNames(const Graph& graph) {
  std::string names;
  for (const GraphPort& port : graph.inputs()) names += (names.empty() ? "'" : ", '") + port.name + "'";
  return names;
}

/// Sets a Symbol's value, or throws when another option gave it a different one.
void Assign(const Graph& graph, std::map<SymbolId, DimRange>& values, SymbolId symbol, const DimRange& range,
            const std::string& option) {
  const auto [found, fresh] = values.try_emplace(symbol, range);
  if (!fresh && !(found->second == range)) {
    Throw(StatusCode::kInvalidArgument,
          "{}: dimension '{}' would be {}, but it is {} elsewhere; equal names mean equal sizes", option,
          graph.symbols()[static_cast<size_t>(symbol)].name, RangeText(range), RangeText(found->second));
  }
}

void AssignShape(const Graph& graph, std::map<SymbolId, DimRange>& values, const std::string& name,
                 const std::vector<int64_t>& shape) {
  const std::string option = fmt::format("--shape {}={}", name, fmt::join(shape, "x"));
  const auto port = std::find_if(graph.inputs().begin(), graph.inputs().end(),
                                 [&](const GraphPort& p) { return p.name == name; });
  if (port == graph.inputs().end()) {
    Throw(StatusCode::kInvalidArgument, "{}: the model has no input '{}'; its inputs are {}", option, name,
          InputNames(graph));
  }
  const std::vector<Dim>& dims = graph.value(port->value).dims;
  if (dims.size() != shape.size()) {
    Throw(StatusCode::kInvalidArgument, "{}: input '{}' has {} dimensions, not {}", option, name, dims.size(),
          shape.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].constant()) {
      if (shape[i] < 0) Throw(StatusCode::kInvalidArgument, "{}: a size cannot be negative", option);
      Assign(graph, values, dims[i].symbol(), shape[i], option);
    } else if (dims[i].value != shape[i]) {
      Throw(StatusCode::kInvalidArgument,
            "{}: dimension {} of input '{}' is {} in the model and cannot be {}", option, i, name,
            dims[i].value, shape[i]);
    }
  }
}

SymbolId FindSymbol(const Graph& graph, const std::string& name, const std::string& option) {
  const auto symbol = std::find_if(graph.symbols().begin(), graph.symbols().end(),
                                   [&](const Symbol& s) { return s.name == name; });
  if (symbol != graph.symbols().end()) return static_cast<SymbolId>(symbol - graph.symbols().begin());
  std::string names;
  for (const Symbol& known : graph.symbols()) names += " '" + known.name + "'";
  Throw(StatusCode::kInvalidArgument, "{}: the model has no dimension '{}'; its named dimensions are:{}",
        option, name, names.empty() ? " none" : names);
}

/// Every bucket is about dimensions that the model has and lies inside of their contracts.
void CheckBuckets(const Graph& graph, const ConvertOptions& options) {
  for (const auto& bucket : options.buckets) {
    for (const auto& [name, range] : bucket) {
      const std::string option = fmt::format("--bucket {}={}", name, RangeText(range));
      const Symbol& symbol = graph.symbols()[static_cast<size_t>(FindSymbol(graph, name, option))];
      const DimRange contract(symbol.min, symbol.max, symbol.multiple);
      if (range.min < contract.min || range.max > contract.max)
        Throw(StatusCode::kInvalidArgument, "{}: is outside of the sizes that dimension '{}' may have: {}",
              option, name, RangeText(contract));
      if (range.min == range.max && range.min % contract.multiple != 0)
        Throw(StatusCode::kInvalidArgument, "{}: dimension '{}' must be a multiple of {}", option, name,
              contract.multiple);
    }
  }
}

/// "--dim batch=1 --dim seq=1" for the Symbols without a value.
std::string MissingOptions(const Graph& graph, const std::set<SymbolId>& missing) {
  std::string options;
  for (const SymbolId symbol : missing)
    options += fmt::format(" --dim '{}=N'", graph.symbols()[static_cast<size_t>(symbol)].name);
  return options;
}

WriteOptions WriteOptionsFor(const Graph& graph, const ConvertOptions& options) {
  WriteOptions write;
  write.strip = options.strip;
  if (options.image) {
    for (const GraphPort& port : graph.inputs()) {
      const Value& value = graph.value(port.value);
      if (value.dims.size() != 4 || value.dtype != DType::kF32 || !value.has_static_shape()) continue;
      const Shape shape = value.shape();
      ImageSettings settings = *options.image;
      const auto channels = static_cast<int64_t>(settings.mean.size());
      const bool nchw =
          shape[0] == 1 && shape[1] == channels && shape[2] == settings.height && shape[3] == settings.width;
      settings.nhwc = !nchw && shape[0] == 1 && shape[3] == channels && shape[1] == settings.height &&
                      shape[2] == settings.width;
      if (nchw || settings.nhwc) write.images[port.name] = settings;
    }
    if (write.images.empty()) {
      Throw(StatusCode::kInvalidArgument,
            "--image-size {}x{} with {} channels fits no input of the model; its inputs are {}",
            options.image->width, options.image->height, options.image->mean.size(), InputNames(graph));
    }
  }
  if (!options.labels.empty()) {
    for (const GraphPort& port : graph.outputs()) {
      const Value& value = graph.value(port.value);
      const bool fits = !value.dims.empty() && value.has_static_shape() &&
                        value.shape().elements() == static_cast<int64_t>(options.labels.size());
      if (fits) write.labels[port.name] = options.labels;
    }
    if (write.labels.empty()) {
      Throw(StatusCode::kInvalidArgument, "--labels: no output of the model has {} elements",
            options.labels.size());
    }
  }
  return write;
}

/// An input that is also an output gets a node of its own, so that the output does not change with the input.
void CopyPassedThroughInputs(Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId value = graph.outputs()[i].value;
    if (!graph.IsGraphInput(value)) continue;
    const ValueId copy = graph.Emit(OpCode::kIdentity, {value});
    InferNode(graph, graph.value(copy).producer);
    graph.SetOutput(i, copy);
  }
}

/// The plan's bucket: the whole contract.
void SetRanges(PlanDraft& draft) {
  std::set<SymbolId> symbols;
  for (const GraphPort& port : draft.graph->inputs()) {
    for (const Dim& dim : draft.graph->value(port.value).dims) {
      if (!dim.constant()) symbols.insert(dim.symbol());
    }
  }
  for (const SymbolId id : symbols) {
    const Symbol& symbol = draft.graph->symbols()[static_cast<size_t>(id)];
    draft.ranges.push_back({static_cast<uint32_t>(id), symbol.min, symbol.max});
  }
}

/// What the loader would refuse is never written: an output file is only replaced by one that opens.
void CheckOwnFile(const std::vector<uint8_t>& file) {
  const std::unique_ptr<void, void (*)(void*)> copy(platform::AllocateAligned(file.size()),
                                                    platform::FreeAligned);
  if (!copy) Throw(StatusCode::kOutOfMemory, "there is no memory to check the file of {} bytes", file.size());
  std::memcpy(copy.get(), file.data(), file.size());
  ErrorCapture capture;
  const auto opened = Model::Open({static_cast<const uint8_t*>(copy.get()), file.size()});
  if (!opened.ok())
    Throw(StatusCode::kInternal, "the converter made a file that does not open; please report it: {}",
          capture.message());
}

}  // namespace

void FixShapes(Graph& graph, const ConvertOptions& options) {
  std::map<SymbolId, DimRange> ranges;
  for (const auto& [name, shape] : options.shapes) AssignShape(graph, ranges, name, shape);
  for (const auto& [name, range] : options.dims) {
    const std::string option = fmt::format("--dim {}={}", name, RangeText(range));
    const SymbolId symbol = FindSymbol(graph, name, option);
    if (range.min < 0 || range.max < range.min || range.multiple < 1)
      Throw(StatusCode::kInvalidArgument, "{}: no size is in this range", option);
    Assign(graph, ranges, symbol, range, option);
  }
  std::set<SymbolId> open;
  for (const GraphPort& port : graph.inputs()) {
    for (Dim& dim : graph.value(port.value).dims) {
      if (dim.constant()) continue;
      Symbol& symbol = graph.symbols()[static_cast<size_t>(dim.symbol())];
      const auto found = ranges.find(dim.symbol());
      const DimRange range = found == ranges.end() ? DimRange() : found->second;
      if (found == ranges.end()) open.insert(dim.symbol());
      symbol.min = range.min;
      symbol.max = range.max;
      symbol.multiple = range.multiple;
      dim = Dim::OfSymbol(dim.symbol(), symbol);
    }
  }
  if (!open.empty() && !options.keep_open) {
    Throw(StatusCode::kInvalidArgument,
          "the model leaves dimensions open; fix them with{} (or --shape INPUT=1x3x224x224)",
          MissingOptions(graph, open));
  }
  CheckBuckets(graph, options);
}

std::string RangeText(const DimRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  const std::string end = range.max == Symbol::kUnbounded ? "" : std::to_string(range.max);
  return fmt::format("{}..{}{}", range.min, end,
                     range.multiple > 1 ? fmt::format(",multiple={}", range.multiple) : "");
}

std::string OpenDimsHint(const Graph& graph) {
  std::set<SymbolId> open;
  for (const GraphPort& port : graph.inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant() && !graph.symbols()[static_cast<size_t>(dim.symbol())].bounded())
        open.insert(dim.symbol());
    }
  }
  if (open.empty()) return "";
  std::string options;
  for (const SymbolId symbol : open)
    options += fmt::format(" --dim '{}=1..MAX'", graph.symbols()[static_cast<size_t>(symbol)].name);
  return fmt::format("memory is planned on the device at each new shape;{} would let it be planned ahead",
                     options);
}

std::unique_ptr<ConvertResult> ConvertGraph(Graph graph, const ConvertOptions& options) {
  const auto progress = [&](const char* step) {
    if (options.progress) options.progress(step);
  };
  auto result = std::make_unique<ConvertResult>();
  result->graph = std::move(graph);
  progress("optimise");
  RunPipeline(result->graph, options.pipeline);
  CopyPassedThroughInputs(result->graph);
  progress("partition");
  result->draft = DraftPlan(result->graph);
  SetRanges(result->draft);
  Partition(result->draft, options.partition);
  progress("plan memory");
  PlanArena(result->draft);
  progress("write");
  result->file = SerializeModel(result->draft, WriteOptionsFor(result->graph, options));
  CheckOwnFile(result->file);
  return result;
}

std::unique_ptr<ConvertResult> ConvertFile(const std::string& path, const ConvertOptions& options) {
  if (options.progress) options.progress("import");
  Graph graph = ImportOnnx(path);
  FixShapes(graph, options);
  return ConvertGraph(std::move(graph), options);
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
      text += fmt::format(" runs as {} '{}' on {};", node.op->name, node.name,
                          DelegateKindName(result.draft.nodes[i].delegate));
    }
    for (const std::string& note : source.notes) text += fmt::format(" {};", note);
    if (nodes_of[s].empty() && source.notes.empty()) text += " no output needs it: removed;";
    text.back() = '\n';
  }
  return text;
}

}  // namespace skiff
