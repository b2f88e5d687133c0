#include "cli/print.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace skiff::cli {
namespace {

/// Of a control character at `at`, in UTF-8; 0 where there is none.
size_t ControlBytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  return byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0 ? 2 : 0;
}

/// `kept`: how many bytes at a control character stay as they are.
template <class Kept>
std::string WithoutControls(std::string_view text, const Kept& kept) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t control = ControlBytes(text, at);
    const size_t stay = control == 0 ? 1 : kept(text.substr(at));
    shown += text.substr(at, stay);
    for (size_t i = 0; stay == 0 && i < control; ++i)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
    at += stay != 0 ? stay : control;
  }
  return shown;
}

}  // namespace

std::string Visible(const std::string& text, bool colours) {
  return WithoutControls(text, [colours](std::string_view rest) {
    if (rest[0] == '\n' || rest[0] == '\t') return size_t{1};
    return colours ? ColourBytes(rest) : size_t{0};
  });
}

std::string OneCell(const std::string& text) {
  return WithoutControls(text, [](std::string_view rest) { return ColourBytes(rest); });
}

std::string OneLine(const std::string& text) {
  return WithoutControls(text, [](std::string_view) { return size_t{0}; });
}

std::string ShellWord(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace skiff::cli
