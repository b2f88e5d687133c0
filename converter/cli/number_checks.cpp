#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace skiff::cli {
namespace {

/// The text is read in the way in which the option will read it.
template <class Is>
CLI::Validator Numbers(const std::string& expected, const Is& is) {
  const auto check = [expected, is](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && is(value);
    return good ? std::string() : fmt::format("must be {}, not {}", expected, text);
  };
  // No description: help texts say what is meant.
  return {check, ""};
}

}  // namespace

CLI::Validator FromZero() {
  return Numbers("0 or more", [](double value) { return value >= 0 && std::isfinite(value); });
}

CLI::Validator AboveZero() {
  return Numbers("above 0", [](double value) { return value > 0 && std::isfinite(value); });
}

CLI::Validator Between(double low, double high) {
  return Numbers(fmt::format("from {} to {}", low, high),
                 [=](double value) { return value >= low && value <= high; });
}

CLI::Validator WholeBetween(int64_t low, int64_t high) {
  const std::string expected = fmt::format("a whole number from {} to {}", low, high);
  const auto check = [=](const std::string& text) {
    int64_t value = 0;
    // As it would be printed: the library that reads options takes 010 for the 8 of octal digits.
    const bool good = CLI::detail::lexical_cast(text, value) && fmt::to_string(value) == text &&
                      value >= low && value <= high;
    return good ? std::string() : fmt::format("must be {}, not {}", expected, text);
  };
  return {check, ""};
}

}  // namespace skiff::cli
