/// What a terminal allows beyond plain text, and how wide it is.
#pragma once

#include <cstddef>
#include <string>

namespace skiff::cli {

/// Whether people read this stream (STDOUT_FILENO, STDERR_FILENO) on a terminal that can do more than print:
/// not one of TERM=dumb.
bool IsTerminal(int stream);
/// IsTerminal(), and nobody said NO_COLOR (https://no-color.org).
bool ShowsColours(int stream);
/// Columns for text on a stream: those of the terminal, or what the variable COLUMNS says; at least 40, and
/// at most 100, which is also the width where there is no terminal.
size_t TextWidth(int stream);

enum class Colour { kRed, kGreen, kYellow };
/// The text in a colour where the stream shows them.
std::string Coloured(int stream, Colour colour, const std::string& text);
/// Verdicts in what a command prints on standard output: "PARITY OK" in green, "FAILED" in red.
std::string WithColouredVerdicts(std::string text);

/// Breaks lines at spaces, so that none is longer than `width`; what follows the first begins with `indent`
/// spaces. Lines that begin with a space, such as examples, stay as they are, and so do words that are
/// longer.
std::string Wrapped(const std::string& text, size_t width, size_t indent = 0);

}  // namespace skiff::cli
