#include "cli/parity_pairs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "cli/input_files.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "import/import_model.h"
#include "parity/parity.h"
#include "run/onnxruntime.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

std::string ExtentsText(const std::vector<int64_t>& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// The sizes of the tensors in files for dimensions of which no option speaks. Throws Error where one does
/// speak, and of other sizes.
void TakeSizesOf(const NamedShapes& shapes, const Graph& source, ShapeContract& options) {
  for (const GraphPort& port : source.caller_inputs()) {
    const auto shape = shapes.find(port.name);
    if (shape == shapes.end() || options.shapes.contains(port.name)) continue;
    const std::vector<Dim>& dims = source.value(port.value).dims;
    for (size_t axis = 0; axis < std::min(dims.size(), shape->second.size()); ++axis) {
      if (dims[axis].constant()) continue;
      const std::string& name = source.symbols()[static_cast<size_t>(dims[axis].symbol())].name;
      const int64_t size = shape->second[axis];
      const DimRange& range = options.dims.emplace(name, size).first->second;
      if (size >= range.min && size <= range.max && size % range.multiple == 0) continue;
      const std::string said = fmt::format("--dim {}={}", name, RangeText(range));
      Throw(StatusCode::kInvalidArgument,
            "{}: the tensor for input '{}' has the shape {}, and '{}' is its axis {}; leave {} out, or say "
            "--dim {}={}",
            said, port.name, ExtentsText(shape->second), name, axis, said, name, size);
    }
  }
}

/// A folder holds the tensors of one call.
void CheckOneSignature(const ParityArguments& arguments, const std::vector<std::string>& names) {
  if (!ReadsFiles(arguments) || names.size() == 1) return;
  Throw(StatusCode::kInvalidArgument,
        "the files of --inputs and --expect are of one signature; choose it with --signature: '{}'",
        fmt::join(names, "', '"));
}

PreparedParity ConvertHere(const ParityArguments& arguments) {
  ConvertOptions options = ToConvertOptions(arguments);
  if (std::find(arguments.backends.begin(), arguments.backends.end(), "vulkan") != arguments.backends.end())
    options.targets = {Target::kVulkan};
  const std::unique_ptr<SourceModel> source = OpenSource(arguments.source);
  std::vector<std::string> names;
  for (const size_t i : ChooseSignatures(*source, options.signatures))
    names.push_back(source->signatures()[i].name);
  CheckOneSignature(arguments, names);
  const auto extend = [&](const Graph& graph, ShapeContract& contract) {
    const std::string inputs = InputsOf(arguments);
    if (graph.symbols().empty()) return;
    NamedShapes shapes = ReadShapes(arguments.inputs.files, graph.caller_inputs());
    if (!IsRandomSource(inputs)) shapes.merge(ReadShapes(inputs, graph.caller_inputs()));
    TakeSizesOf(shapes, graph, contract);
  };
  const std::vector<NamedGraph> graphs = ImportSignatures(*source, options, extend);
  PreparedParity prepared;
  for (const NamedGraph& graph : graphs)
    prepared.pairs.push_back({graph.name, graph.graph, static_cast<int>(prepared.pairs.size())});
  prepared.opened = std::make_unique<OpenedModel>(ConvertGraphs(graphs, options)->file);
  return prepared;
}

/// Which signature of the source one of the model was made from: that of its name; where there is none,
/// "main" was made from the first.
size_t SourceOf(const ModelSignature& signature, const SourceModel& source) {
  std::string names;
  for (size_t i = 0; i < source.signatures().size(); ++i) {
    if (source.signatures()[i].name == signature.name()) return i;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", source.signatures()[i].name);
  }
  if (std::string_view(signature.name()) == kMainSignature) return 0;
  Throw(StatusCode::kInvalidArgument,
        "the model was not made from this source: it has the signature '{}', the source has {}",
        signature.name(), names);
}

/// Those of the model that are wanted, by its names or the source's.
std::vector<ParityPair> PairsOf(const ParityArguments& arguments, const Model& model,
                                const SourceModel& source) {
  std::vector<ParityPair> pairs;
  std::vector<std::string> unknown = arguments.signatures;
  for (int i = 0; i < model.signature_count(); ++i) {
    const ModelSignature signature(model, i);
    const std::string& name = source.signatures()[SourceOf(signature, source)].name;
    const size_t before = unknown.size();
    std::erase_if(unknown,
                  [&](const std::string& wanted) { return wanted == name || wanted == signature.name(); });
    if (arguments.signatures.empty() || unknown.size() < before)
      pairs.push_back({signature.name(), Graph(), i});
  }
  if (!unknown.empty()) FindSignature(model, unknown[0]);
  return pairs;
}

bool HasInput(const Model& model, const std::string& name) {
  for (int i = 0; i < model.signature_count(); ++i) {
    const ModelSignature signature(model, i);
    for (const PortInfo& port : signature.info().inputs) {
      if (port.name == name) return true;
    }
  }
  return false;
}

/// What an option says of an input that is still one of the model's: it was converted without.
void CheckNoInput(const ParityArguments& arguments, const Model& model, const std::string& option,
                  const std::map<std::string, std::string>& said) {
  for (const auto& [name, value] : said) {
    if (!HasInput(model, name)) continue;
    Throw(StatusCode::kInvalidArgument,
          "--{0} {1}={2}: {3} was converted without it: '{1}' is one of its inputs; leave --{0} out, or "
          "convert the source again with --{0} {1}={2}",
          option, name, value, arguments.model);
  }
}

/// Inputs that conversion made constants or variables of: the file tells. Throws Error where an option says
/// another number, or another output.
void TakeSettingsOf(const Model& model, ParityArguments& arguments) {
  std::map<std::string, std::string> numbers;
  for (const auto& [name, number] : ToFixedInputs(arguments)) numbers[name] = fmt::format("{}", number);
  std::map<std::string, std::string> outputs;
  for (const StatePair& state : ToStates(arguments)) outputs[state.input] = state.output;
  const auto take = [&](std::string_view key, std::string_view kind, const std::string& stored,
                        const std::map<std::string, std::string>& said, std::vector<std::string>& settings) {
    if (!key.starts_with(kind)) return;
    const std::string name(key.substr(kind.size()));
    const std::string option(kind.substr(0, kind.size() - 1));
    const auto other = said.find(name);
    if (other == said.end()) {
      settings.push_back(fmt::format("{}={}", name, stored));
    } else if (other->second != stored) {
      Throw(StatusCode::kInvalidArgument,
            "--{0} {1}={2}: {3} was converted with --{0} {1}={4}; leave --{0} out, or convert the source "
            "again",
            option, name, other->second, arguments.model, stored);
    }
  };
  for (const MetadataEntry& entry : model.data().metadata) {
    take(entry.key, "set:", entry.value, numbers, arguments.fixed_inputs);
    take(entry.key, "state:", entry.value, outputs, arguments.states);
  }
  CheckNoInput(arguments, model, "set", numbers);
  CheckNoInput(arguments, model, "state", outputs);
}

StatesOfModel ShapedStates(const Model& model, const ParityArguments& arguments) {
  StatesOfModel states{ToStates(arguments), {}};
  for (const VariableInfo& variable : model.data().variables) {
    const Shape& shape = variable.initial.shape;
    const bool is_state = std::any_of(states.pairs.begin(), states.pairs.end(),
                                      [&](const StatePair& pair) { return pair.input == variable.name; });
    if (is_state) states.shapes[variable.name] = {shape.begin(), shape.end()};
  }
  return states;
}

}  // namespace

bool ExpectsFramework(const ParityArguments& arguments) { return arguments.expected == kOnnxruntime; }

std::string InputsOf(const ParityArguments& arguments) {
  if (!arguments.inputs.others.empty()) return arguments.inputs.others;
  return arguments.expected.empty() || ExpectsFramework(arguments) ? kDefaultInputs : arguments.expected;
}

bool ReadsFiles(const ParityArguments& arguments) {
  const bool reads_expected = !arguments.expected.empty() && !ExpectsFramework(arguments);
  return !IsRandomSource(InputsOf(arguments)) || !arguments.inputs.files.empty() || reads_expected;
}

PreparedParity Prepare(ParityArguments& arguments) {
  std::error_code error;
  if (!arguments.expected.empty() && !ExpectsFramework(arguments) &&
      !std::filesystem::is_directory(arguments.expected, error)) {
    Throw(StatusCode::kIo, "--expect {}: is no folder; expected one with outputs, or {}{}",
          arguments.expected, kOnnxruntime, DidYouMean(arguments.expected, {kOnnxruntime}));
  }
  if (arguments.model.empty()) return ConvertHere(arguments);
  PreparedParity prepared;
  prepared.opened = std::make_unique<OpenedModel>(arguments.model, arguments.cache_folder);
  const Model& model = prepared.opened->model();
  TakeSettingsOf(model, arguments);
  const StatesOfModel states = ShapedStates(model, arguments);
  const std::unique_ptr<SourceModel> source = OpenSource(arguments.source);
  Within(arguments.model, [&] { prepared.pairs = PairsOf(arguments, model, *source); });
  std::vector<std::string> names;
  for (const ParityPair& pair : prepared.pairs) names.push_back(pair.name);
  CheckOneSignature(arguments, names);
  SharedOptions shared(ToFixedInputs(arguments), {}, prepared.pairs.size());
  for (ParityPair& pair : prepared.pairs) {
    const ModelSignature signature(model, pair.signature);
    const auto fix = [&](Graph& graph) {
      Within(arguments.model, [&] { FixToModel(graph, signature.info(), states); });
    };
    const size_t index = SourceOf(signature, *source);
    ImportOptions options{shared.FixedInputsOf(source->signatures()[index]), fix, {}};
    for (const PortInfo& port : signature.info().inputs)
      options.ranks[port.name] = static_cast<size_t>(port.shape.rank());
    pair.source = source->Import(index, options);
    KeepStates(pair.source, StatesOf(pair.source, states.pairs, prepared.pairs.size() == 1));
    fix(pair.source);  // Its outputs are there now.
  }
  shared.CheckAllUsed();
  return prepared;
}

}  // namespace skiff::cli
