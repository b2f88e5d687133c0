/// The options of `skiff convert`, as text from the command line and as ConvertOptions. `skiff parity` takes
/// those that change the plan.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/image_options.h"
#include "convert.h"

namespace skiff::cli {

struct ConvertArguments {
  std::vector<std::string> signatures;
  std::vector<std::string> shapes;
  std::vector<std::string> dims;
  std::vector<std::string> buckets;
  std::vector<std::string> fixed_inputs;
  std::vector<std::string> states;
  bool copy_state = false;
  bool no_xnnpack = false;
  std::vector<std::string> disabled_passes;
  std::vector<std::string> dump_after;
  bool strip = false;
  ImageArguments image;
  std::string labels;
};

/// --signature, --set, --shape and --dim: which entry points, and what is known of their inputs.
void AddSourceOptions(CLI::App& command, ConvertArguments& arguments);
/// AddSourceOptions(), --state, --dim, --bucket, --no-xnnpack, --disable-pass.
void AddPlanOptions(CLI::App& command, ConvertArguments& arguments);
/// AddImageOptions(), --labels, --strip, --dump-after.
void AddFileOptions(CLI::App& command, ConvertArguments& arguments);

/// --set. Throws CLI::ValidationError where it is malformed.
FixedInputs ToFixedInputs(const ConvertArguments& arguments);
/// --state. Throws CLI::ValidationError where it is malformed.
std::vector<StatePair> ToStates(const ConvertArguments& arguments);

/// Throws CLI::ValidationError where the text of an option is malformed, and Error where the labels cannot be
/// read.
ConvertOptions ToConvertOptions(const ConvertArguments& arguments);

}  // namespace skiff::cli
