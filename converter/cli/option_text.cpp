#include "cli/option_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace skiff::cli {

void Malformed(const std::string& option, const std::string& text, const std::string& expected) {
  throw CLI::ValidationError(fmt::format("{} {}", option, text), "expected " + expected);
}

}  // namespace skiff::cli
