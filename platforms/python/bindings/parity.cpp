// Parity: the source and the model beside each other. Which inputs there are, and what is expected, is
// Python's to say.

#include "cli/input_files.h"
#include "cli/parity_report.h"
#include "cli/print.h"
#include "parity/sweep.h"
#include "platforms/python/bindings/options.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tools.h"
#include "run/model_sizes.h"

namespace skiff::python {
namespace {

nb::dict Describe(const TensorParity& row) {
  const Comparison& c = row.comparison;
  nb::dict result;
  result["name"] = row.name;
  result["op"] = row.op;
  result["dtype"] = NumpyType(row.dtype);
  result["shape"] = ToTuple(row.shape);
  result["ok"] = c.ok;
  result["problem"] = c.problem;
  result["elements"] = c.elements;
  result["outside"] = c.outside;
  result["largest"] = c.largest;
  result["max_error"] = c.max_error;
  result["relative_error"] = c.relative();
  result["allowed"] = c.allowed;
  result["share_of_allowed"] = c.share;
  result["tolerance"] = Describe(row.tolerance);
  result["measured"] = row.measured;
  return result;
}

nb::list Describe(const std::vector<TensorParity>& rows) {
  nb::list list;
  for (const TensorParity& row : rows) list.append(Describe(row));
  return list;
}

nb::dict Describe(const ParityReport& report) {
  nb::list backends;
  for (const BackendParity& backend : report.backends) {
    nb::dict one;
    one["backend"] = BackendName(backend.backend);
    one["ok"] = report.Holds(backend);
    one["outputs"] = Describe(backend.outputs);
    one["expected"] = Describe(backend.expected);
    one["layers"] = Describe(backend.layers);
    one["fused_away"] = backend.fused_away;
    one["unstable"] = backend.unstable;
    one["refused"] = backend.refused;
    backends.append(one);
  }
  nb::dict result;
  result["ok"] = report.ok();
  result["eager_expected"] = Describe(report.eager_expected);
  result["backends"] = backends;
  result["refused"] = report.refused;
  result["verdict"] = cli::OneLine(cli::Verdict(report));
  result["text"] = cli::Visible(cli::ParityText(report));
  return result;
}

class ParityRun {
 public:
  explicit ParityRun(const nb::dict& given) : arguments_(ToParityArguments(given)) {
    if (!arguments_.backends.empty()) {
      options_.backends.clear();
      for (const std::string& name : arguments_.backends) options_.backends.push_back(BackendFromName(name));
    }
    options_.threads = Get<int>(given, "threads");
    options_.repeat = Get<int>(given, "repeat");
    options_.layers = Get<bool>(given, "layers");
    options_.note_refusals = Get<bool>(given, "note_refusals");
    options_.keep_state = Get<bool>(given, "keep_state");
    const auto rtol = Get<std::optional<double>>(given, "rtol");
    const auto atol = Get<std::optional<double>>(given, "atol");
    if (rtol || atol) options_.tolerance = Tolerance{.atol = atol.value_or(0), .rtol = rtol.value_or(0)};
    options_.progress = ProgressOf(Get<nb::object>(given, "progress"));
    const Unlocked unlocked;
    options_.progress(arguments_.model.empty() ? "import and convert" : "import");
    prepared_ = cli::Prepare(arguments_);
    checkers_.resize(prepared_.pairs.size());
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const cli::ParityPair& pair : prepared_.pairs) names.push_back(pair.name);
    return names;
  }

  std::map<std::string, double> Constants() const { return cli::ToFixedInputs(arguments_); }

  /// By pair, the names of the inputs that callers give and of the outputs that they get.
  nb::tuple Ports(size_t pair) const {
    nb::list inputs;
    nb::list outputs;
    for (const PortInfo& port : SignatureOf(pair).info().inputs) inputs.append(Interned(port.name));
    for (const PortInfo& port : SignatureOf(pair).info().outputs) outputs.append(Interned(port.name));
    return nb::make_tuple(inputs, outputs);
  }

  /// The sizes of the calls to compare, by the names of open dimensions; a size of -1 follows from the
  /// inputs.
  nb::list Calls(size_t pair, const std::vector<NamedSizes>& at, bool sweep) const {
    const ModelSignature signature = SignatureOf(pair);
    std::vector<SymbolSizes> calls;
    for (const NamedSizes& sizes : at) calls.emplace_back(signature).Set(sizes, "at");
    if (sweep) {
      for (const std::vector<int64_t>& sizes : SweepSizes(signature))
        calls.emplace_back(signature).sizes = sizes;
    }
    if (calls.empty()) calls.emplace_back(signature);
    nb::list list;
    for (const SymbolSizes& call : calls) list.append(call.sizes);
    return list;
  }

  /// What a size of -1 stands for where nothing else says it.
  NamedSizes NamedSizesOf(size_t pair, const std::vector<int64_t>& sizes) const {
    const ModelSignature signature = SignatureOf(pair);
    const std::vector<int64_t> closed = ClosedSizes(signature, Sized(signature, sizes));
    NamedSizes named;
    for (size_t i = 0; i < closed.size(); ++i) {
      if (signature.Has(i)) named[signature.model().symbols()[i].name] = closed[i];
    }
    return named;
  }

  nb::dict RandomInputs(size_t pair, const std::vector<int64_t>& sizes, uint64_t seed,
                        const std::optional<std::pair<double, double>>& range,
                        const std::map<std::string, std::pair<double, double>>& ranges) const {
    const ModelSignature signature = SignatureOf(pair);
    std::optional<RandomRange> reals;
    if (range) reals = RandomRange{range->first, range->second};
    InputRanges by_name;
    for (const auto& [name, one] : ranges) by_name[name] = {one.first, one.second};
    return ToDict(skiff::RandomInputs(signature, ClosedSizes(signature, Sized(signature, sizes)), seed, reals,
                                      by_name));
  }

  nb::dict FolderInputs(size_t pair, const std::vector<int64_t>& sizes, const std::string& folder) const {
    const ModelSignature signature = SignatureOf(pair);
    return ToDict(cli::ReadInputFolder(folder, signature.info().inputs, Sized(signature, sizes)));
  }
  nb::dict FolderOutputs(size_t pair, const std::vector<int64_t>& sizes, const std::string& folder) const {
    const ModelSignature signature = SignatureOf(pair);
    return ToDict(cli::ReadOutputFolder(folder, signature.info().outputs, Sized(signature, sizes)));
  }

  /// With what the source's own inputs have beside the callers', where the net keeps state.
  nb::dict WithState(size_t pair, const nb::dict& inputs) {
    return ToDict(CheckerOf(pair).WithState(ToTensors(inputs, SignatureOf(pair).info().inputs)));
  }

  nb::dict Check(size_t pair, const nb::dict& inputs, const nb::dict& expected) {
    const ModelSignature signature = SignatureOf(pair);
    const NamedTensors given = ToTensors(inputs, signature.info().inputs);
    const NamedTensors wanted = ToTensors(expected, signature.info().outputs);
    ParityChecker& checker = CheckerOf(pair);
    ParityReport report;
    std::string sizes;
    {
      const Unlocked unlocked;
      sizes = SizesText(signature.model().symbols(), SizesOf(signature, given));
      report = AtSizes(sizes, "at", [&] { return checker.Check(given, wanted); });
    }
    nb::dict result = Describe(report);
    result["sizes"] = sizes;
    return result;
  }

 private:
  ModelSignature SignatureOf(size_t pair) const {
    return {prepared_.opened->model(), prepared_.pairs.at(pair).signature};
  }
  static SymbolSizes Sized(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
    SymbolSizes known(signature);
    known.sizes = sizes;
    return known;
  }
  ParityChecker& CheckerOf(size_t pair) {
    std::unique_ptr<ParityChecker>& checker = checkers_.at(pair);
    if (!checker) {
      ParityOptions own = options_;
      own.signature = prepared_.pairs[pair].signature;
      checker = std::make_unique<ParityChecker>(prepared_.pairs[pair].source, prepared_.opened->model(), own);
    }
    return *checker;
  }

  cli::ParityArguments arguments_;
  ParityOptions options_;
  cli::PreparedParity prepared_;
  std::vector<std::unique_ptr<ParityChecker>> checkers_;
};

}  // namespace

void BindParity(nb::module_& module) {
  nb::class_<ParityRun>(module, "ParityRun", "A source and a model to compare; skiff.parity() makes it.")
      .def(nb::init<nb::dict>(), nb::arg("options"))
      .def("names", &ParityRun::Names)
      .def("constants", &ParityRun::Constants)
      .def("ports", &ParityRun::Ports, nb::arg("pair"))
      .def("calls", &ParityRun::Calls, nb::arg("pair"), nb::arg("at"), nb::arg("sweep"))
      .def("named_sizes", &ParityRun::NamedSizesOf, nb::arg("pair"), nb::arg("sizes"))
      .def("random_inputs", &ParityRun::RandomInputs, nb::arg("pair"), nb::arg("sizes"), nb::arg("seed"),
           nb::arg("range").none(), nb::arg("input_ranges"))
      .def("folder_inputs", &ParityRun::FolderInputs, nb::arg("pair"), nb::arg("sizes"), nb::arg("folder"))
      .def("folder_outputs", &ParityRun::FolderOutputs, nb::arg("pair"), nb::arg("sizes"), nb::arg("folder"))
      .def("with_state", &ParityRun::WithState, nb::arg("pair"), nb::arg("inputs"))
      .def("check", &ParityRun::Check, nb::arg("pair"), nb::arg("inputs"), nb::arg("expected"));
}

}  // namespace skiff::python
