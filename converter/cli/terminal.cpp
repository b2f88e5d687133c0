#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace skiff::cli {
namespace {

constexpr size_t kNarrowestTerminal = 40;
constexpr size_t kWidest = 100;

constexpr const char* kNoColour = "\x1b[0m";

const char* CodeOf(Colour colour) {
  switch (colour) {
    case Colour::kRed:
      return "\x1b[31m";
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
  }
  return "";
}

void ColourAll(std::string& text, const std::string& word, Colour colour) {
  const std::string coloured = Coloured(STDOUT_FILENO, colour, word);
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + coloured.size()))
    text.replace(at, word.size(), coloured);
}

/// 0 where nobody says it.
size_t ColumnsOf(int stream) {
  size_t width = 0;
  winsize size{};
  if (isatty(stream) != 0 && ioctl(stream, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    width = static_cast<size_t>(std::atoi(columns));
  return width;
}

/// One line of the text, without its end.
std::string WrappedLine(const std::string& line, size_t width, size_t indent) {
  if (line.empty() || line[0] == ' ') return line;
  std::string result;
  size_t column = 0;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (column > 0 && column + 1 + word.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace

bool IsTerminal(int stream) {
  const char* const kind = std::getenv("TERM");
  return isatty(stream) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool ShowsColours(int stream) {
  const char* const refused = std::getenv("NO_COLOR");
  return IsTerminal(stream) && (refused == nullptr || *refused == '\0');
}

size_t TextWidth(int stream) {
  const size_t width = ColumnsOf(stream);
  return width == 0 ? kWidest : std::clamp(width, kNarrowestTerminal, kWidest);
}

size_t TableWidth(int stream) { return std::max(ColumnsOf(stream), kWidest); }

std::string Coloured(int stream, Colour colour, const std::string& text) {
  return ShowsColours(stream) ? CodeOf(colour) + text + kNoColour : text;
}

size_t ColourBytes(std::string_view text) {
  for (const std::string_view code :
       {CodeOf(Colour::kRed), CodeOf(Colour::kGreen), CodeOf(Colour::kYellow), kNoColour}) {
    if (text.starts_with(code)) return code.size();
  }
  return 0;
}

std::string WithColouredVerdicts(std::string text) {
  if (!ShowsColours(STDOUT_FILENO)) return text;
  ColourAll(text, "PARITY OK", Colour::kGreen);
  ColourAll(text, "FAILED", Colour::kRed);
  return text;
}

std::string Wrapped(const std::string& text, size_t width, size_t indent) {
  std::string result;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find('\n', begin);
    result += WrappedLine(text.substr(begin, end - begin), width, indent);
    if (end == std::string::npos) return result;
    result += '\n';
    begin = end + 1;
  }
}

size_t BreakOf(const std::string& text, size_t begin, size_t width) {
  if (text.size() - begin <= width) return std::string::npos;
  const size_t first = text.find_first_not_of(' ', begin);
  if (first == std::string::npos) return std::string::npos;
  size_t last = std::string::npos;
  size_t comma = std::string::npos;
  int depth = 0;
  for (size_t at = first; at <= begin + width; ++at) {
    const char c = text[at];
    depth += std::strchr("([{", c) != nullptr ? 1 : std::strchr(")]}", c) != nullptr ? -1 : 0;
    if (c != ' ') continue;
    last = at;
    if (depth == 0 && text[at - 1] == ',' && at > begin + width / 2) comma = at;
  }
  if (comma != std::string::npos) return comma;
  return last != std::string::npos ? last : text.find(' ', begin + width);
}

std::string Folded(const std::string& line, size_t indent) {
  std::string result;
  size_t begin = 0;
  size_t width = TextWidth(STDOUT_FILENO);
  for (size_t at = BreakOf(line, 0, width); at != std::string::npos; at = BreakOf(line, begin, width)) {
    result += line.substr(begin, at - begin) + '\n' + std::string(indent, ' ');
    if (begin == 0) width -= indent;
    begin = at + 1;
  }
  return result + line.substr(begin);
}

}  // namespace skiff::cli
