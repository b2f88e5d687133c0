#include "cli/quantize_options.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "cli/number_checks.h"
#include "cli/session_options.h"

namespace skiff::cli {
namespace {

constexpr const char* kFormats[] = {"i8", "16x8", "weights8", "weights4", "f16", "dynamic", "dynamic4"};
const std::map<std::string, RangeMethod> kRangeMethods = {
    {"min-max", RangeMethod::kMinMax},        {"moving-average", RangeMethod::kMovingAverage},
    {"percentile", RangeMethod::kPercentile}, {"mse", RangeMethod::kMse},
    {"entropy", RangeMethod::kEntropy},
};

CLI::Validator OneOf(const std::vector<std::string>& names) { return CLI::IsMember(names).description(""); }

std::vector<std::string> RangeMethods() {
  std::vector<std::string> names;
  for (const auto& [name, method] : kRangeMethods) names.push_back(name);
  return names;
}

void AddCalibrationOptions(CLI::App& command, QuantizeArguments& arguments) {
  command
      .add_option(
          "--calibrate", arguments.calibrate,
          "Folder of inputs as they will occur: pictures, one tensor for each call, or a folder for each "
          "call as --inputs of 'skiff run' has it; or random:N, for a first try")
      ->type_name("DIR|random:N");
  command
      .add_option("--samples", arguments.samples,
                  "Take so many of them, evenly spread, where there are more (default 100)")
      ->type_name("N")
      ->check(WholeBetween(1, 1000000));
  command
      .add_option("--input-range", arguments.input_ranges,
                  "Of random inputs: the range of one of them, for example mask=0..1; repeatable")
      ->type_name("NAME=LOW..HIGH")
      ->allow_extra_args(false);
}

/// What `skiff quantize` and a step of `skiff convert` share.
void AddTuningOptions(CLI::App& command, QuantizeArguments& arguments) {
  AddCalibrationOptions(command, arguments);
  command
      .add_option("--ranges", arguments.ranges,
                  "How the range of a value is chosen: min-max (default: all that was seen), moving-average, "
                  "percentile, mse (the least square error), entropy")
      ->type_name("HOW")
      ->check(OneOf(RangeMethods()));
  command
      .add_option("--percentile", arguments.percentile,
                  "Per cent of a value's numbers that --ranges percentile keeps at each end (default 99.99)")
      ->type_name("P")
      ->check(Between(50, 100));
  command.add_option("--keep", arguments.keep, "A layer that stays float, by its name; repeatable")
      ->type_name("LAYER")
      ->allow_extra_args(false);
  command.add_flag(
      "--everything", arguments.everything,
      "Round results that no product reads, too, instead of computing them on floats where that is "
      "much better");
  command
      .add_option("--rounding", arguments.rounding,
                  "How weights are rounded: effect (default: each makes up for what those before it have "
                  "changed in the layer's result, on the inputs that calibrate), nearest")
      ->type_name("HOW")
      ->check(OneOf({"effect", "nearest"}));
  command.add_flag("--no-bias-correction", arguments.no_bias_correction,
                   "Leave biases as they are, instead of adding what rounded weights lack on average");
  command.add_flag(
      "--no-equalisation", arguments.no_equalisation,
      "Leave channels between products as uneven as they are, instead of moving factors from the "
      "weights before them to those behind");
  command
      .add_option(
          "--measure", arguments.measure,
          "How an error of the outputs is measured: largest (default: the largest difference, as a share "
          "of the output's largest element), rms (the root of the mean square, likewise), cosine (1 less "
          "the cosine), top1 (the share of rows whose largest element is another one)")
      ->type_name("HOW")
      ->check(OneOf({"largest", "rms", "cosine", "top1"}));
  command
      .add_option(
          "--score", arguments.score,
          "Measure by a command instead: the last number that it prints is how good the file at {} is, "
          "the more the better, and an error is what a candidate lacks to the float net")
      ->type_name("COMMAND");
  command
      .add_option(
          "--max-error", arguments.max_error,
          "Leave the layers float that cost most, until the error is not larger; the exit code is 4 where "
          "that does not help")
      ->type_name("E")
      ->check(FromZero());
  command
      .add_option(
          "--max-bytes", arguments.max_bytes,
          "Of the file, with the least error that is found: layers that cost least get weights of "
          "four bits where the format alone has more; where it has less, and there is no --max-error, "
          "layers that cost most stay float. Exit code 4 as above")
      ->type_name("N")
      ->check(WholeBetween(1, INT64_MAX));
  command
      .add_option("--max-ms", arguments.max_ms,
                  "Of a run, measured on this machine with --threads: without --max-error, layers that cost "
                  "most stay float as long as it is kept. Exit code 4 as above")
      ->type_name("T")
      ->check(AboveZero());
  command
      .add_option("--report", arguments.report,
                  "Write a page that shows each layer: its noise, its share of the error, histograms, bytes. "
                  "Takes a while, because each layer is measured alone and left out")
      ->type_name("FILE.html");
}

}  // namespace

void AddQuantizeOptions(CLI::App& command, QuantizeArguments& arguments) {
  command.add_option("source", arguments.source, "The .onnx or .tflite model, of floats")
      ->required()
      ->type_name("IN");
  command
      .add_option("-o,--output", arguments.output,
                  "The file to write; an existing one is replaced whole or not at all")
      ->required()
      ->type_name("OUT.skiff");
  command
      .add_option(
          "--format", arguments.format,
          "i8: values and weights (default). 16x8: values of 16 bits, weights of 8; computed on floats. "
          "weights8, weights4, f16: weights alone, which needs no inputs. dynamic: weights of 8 bits, times "
          "values that become codes at run time, by their own range; dynamic4: of 4 bits, both with a "
          "scale for each 32 neighbours; need none either")
      ->type_name("FORMAT")
      ->check(OneOf({std::begin(kFormats), std::end(kFormats)}));
  AddTuningOptions(command, arguments);
  AddThreadsOption(command, arguments.threads);
  AddPlanOptions(command, arguments);
  AddFileOptions(command, arguments);
  AddJsonOption(command, arguments.json);
}

void AddQuantizeStep(CLI::App& command, QuantizeArguments& arguments) {
  constexpr const char* kGroup = "Quantising (docs/quantising.md)";
  arguments.format.clear();
  CLI::Option* step =
      command
          .add_option("--quantize", arguments.format,
                      "Quantise on the way, as 'skiff quantize --format' does: i8, 16x8, weights8, weights4, "
                      "f16, dynamic or dynamic4")
          ->type_name("FORMAT")
          ->check(OneOf({std::begin(kFormats), std::end(kFormats)}))
          ->group(kGroup);
  const size_t before = command.get_options().size();
  AddTuningOptions(command, arguments);
  AddThreadsOption(command, arguments.threads);
  const std::vector<CLI::Option*> options = command.get_options();
  for (size_t i = before; i < options.size(); ++i) options[i]->needs(step)->group(kGroup);
}

void CheckQuantizeOptions(const CLI::App& command, const QuantizeArguments& arguments) {
  struct Rule {
    const char* option;
    bool says_something;
    const char* expected;
  };
  const Rule rules[] = {
      {"--samples", !arguments.calibrate.empty(), "chooses among the inputs of --calibrate; say that, too"},
      {"--input-range", !arguments.calibrate.empty(), "is for random inputs; say --calibrate random:N, too"},
      {"--ranges", RoundsValues(*FormatFromName(arguments.format)),
       "is for the formats that round values by ranges: i8 and 16x8"},
      {"--percentile", arguments.ranges == "percentile", "is for --ranges percentile; say that, too"},
  };
  for (const Rule& rule : rules) {
    if (command.count(rule.option) > 0 && !rule.says_something)
      throw CLI::ValidationError(rule.option, rule.expected);
  }
}

QuantizeOptions ToQuantizeOptions(const QuantizeArguments& arguments) {
  QuantizeOptions options;
  options.format = *FormatFromName(arguments.format);
  options.ranges = kRangeMethods.at(arguments.ranges);
  options.percentile = arguments.percentile;
  options.keep = arguments.keep;
  options.everything = arguments.everything;
  options.equalize = !arguments.no_equalisation;
  options.weights.rounding =
      arguments.rounding == "nearest" ? WeightRounding::kNearest : WeightRounding::kByEffect;
  options.weights.correct_bias = !arguments.no_bias_correction;
  options.measure = *MeasureFromName(arguments.measure);
  options.max_error = arguments.max_error;
  options.max_bytes = arguments.max_bytes;
  options.max_ms = arguments.max_ms;
  options.measure_layers = !arguments.report.empty();
  options.threads = arguments.threads;
  return options;
}

}  // namespace skiff::cli
