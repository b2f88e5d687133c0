#include "cli/report_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/input_files.h"
#include "cli/parity_pairs.h"
#include "cli/parse_sizes.h"
#include "core/platform.h"
#include "graph/error.h"
#include "parity/layers.h"

namespace skiff::cli {
namespace {

constexpr int kDefaultRuns = 20;
/// The reference is the truth, not fast: where nobody says how often it runs, not often.
constexpr int kDefaultReferenceRuns = 2;
constexpr int kWarmup = 3;
constexpr int kStepsOfBench = 3;
constexpr int kStepsOfParity = 5;  ///< The conversion planned once more, eager mode, the backend.

std::vector<std::string> BackendsOf(const ReportArguments& arguments) {
  return arguments.backends.empty() ? std::vector<std::string>{arguments.backend} : arguments.backends;
}

std::vector<std::string> FilesOf(const ReportArguments& arguments) {
  std::vector<std::string> files{arguments.model};
  if (!arguments.against.empty()) files.push_back(arguments.against);
  return files;
}

/// Files by their names, or by their paths where the names are one.
std::string FileLabel(const ReportArguments& arguments, const std::string& path) {
  const std::filesystem::path first(arguments.model);
  const std::filesystem::path other(arguments.against);
  return first.filename() == other.filename() ? path : std::filesystem::path(path).filename().string();
}

std::string LabelOf(const ReportArguments& arguments, const std::string& path, const std::string& backend) {
  if (arguments.backends.size() < 2) return FileLabel(arguments, path);
  return arguments.against.empty() ? backend : fmt::format("{}, {}", FileLabel(arguments, path), backend);
}

/// The sizes of the call. Of the second file they are those of the first, where it takes them.
SymbolSizes SizesOfCall(const ReportArguments& arguments, const ModelSignature& signature,
                        const NamedSizes& of_first) {
  SymbolSizes sizes(signature);
  NamedSizes dims = of_first;
  if (dims.empty()) {
    for (const std::string& text : arguments.dims) ParseSizes("--dim", text, dims);
    sizes.Set(dims, "--dim");
    sizes.SetShapes(ParseShapes(arguments.shapes), signature.info().inputs);
    return sizes;
  }
  for (size_t i = 0; i < sizes.symbols.size(); ++i) {
    const SymbolInfo& symbol = sizes.symbols[i];
    const auto size = dims.find(symbol.name);
    const bool taken = signature.Has(i) && size != dims.end() && size->second >= symbol.min &&
                       size->second <= symbol.max && size->second % symbol.multiple == 0;
    if (taken) sizes.Set({*size}, "--dim");
  }
  return sizes;
}

NamedSizes Named(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
  NamedSizes named;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (signature.Has(i)) named[signature.model().symbols()[i].name] = sizes[i];
  }
  return named;
}

void Measure(const ReportArguments& arguments, const std::string& backend, const NamedTensors& inputs,
             const TellStep& tell, ReportSide& side) {
  SessionArguments session = arguments;
  session.backend = backend;
  BenchOptions options{ToSessionOptions(session, side.signature)};
  const bool reference = options.session.backend == Backend::kReference;
  options.runs = arguments.runs.value_or(reference ? kDefaultReferenceRuns : kDefaultRuns);
  options.warmup = reference ? 0 : kWarmup;
  options.progress = [&](const std::string& step) { tell(side.label + ": " + step); };
  side.bench =
      AtSizes(side.context.sizes, "--dim", [&] { return Bench(side.opened->model(), inputs, options); });
  side.context.backend = BackendText(backend, side.bench.target);
}

/// What the source says of a side. Its conversion is planned once for each file.
void Judge(const ReportArguments& arguments, const std::string& backend, const NamedTensors& inputs,
           PreparedParity& prepared, const TellStep& tell, ReportSide& side,
           std::vector<std::string>& notes) {
  const ParityPair& pair = prepared.pairs[0];
  tell(side.label + ": what became of the source's nodes");
  side.fates = FatesOf(pair.source, side.signature, *side.plan);
  ParityOptions options;
  options.signature = pair.signature;
  options.backends = {BackendFromName(backend)};
  options.threads = arguments.threads;
  options.layers = HasSources(side.signature.data());
  if (!options.layers) {
    notes.push_back(
        fmt::format("{}: was stripped of the source's names, so that the report has no errors layer by layer "
                    "and says of no node what it was; 'skiff convert' without --strip keeps them",
                    side.path));
  }
  options.progress = [&](const std::string& step) { tell(side.label + ": parity: " + step); };
  ParityChecker checker(pair.source, prepared.opened->model(), options);
  side.parity = AtSizes(side.context.sizes, "--dim", [&] { return checker.Check(inputs); });
}

}  // namespace

int StepsOf(const ReportArguments& arguments) {
  const size_t sides = FilesOf(arguments).size() * BackendsOf(arguments).size();
  return static_cast<int>(sides) * (kStepsOfBench + (arguments.source.empty() ? 0 : kStepsOfParity));
}

std::vector<ReportSide> CollectSides(const ReportArguments& arguments, CommandFiles& files,
                                     const TellStep& tell, std::vector<std::string>& notes) {
  const InputSources sources = ToSources(arguments.inputs, kDefaultInputs);
  std::vector<ReportSide> sides;
  NamedSizes of_first;
  for (const std::string& path : FilesOf(arguments)) {
    const uint64_t begin = platform::NowNanoseconds();
    const auto opened = std::make_shared<OpenedModel>(path, arguments.cache_folder);
    const auto load_ns = static_cast<double>(platform::NowNanoseconds() - begin);
    const ModelSignature signature = FindSignature(opened->model(), arguments.signature);
    files.ReadsInputs(sources, signature.info().inputs);
    std::string note;
    const NamedTensors inputs =
        ReadCallInputs(sources, signature, SizesOfCall(arguments, signature, of_first), {}, &note);
    if (!note.empty()) notes.push_back(note);
    const std::vector<int64_t> sizes = SizesOf(signature, inputs);
    if (sides.empty()) of_first = Named(signature, sizes);
    std::optional<PreparedParity> prepared;
    if (!arguments.source.empty()) {
      ParityArguments parity;
      parity.source = arguments.source;
      parity.model = path;
      parity.signatures = {signature.name()};
      prepared = Prepare(parity);
    }
    for (const std::string& backend : BackendsOf(arguments)) {
      ReportSide side{LabelOf(arguments, path, backend), path, opened, signature};
      side.context.model = path;
      side.context.load_ns = load_ns;
      side.context.file_bytes = opened->model().file_bytes();
      side.context.signature = signature.name();
      side.context.sizes = SizesText(opened->model().symbols(), sizes);
      side.context.sizes_json = SizesJson(signature, sizes);
      Measure(arguments, backend, inputs, tell, side);
      side.plan = &PlanAt(signature, sizes, side.bench.target);
      side.picture = PictureOf(signature, *side.plan, inputs);
      if (prepared) Judge(arguments, backend, inputs, *prepared, tell, side, notes);
      sides.push_back(std::move(side));
    }
  }
  return sides;
}

}  // namespace skiff::cli
