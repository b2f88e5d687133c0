#include "tests/converter/import/tflite/exceptions.h"

#include <fnmatch.h>

#include <algorithm>

namespace skiff::testing {
namespace {

struct Exception {
  const char* pattern;  ///< Of the name, shell style.
  const char* reason;
};

constexpr Exception kExceptions[] = {
    {"bitcast_*", "no operator of Skiff looks at an element's bits"},
    {"lstm_basic_u8", "an LSTM of integers in the format of 2018, which no converter writes any more"},
    {"non_max_suppression_v5_*", "boxes that overlap are dropped, their scores are not lowered"},
};

const Exception* Find(const std::string& name) {
  const auto* found = std::find_if(std::begin(kExceptions), std::end(kExceptions), [&](const Exception& row) {
    return fnmatch(row.pattern, name.c_str(), 0) == 0;
  });
  return found == std::end(kExceptions) ? nullptr : found;
}

}  // namespace

const char* WhyTfliteCaseIsRefused(const std::string& name) {
  const Exception* row = Find(name);
  return row == nullptr ? nullptr : row->reason;
}

std::vector<std::string> UnusedTfliteExceptions(const std::vector<std::string>& cases) {
  std::vector<std::string> unused;
  for (const Exception& row : kExceptions) {
    const bool used =
        std::any_of(cases.begin(), cases.end(), [&](const std::string& name) { return Find(name) == &row; });
    if (!used) unused.emplace_back(row.pattern);
  }
  return unused;
}

}  // namespace skiff::testing
