// From trained models to .skiff files, and what is done with sources: eager mode, buckets, the tool itself.

#include "cli/custom_options.h"
#include "cli/dot.h"
#include "cli/inspect.h"
#include "cli/print.h"
#include "cli/tool.h"
#include "graph/custom_operators.h"
#include "graph/evaluate.h"
#include "passes/passes.h"
#include "platforms/python/bindings/options.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tools.h"
#include "signatures.h"
#include "tune/buckets.h"

namespace skiff::python {
namespace {

/// Bytes of a .skiff file, and what is said of it.
nb::tuple Convert(const std::string& source, const nb::dict& given, nb::object progress) {
  ConvertOptions options = ToConvertOptions(ToConvertArguments(given), given);
  options.progress = ProgressOf(std::move(progress));
  std::unique_ptr<ConvertedFile> file;
  Remarks remarks;
  {
    const Unlocked unlocked;
    file = ConvertFile(source, options);
    remarks = RemarksOn(*file);
  }
  return nb::make_tuple(nb::bytes(file->file.data(), file->file.size()), ToTuple(remarks));
}

/// A source, opened for eager mode.
class EagerSource {
 public:
  EagerSource(const std::string& path, const std::optional<std::string>& signature,
              const FixedInputs& constants) {
    const Unlocked unlocked;
    const std::unique_ptr<SourceModel> source = OpenSource(path);
    const std::vector<std::string> wanted =
        signature ? std::vector<std::string>{*signature} : std::vector<std::string>{};
    graph_ = source->Import(ChooseSignatures(*source, wanted)[0], {constants, {}});
  }

  nb::tuple Run(const nb::dict& inputs, bool all_tensors) const {
    NamedTensors tensors;
    for (const auto& [key, array] : inputs) {
      const std::string name = NameOf(key);
      const GraphPort* port = Find(name);
      if (port == nullptr) ThrowUnknown(name);
      const Value& value = graph_.value(port->value);
      const TensorData tensor = ToTensor(array, value.dtype, fmt::format("input '{}'", name));
      tensors[name] = tensor.dtype() == value.dtype ? tensor.Quantized(value.quantization) : tensor;
    }
    for (const GraphPort& port : graph_.caller_inputs()) {
      if (!tensors.contains(port.name))
        Throw(StatusCode::kInvalidArgument, "input '{}' was not given; the inputs are {}", port.name,
              InputNames(graph_));
    }
    NamedTensors outputs;
    NamedTensors inner;
    {
      const Unlocked unlocked;
      EvaluateOptions options;
      options.observe = [&](ValueId id, const TensorData& tensor) {
        CheckSignals();
        if (all_tensors) inner[graph_.value(id).name] = tensor;
      };
      outputs = Evaluate(graph_, tensors, options);
    }
    nb::list names;
    nb::list arrays;
    for (const GraphPort& port : graph_.caller_outputs()) {
      names.append(port.name);
      arrays.append(ToArray(outputs.at(port.name).view()));
    }
    return nb::make_tuple(nb::tuple(names), nb::tuple(arrays), ToDict(inner));
  }

  std::vector<std::string> Names(bool of_inputs) const {
    std::vector<std::string> names;
    if (of_inputs) {
      for (const GraphPort& port : graph_.caller_inputs()) names.push_back(port.name);
    } else {
      for (const GraphPort& port : graph_.caller_outputs()) names.push_back(port.name);
    }
    return names;
  }

 private:
  const GraphPort* Find(const std::string& name) const {
    for (const GraphPort& port : graph_.caller_inputs()) {
      if (port.name == name) return &port;
    }
    return nullptr;
  }
  [[noreturn]] void ThrowUnknown(const std::string& name) const {
    Throw(StatusCode::kInvalidArgument, "there is no input '{}'; the inputs are {}", name,
          InputNames(graph_));
  }

  Graph graph_;
};

nb::dict Propose(const std::string& source, const nb::object& shapes, bool uniform, size_t max_plans,
                 int threads, const std::optional<std::string>& signature, nb::object progress) {
  ObservedShapes observed;
  if (uniform) {
    std::map<std::string, DimRange> ranges;
    for (const auto& [name, range] : nb::cast<std::map<std::string, std::vector<int64_t>>>(shapes))
      ranges[name] = DimRange(range[0], range[1], range[2]);
    observed = UniformShapes(ranges);
  } else if (nb::isinstance<nb::str>(shapes)) {
    observed = ReadObservedShapes(nb::cast<std::string>(shapes));
  } else {
    for (const auto& [sizes, count] :
         nb::cast<std::vector<std::pair<std::map<std::string, int64_t>, double>>>(shapes))
      observed.rows.push_back({sizes, count});
  }
  BucketOptions options;
  options.max_plans = max_plans;
  options.threads = threads;
  options.progress = ProgressOf(std::move(progress));
  BucketProposal proposal;
  {
    const Unlocked unlocked;
    const std::unique_ptr<SourceModel> opened = OpenSource(source);
    const std::vector<std::string> wanted =
        signature ? std::vector<std::string>{*signature} : std::vector<std::string>{};
    proposal = ProposeBuckets(opened->Import(ChooseSignatures(*opened, wanted)[0], {}), observed, options);
  }
  nb::list buckets;
  for (const BucketCost& bucket : proposal.buckets)
    buckets.append(nb::make_tuple(bucket.smallest, bucket.largest, bucket.exact, bucket.arena_bytes,
                                  bucket.calls, bucket.time_lost));
  nb::dict contract;
  for (const auto& [name, range] : proposal.contract)
    contract[name.c_str()] = nb::make_tuple(range.min, range.max, range.multiple);
  nb::dict result;
  result["symbol"] = proposal.symbol;
  result["buckets"] = buckets;
  result["cost"] = proposal.cost;
  result["cost_of_one"] = proposal.cost_of_one;
  result["contract"] = contract;
  return result;
}

/// The text and JSON of skiff inspect, of a source.
std::pair<std::string, std::string> InspectSource(const std::string& path, const std::string& name,
                                                  bool nodes) {
  const Unlocked unlocked;
  const std::unique_ptr<SourceModel> source = OpenSource(path);
  std::vector<NamedGraph> graphs;
  for (size_t i = 0; i < source->signatures().size(); ++i) {
    Graph graph = source->Import(i, {});
    bool closed = true;
    for (const GraphPort& port : graph.caller_inputs()) closed &= graph.value(port.value).has_static_shape();
    if (closed) InferShapes(graph);
    graphs.push_back({source->signatures()[i].name, std::move(graph)});
  }
  return {cli::Visible(cli::SourceText(name, graphs, nodes)), JsonText(cli::SourceJson(name, graphs))};
}

std::pair<std::string, std::string> InspectModel(const ModelHandle& handle, const std::string& name,
                                                 bool nodes) {
  const SharedModel model = handle.opened;
  handle.get();
  const Unlocked unlocked;
  return {cli::Visible(cli::SkiffText(name, model->model(), nodes)),
          JsonText(cli::SkiffJson(name, model->model()))};
}

/// Beside the source's own; none where it cannot be read, which is the business of who converts it.
std::vector<std::string> OtherFiles(const std::string& source) {
  const Unlocked unlocked;
  try {
    return OpenSource(source)->OtherFiles();
  } catch (const Error&) {
    return {};
  }
}

std::string Dot(const ModelHandle& handle) {
  const SharedModel model = handle.opened;
  handle.get();
  const Unlocked unlocked;
  return cli::SkiffDot(model->model());
}

/// Words are bytes, as names of files are.
int Tool(const nb::list& given) {
  std::vector<std::string> words;
  for (const nb::handle word : given) {
    const auto bytes = nb::cast<nb::bytes>(word);
    words.emplace_back(bytes.c_str(), bytes.size());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Unlocked unlocked;
  return cli::RunTool(static_cast<int>(words.size()), argv.data());
}

}  // namespace

std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Remarks RemarksOn(const ConvertedFile& file) {
  Remarks remarks{cli::RemarksOn(file), {}};
  for (const auto& signature : file.signatures)
    remarks.explained.emplace_back(signature->name, Explain(*signature));
  return remarks;
}

nb::tuple ToTuple(const Remarks& remarks) {
  return nb::make_tuple(remarks.notes, remarks.hints, remarks.explained);
}

void BindConvert(nb::module_& module) {
  module.def("convert", &Convert, nb::arg("source"), nb::arg("options"), nb::arg("progress").none());
  module.def(
      "keep_custom",
      [](const std::string& name) {
        if (!IsCustomOperator(name)) RegisterCustomOperator({.name = name.c_str()});
      },
      nb::arg("name"));
  module.def("load_custom_library", &cli::LoadCustomLibrary, nb::arg("file"));
  nb::class_<EagerSource>(module, "EagerSource",
                          "A source that runs operator by operator; skiff.eager() makes it.")
      .def(nb::init<const std::string&, const std::optional<std::string>&, const FixedInputs&>(),
           nb::arg("path"), nb::arg("signature").none(), nb::arg("constants"))
      .def("run", &EagerSource::Run, nb::arg("inputs"), nb::arg("all_tensors"))
      .def("names", &EagerSource::Names, nb::arg("of_inputs"));
  module.def("propose_buckets", &Propose, nb::arg("source"), nb::arg("shapes"), nb::arg("uniform"),
             nb::arg("max_plans"), nb::arg("threads"), nb::arg("signature").none(),
             nb::arg("progress").none());
  module.def("other_files", &OtherFiles, nb::arg("source"));
  module.def("inspect_source", &InspectSource, nb::arg("path"), nb::arg("name"), nb::arg("nodes"));
  module.def("inspect_model", &InspectModel, nb::arg("model"), nb::arg("name"), nb::arg("nodes"));
  module.def("model_dot", &Dot, nb::arg("model"));
  module.def(
      "language_of", [](const std::string& path) { return LanguageOfModel(path); }, nb::arg("path"));
  module.def("run_tool", &Tool, nb::arg("words"));
}

}  // namespace skiff::python
