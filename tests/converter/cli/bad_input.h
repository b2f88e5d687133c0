/// Bad input for the tool, one row per case.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {

struct BadInput {
  std::string name;
  /// Makes the files of the case and returns the command line.
  std::function<std::vector<std::string>(const TempFolder& folder)> prepare;
  /// What the one message has to contain: what, where, expected, got, what to do.
  std::vector<std::string> message;
  int exit_code = 1;
  RunOptions run = {};
  std::vector<std::string> absent = {};  ///< Advice that does not help here.
};

void PrintTo(const BadInput& row, std::ostream* stream);

/// Conversions of bad source files, and to bad places.
std::vector<BadInput> BadSources();
/// Damaged .skiff files, and bad tensors and pictures for good ones.
std::vector<BadInput> BadTensors();
/// Places of outputs where something else lies.
std::vector<BadInput> BadPlaces();
/// Command lines that are wrong in themselves.
std::vector<BadInput> BadUsage();

/// Paths of good models, made in the folder.
std::string GoodOnnx(const TempFolder& folder);
std::string GoodSkiff(const TempFolder& folder);

}  // namespace skiff::testing
