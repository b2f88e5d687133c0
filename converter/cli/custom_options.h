/// Custom operators of the user's own, from the command line.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace skiff::cli {

/// --custom and --custom-library, which take effect as they are parsed.
void AddCustomOptions(CLI::App& command);
/// --custom-library alone, for commands that run what is converted already.
void AddCustomLibraryOption(CLI::App& command);

/// Registers the operators of a shared library, which stays loaded until the process ends. Throws Error.
void LoadCustomLibrary(const std::string& file);
/// The files that were loaded.
const std::vector<std::string>& CustomLibraries();

}  // namespace skiff::cli
