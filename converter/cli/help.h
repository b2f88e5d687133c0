/// Help texts that fit into the terminal.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace skiff::cli {

/// CLI11's layout, with what stands in its right column, descriptions and footers wrapped to TextWidth().
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

/// skiff help [COMMAND].
void AddHelp(CLI::App& app);

/// A line for each subcommand.
std::string CommandsText(const CLI::App& app);
/// The names of the subcommands, and the long names of an app's options: "--input".
std::vector<std::string> CommandNames(const CLI::App& app);
std::vector<std::string> OptionNames(const CLI::App& app);

}  // namespace skiff::cli
