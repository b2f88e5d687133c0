/// The options of `skiff quantize`, and of the step of `skiff convert`.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cli/convert_options.h"
#include "quantize/quantizer.h"

namespace skiff::cli {

struct QuantizeArguments : ConvertArguments {
  std::string source;
  std::string output;
  std::string calibrate;
  std::vector<std::string> input_ranges;
  size_t samples = 100;
  std::string format = "i8";
  std::string ranges = "min-max";
  double percentile = 99.99;
  std::vector<std::string> keep;
  bool everything = false;
  std::string rounding = "effect";
  bool no_bias_correction = false;
  bool no_equalisation = false;
  std::string measure = "largest";
  std::string score;  ///< A command.
  std::optional<double> max_error;
  std::optional<uint64_t> max_bytes;
  std::optional<double> max_ms;
  std::string report;
  int threads = 0;
  bool json = false;
  std::string target = "cpu";
  bool explain = false;
};

/// All of skiff quantize.
void AddQuantizeOptions(CLI::App& command, QuantizeArguments& arguments);
/// --quantize FORMAT, and all that say how, for skiff convert. The format is empty where it is not given.
void AddQuantizeStep(CLI::App& command, QuantizeArguments& arguments);

/// Throws CLI::ValidationError for an option that says nothing beside the others.
void CheckQuantizeOptions(const CLI::App& command, const QuantizeArguments& arguments);

QuantizeOptions ToQuantizeOptions(const QuantizeArguments& arguments);

}  // namespace skiff::cli
