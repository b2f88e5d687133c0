/// The options of `skiff quantize`.
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
  bool no_bias_correction = false;
  bool no_equalisation = false;
  std::string measure = "largest";
  std::optional<double> max_error;
  std::string report;
  int threads = 0;
  bool json = false;
};

void AddQuantizeOptions(CLI::App& command, QuantizeArguments& arguments);

QuantizeOptions ToQuantizeOptions(const QuantizeArguments& arguments);

}  // namespace skiff::cli
