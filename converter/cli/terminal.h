/// What a terminal allows beyond plain text, and how wide it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skiff::cli {

/// Whether people read this stream (STDOUT_FILENO, STDERR_FILENO) on a terminal that can do more than print:
/// not one of TERM=dumb.
bool IsTerminal(int stream);
/// IsTerminal(), and nobody said NO_COLOR (https://no-color.org).
bool ShowsColours(int stream);
/// Columns for text on a stream: those of the terminal, or what the variable COLUMNS says; at least 40, and
/// at most 100, which is also the width where there is no terminal.
size_t TextWidth(int stream);

/// Columns for tables: those of the terminal where that is wider than text.
size_t TableWidth(int stream);

/// How many bytes of text a colour's code at its beginning has; 0 where there is none.
size_t ColourBytes(std::string_view text);
enum class Colour { kRed, kGreen, kYellow };
/// The text in a colour where the stream shows them.
std::string Coloured(int stream, Colour colour, const std::string& text);
/// Verdicts in what a command prints on standard output: "PARITY OK" in green, "FAILED" in red.
std::string WithColouredVerdicts(std::string text);

/// The space at which a text is broken so that what stands between `begin` and it is at most `width` long, or
/// else is one word: behind a comma that stands in no brackets, where that is in the second half, else the
/// last. npos where no break would help.
size_t BreakOf(const std::string& text, size_t begin, size_t width);

/// Breaks lines at spaces, so that none is longer than `width`; what follows the first begins with `indent`
/// spaces. Lines that begin with a space, such as examples, stay as they are, and so do words that are
/// longer.
std::string Wrapped(const std::string& text, size_t width, size_t indent = 0);
/// The same of one line of a report for standard output, which may begin with spaces: what follows its first
/// part begins with `indent`.
std::string Folded(const std::string& line, size_t indent);
/// Of "output:  ", and what else lines of reports begin with.
constexpr size_t kLabelWidth = 9;

}  // namespace skiff::cli
