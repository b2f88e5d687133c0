#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace skiff::cli {
namespace {

/// `T`: what the text is read as, in the way in which the option will read it.
template <class T, class Is>
CLI::Validator Numbers(const std::string& expected, const Is& is) {
  const auto check = [expected, is](const std::string& text) {
    T value{};
    const bool good = CLI::detail::lexical_cast(text, value) && is(value);
    return good ? std::string() : fmt::format("must be {}, not {}", expected, text);
  };
  // No description: help texts say what is meant.
  return {check, ""};
}

}  // namespace

CLI::Validator FromZero() {
  return Numbers<double>("0 or more", [](double value) { return value >= 0 && std::isfinite(value); });
}

CLI::Validator AboveZero() {
  return Numbers<double>("above 0", [](double value) { return value > 0 && std::isfinite(value); });
}

CLI::Validator Between(double low, double high) {
  return Numbers<double>(fmt::format("from {} to {}", low, high),
                         [=](double value) { return value >= low && value <= high; });
}

CLI::Validator WholeBetween(int64_t low, int64_t high) {
  return Numbers<int64_t>(fmt::format("a whole number from {} to {}", low, high),
                          [=](int64_t value) { return value >= low && value <= high; });
}

}  // namespace skiff::cli
