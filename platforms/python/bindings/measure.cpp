// Random inputs and measurements.

#include "cli/bench_report.h"
#include "cli/print.h"
#include "cli/report_document.h"
#include "cli/session_options.h"
#include "platforms/python/bindings/options.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tools.h"
#include "report/page.h"
#include "run/model_sizes.h"
#include "run/random_inputs.h"

namespace skiff::python {
namespace {

using Range = std::pair<double, double>;

InputRanges ToRanges(const std::map<std::string, Range>& given) {
  InputRanges ranges;
  for (const auto& [name, range] : given) ranges[name] = {range.first, range.second};
  return ranges;
}

NamedTensors Draw(const ModelSignature& signature, uint64_t seed, const NamedSizes& sizes,
                  const std::optional<Range>& range, const std::map<std::string, Range>& ranges) {
  SymbolSizes named(signature);
  named.Set(sizes, "sizes");
  std::optional<RandomRange> reals;
  if (range) reals = RandomRange{range->first, range->second};
  return RandomInputs(signature, ClosedSizes(signature, named), seed, reals, ToRanges(ranges));
}

nb::dict Random(const ModelHandle& handle, uint64_t seed, const NamedSizes& sizes,
                const std::optional<Range>& range, const std::map<std::string, Range>& ranges,
                const std::optional<std::string>& signature) {
  const ModelSignature chosen = FindSignature(handle.get().model(), signature.value_or(""));
  return ToDict(Draw(chosen, seed, sizes, range, ranges));
}

/// What skiff bench prints, as JSON and as text.
std::pair<std::string, std::string> Measure(const ModelHandle& handle, const std::string& name,
                                            const nb::dict& given) {
  OpenedModel& opened = handle.get();
  const SharedModel keep = handle.opened;
  cli::SessionArguments arguments;
  arguments.signature = Get<std::string>(given, "signature");
  arguments.backend = Get<std::string>(given, "backend");
  arguments.threads = Get<int>(given, "threads");
  arguments.exact = Get<bool>(given, "exact");
  const auto top = Get<size_t>(given, "top");
  const auto seed = Get<uint64_t>(given, "seed");
  const auto sizes = Get<NamedSizes>(given, "sizes");
  const auto ranges = Get<std::map<std::string, Range>>(given, "input_ranges");
  const ModelSignature signature = FindSignature(opened.model(), arguments.signature);
  BenchOptions options{
      cli::ToSessionOptions(arguments, signature), Get<int>(given, "runs"), Get<int>(given, "warmup"), {}};
  const auto own = Get<nb::object>(given, "inputs");
  NamedTensors inputs;
  if (!own.is_none()) inputs = ToTensors(nb::cast<nb::dict>(own), signature.info().inputs);
  const Unlocked unlocked;
  if (own.is_none()) inputs = Draw(signature, seed, sizes, {}, ranges);
  cli::BenchContext context;
  context.model = name;
  if (opened.model().signature_count() > 1) context.signature = signature.name();
  context.file_bytes = opened.model().file_bytes();
  SymbolSizes known(signature);
  known.sizes = SizesOf(signature, inputs);
  context.sizes = SizesText(known.symbols, known.sizes);
  if (own.is_none()) {
    if (const std::vector<int64_t> other = OtherSizes(signature, known.sizes); other != known.sizes) {
      context.other_sizes = SizesText(known.symbols, other);
      options.other_inputs = RandomInputs(signature, other, seed, {}, ToRanges(ranges));
    }
  }
  const BenchResult result =
      AtSizes(context.sizes, "sizes", [&] { return Bench(opened.model(), inputs, options); });
  context.backend = cli::BackendText(arguments.backend, result.target);
  return {JsonText(cli::BenchJson(context, result)), cli::Visible(cli::BenchText(context, result, top))};
}

/// The page of skiff report, its data, and notes.
nb::tuple Report(const nb::dict& given, nb::object progress) {
  cli::ReportArguments arguments;
  arguments.model = Get<std::string>(given, "model");
  arguments.source = Get<std::string>(given, "source");
  arguments.against = Get<std::string>(given, "against");
  arguments.backends = Get<std::vector<std::string>>(given, "backends");
  arguments.signature = Get<std::string>(given, "signature");
  arguments.threads = Get<int>(given, "threads");
  arguments.exact = Get<bool>(given, "exact");
  arguments.inputs.files = Get<std::vector<std::string>>(given, "input_files");
  arguments.inputs.others = Get<std::string>(given, "inputs");
  arguments.inputs.ranges = Get<std::vector<std::string>>(given, "input_ranges");
  arguments.dims = Get<std::vector<std::string>>(given, "sizes");
  arguments.runs = Get<std::optional<int>>(given, "runs");
  const auto tell = ProgressOf(std::move(progress));
  std::vector<std::string> notes;
  std::string data;
  std::string page;
  {
    const Unlocked unlocked;
    cli::CommandFiles files;
    data = JsonText(cli::ReportDocument(cli::CollectSides(arguments, files, tell, notes)));
    page = ReportPage(data);
  }
  return nb::make_tuple(page, data, notes);
}

}  // namespace

void BindMeasure(nb::module_& module) {
  module.def("random_inputs", &Random, nb::arg("model"), nb::arg("seed"), nb::arg("sizes"),
             nb::arg("range").none(), nb::arg("input_ranges"), nb::arg("signature").none());
  module.def("bench", &Measure, nb::arg("model"), nb::arg("name"), nb::arg("options"));
  module.def("report", &Report, nb::arg("options"), nb::arg("progress").none());
}

}  // namespace skiff::python
