/// What the tool prints for people. Names in it come from models and files that others made: they are shown
/// as they are written, and do nothing to a terminal or a shell.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/terminal.h"

namespace skiff::cli {

/// Control characters as "\x1b", but line ends, tabs, and where colours are shown those of Coloured().
std::string Visible(const std::string& text, bool colours = false);
/// Line ends and tabs as well, but the colours of Coloured(): for one cell of a table.
std::string OneCell(const std::string& text);
/// Line ends and tabs, too: for places that have one line.
std::string OneLine(const std::string& text);
/// As one word of the shell, in quotes where it needs them.
std::string ShellWord(const std::string& text);

/// Visible().
template <class... Args>
void Print(FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(Visible(fmt::format(format, std::forward<Args>(args)...), ShowsColours(fileno(to))).c_str(), to);
}
template <class... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Print(stdout, format, std::forward<Args>(args)...);
}

}  // namespace skiff::cli
