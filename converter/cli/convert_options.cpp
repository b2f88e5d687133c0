#include "cli/convert_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "cli/custom_options.h"
#include "cli/option_text.h"
#include "cli/parse_sizes.h"
#include "cli/print.h"
#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff::cli {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (!text.empty() && text.back() == separator) parts.emplace_back();
  return parts;
}

/// Tensor names may contain '=', extents do not.
std::pair<std::string, std::string> SplitAtLast(const std::string& option, const std::string& text,
                                                const std::string& expected) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) Malformed(option, text, expected);
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string> ReadLabels(const std::string& path) {
  std::vector<std::string> labels = LabelsFromText(ReadFile(path, kMostLabelBytes));
  if (labels.empty()) Throw(StatusCode::kInvalidArgument, "{}: holds no labels; expected one per line", path);
  return labels;
}

std::set<std::string> PassNames(bool with_required) {
  std::set<std::string> names;
  for (const Pass& pass : Pipeline()) {
    if (with_required || !pass.required) names.insert(pass.name);
  }
  return names;
}

/// Whether the text is a number, and less than that.
bool IsBelow(const std::string& text, int64_t least) {
  int64_t number = least;
  return ParseNumber(text, number) && number < least;
}

/// "7", "1..512", "1.." and "8..512,multiple=8".
bool ParseRange(std::string text, DimRange& range) {
  constexpr std::string_view kMultiple = ",multiple=";
  if (const size_t comma = text.find(kMultiple); comma != std::string::npos) {
    if (!ParseNumber(text.substr(comma + kMultiple.size()), range.multiple) || range.multiple < 1)
      return false;
    text.resize(comma);
  }
  const size_t dots = text.find("..");
  if (dots == std::string::npos) {
    if (!ParseNumber(text, range.min)) return false;
    range.max = range.min;
  } else {
    const std::string end = text.substr(dots + 2);
    if (!ParseNumber(text.substr(0, dots), range.min) || (!end.empty() && !ParseNumber(end, range.max)))
      return false;
  }
  return range.min >= 0 && range.max >= range.min && range.max / range.multiple * range.multiple >= range.min;
}

/// "seq=16,32..64": the dimension, and the range of each bucket.
std::pair<std::string, std::vector<DimRange>> ParseBuckets(const std::string& text) {
  constexpr const char* kExpected =
      "NAME=SIZE,SIZE,... or NAME=MIN..MAX,..., for example seq=16,32 or seq=1..16,17..64; one dimension in "
      "each --bucket";
  const auto [name, list] = SplitAtLast("--bucket", text, kExpected);
  std::vector<DimRange> ranges;
  for (const std::string& part : Split(list, ',')) {
    DimRange range;
    if (!ParseRange(part, range)) Malformed("--bucket", text, kExpected);
    if (std::find(ranges.begin(), ranges.end(), range) != ranges.end())
      Malformed("--bucket", text, "each range once");
    ranges.push_back(range);
  }
  if (ranges.empty() || name.find('=') != std::string::npos) Malformed("--bucket", text, kExpected);
  return {name, ranges};
}

/// Every combination of the dimensions' ranges.
std::vector<std::map<std::string, DimRange>> CrossProduct(const std::vector<std::string>& texts) {
  constexpr size_t kMaxBuckets = 256;
  std::vector<std::map<std::string, DimRange>> buckets;
  for (const std::string& text : texts) {
    const auto [name, ranges] = ParseBuckets(text);
    if (buckets.empty()) buckets.emplace_back();
    if (buckets[0].contains(name)) Malformed("--bucket", text, "each dimension once");
    std::vector<std::map<std::string, DimRange>> longer;
    for (const auto& bucket : buckets) {
      for (const DimRange& range : ranges) longer.emplace_back(bucket)[name] = range;
    }
    if (longer.size() > kMaxBuckets)
      Malformed("--bucket", text, fmt::format("at most {} combinations, got {}", kMaxBuckets, longer.size()));
    buckets = std::move(longer);
  }
  return buckets;
}

}  // namespace

void AddSourceOptions(CLI::App& command, ConvertArguments& arguments) {
  AddCustomOptions(command);
  command
      .add_option(
          "--signature", arguments.signatures,
          "One of the entry points of a .tflite file; repeatable (default: all of them). Options that "
          "name an input or a dimension are for those signatures that have it")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      .add_option(
          "--set", arguments.fixed_inputs,
          "Number of an input that is always the same, such as a sampling rate: it becomes a constant, and "
          "branches that depend on it are chosen now. Of a sequence, how many tensors it holds (they become "
          "the "
          "inputs NAME.0, NAME.1, ...); of an optional input, 1 where callers pass it, else 0; repeatable")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  command
      .add_option("--shape", arguments.shapes,
                  "Shape of an input whose dimensions, or their number, the file leaves open, for example "
                  "image=1x3x224x224; repeatable")
      ->type_name("NAME=AxBx...")
      ->allow_extra_args(false);
  command
      .add_option("--dim", arguments.dims,
                  "Size of a named dimension, or the range of sizes that will occur: batch=1, seq=1..512, "
                  "seq=8..512,multiple=8, seq=1..; repeatable. What stays open may have any size from 1 on")
      ->type_name("NAME=N|MIN..MAX")
      ->allow_extra_args(false);
}

void AddPlanOptions(CLI::App& command, ConvertArguments& arguments) {
  AddSourceOptions(command, arguments);
  command
      .add_option(
          "--state", arguments.states,
          "An input that is an output of the run before: the Session keeps it, beginning with zeros, and "
          "callers see neither; repeatable")
      ->type_name("INPUT=OUTPUT")
      ->allow_extra_args(false);
  command.add_flag(
      "--copy-state", arguments.copy_state,
      "Copy what a run makes of each variable, also where it could be updated where it lies; older "
      "versions of Skiff read such files");
  command
      .add_option("--bucket", arguments.buckets,
                  "Sizes, or ranges of sizes, of a named dimension that get a plan each: seq=16,32,64 or "
                  "seq=1..16,17..64; repeatable, and several dimensions give every combination")
      ->type_name("NAME=N|MIN..MAX,...")
      ->allow_extra_args(false);
  command.add_flag("--no-xnnpack", arguments.no_xnnpack, "Plan every node for the reference kernels");
  command
      .add_option("--disable-pass", arguments.disabled_passes,
                  "Leave out an optimisation (see skiff convert --list-passes); repeatable")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(PassNames(false)).description(""));
}

void AddFileOptions(CLI::App& command, ConvertArguments& arguments) {
  AddImageOptions(command, arguments.image);
  command
      .add_option("--labels", arguments.labels,
                  "Text file with one class name per line, stored with the outputs that have as many classes")
      ->type_name("FILE");
  command.add_flag("--strip", arguments.strip,
                   "Leave out the names of nodes and inner tensors (no parity --layers afterwards)");
  std::set<std::string> dumps = PassNames(true);
  dumps.insert("all");
  command
      .add_option("--dump-after", arguments.dump_after,
                  "Print the graph to standard error after a pass, or after 'all'; repeatable")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(dumps).description(""));
}

FixedInputs ToFixedInputs(const ConvertArguments& arguments) {
  FixedInputs fixed;
  for (const std::string& text : arguments.fixed_inputs) {
    constexpr const char* kExpected = "NAME=NUMBER, for example sr=16000";
    const auto [name, number] = SplitAtLast("--set", text, kExpected);
    double value = 0;
    if (!ParseNumber(number, value) || !std::isfinite(value)) Malformed("--set", text, kExpected);
    int64_t whole = 0;  // What it was, where a double does not hold it.
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), whole);
    if (error == std::errc() && end == number.data() + number.size() &&
        fmt::format("{:.0f}", value) != fmt::format("{}", whole))
      Malformed("--set", text, fmt::format("a number of at most 53 bits; this would become {:.0f}", value));
    if (!fixed.emplace(name, value).second) Malformed("--set", text, "each input once");
  }
  return fixed;
}

std::vector<StatePair> ToStates(const ConvertArguments& arguments) {
  std::vector<StatePair> states;
  for (const std::string& text : arguments.states) {
    constexpr const char* kExpected = "INPUT=OUTPUT, for example state=stateN";
    const auto [input, output] = SplitAtLast("--state", text, kExpected);
    if (output.empty()) Malformed("--state", text, kExpected);
    for (const StatePair& other : states) {
      if (other.input == input || other.output == output)
        Malformed("--state", text, "each input and each output once");
    }
    states.push_back({input, output});
  }
  return states;
}

ConvertOptions ToConvertOptions(const ConvertArguments& arguments) {
  ConvertOptions options;
  options.signatures = arguments.signatures;
  options.fixed_inputs = ToFixedInputs(arguments);
  options.states = ToStates(arguments);
  options.copy_state = arguments.copy_state;
  options.shapes = ParseShapes(arguments.shapes);
  for (const std::string& text : arguments.dims) {
    constexpr const char* kExpected =
        "NAME=SIZE or NAME=MIN..MAX[,multiple=M], for example batch=1 or seq=1..512";
    // The last, as in what inspect prints of names with one; that of ",multiple=" is the range's.
    const size_t equals = text.rfind('=', text.rfind(",multiple="));
    DimRange range;
    const bool named = equals != 0 && equals != std::string::npos;
    if (named && IsBelow(text.substr(equals + 1), 1))
      Malformed(
          "--dim", text,
          fmt::format("dimension '{0}' to be 1 at least; where it may be empty as well, a range says so: "
                      "{0}=0..8",
                      text.substr(0, equals)));
    if (named && IsBelow(text.substr(equals + 1, text.find("..") - equals - 1), 0))
      Malformed("--dim", text,
                fmt::format("a range of dimension '{}' without negative sizes", text.substr(0, equals)));
    const bool sizes = named && ParseRange(text.substr(equals + 1), range);
    if (!sizes || range.max < range.multiple) Malformed("--dim", text, kExpected);  // Or 0 alone.
    if (!options.dims.emplace(text.substr(0, equals), range).second)
      Malformed("--dim", text, "each dimension once");
  }
  options.buckets = CrossProduct(arguments.buckets);
  options.image = ToImageSettings(arguments.image);
  if (!arguments.labels.empty()) options.labels = ReadLabels(arguments.labels);
  if (arguments.no_xnnpack) {
    std::erase_if(options.delegates,
                  [](const DelegateSupport* delegate) { return delegate->kind() == DelegateKind::kXnnpack; });
  }
  options.pipeline.disabled = {arguments.disabled_passes.begin(), arguments.disabled_passes.end()};
  options.pipeline.dump_after = {arguments.dump_after.begin(), arguments.dump_after.end()};
  options.pipeline.dump = [](const std::string& text) { Print(stderr, "{}", text); };
  options.strip = arguments.strip;
  return options;
}

}  // namespace skiff::cli
