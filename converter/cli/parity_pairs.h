/// What `skiff parity` compares: signatures of a source, and of a model that was made from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/convert_options.h"
#include "cli/session_options.h"
#include "run/opened_model.h"

namespace skiff::cli {

/// The command line.
struct ParityArguments : ConvertArguments {
  std::string source;
  std::string model;
  InputArguments inputs;
  std::string expected;
  std::string output;
  std::string cache_folder;
  std::vector<std::string> backends;
  int threads = 0;
  int repeat = 1;
  int steps = 1;
  std::optional<double> rtol;
  std::optional<double> atol;
  std::optional<double> max_error;
  std::vector<std::string> at;
  bool sweep = false;
  bool layers = false;
  bool json = false;
};

/// A signature of the source, at the sizes that the model is for, and what was made from it.
struct ParityPair {
  std::string name;
  Graph source;
  int signature = 0;  ///< Of the model.
};

/// The model is from its file, or converted here and now.
struct PreparedParity {
  std::vector<ParityPair> pairs;
  std::unique_ptr<OpenedModel> opened;
};

/// Whether another framework computes what is expected.
bool ExpectsFramework(const ParityArguments& arguments);
/// --inputs, or what stands for it.
std::string InputsOf(const ParityArguments& arguments);
/// Whether inputs or outputs come from files, which have one size.
bool ReadsFiles(const ParityArguments& arguments);

/// Throws Error where the source and the model do not belong together, for signatures that there are not, and
/// where files would be those of several.
/// Takes into `arguments` what the model's file says of its conversion.
PreparedParity Prepare(ParityArguments& arguments);

}  // namespace skiff::cli
