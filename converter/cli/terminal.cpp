#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace skiff::cli {
namespace {

constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 100;

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
  size_t width = 0;
  winsize size{};
  if (isatty(stream) != 0 && ioctl(stream, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    width = static_cast<size_t>(std::atoi(columns));
  return width == 0 ? kWidest : std::clamp(width, kNarrowest, kWidest);
}

std::string Coloured(int stream, Colour colour, const std::string& text) {
  return ShowsColours(stream) ? CodeOf(colour) + text + "\x1b[0m" : text;
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

}  // namespace skiff::cli
