/// What options' texts are read with.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace skiff::cli {

/// Throws CLI::ValidationError: `option` cannot be `text`, and was expected to be something else.
[[noreturn]] void Malformed(const std::string& option, const std::string& text, const std::string& expected);

/// Whether all of `text` is a number of type T.
template <class T>
bool ParseNumber(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace skiff::cli
