#include "tests/fuzz/seeds.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/error.h"

namespace skiff::testing {

bool CheckSeeds(uint32_t count, const std::function<void(uint32_t seed, std::string& text)>& check) {
  constexpr int kMostFailures = 10;
  const char* const only = std::getenv("SKIFF_FUZZ_SEED");
  const char* const more = std::getenv("SKIFF_FUZZ_COUNT");
  const auto first = static_cast<uint32_t>(only == nullptr ? 1 : std::strtoul(only, nullptr, 10));
  if (only != nullptr) count = 1;
  if (more != nullptr) count = static_cast<uint32_t>(std::strtoul(more, nullptr, 10));
  int failures = 0;
  for (uint32_t seed = first; seed < first + count && failures < kMostFailures; ++seed) {
    std::string text = fmt::format("SKIFF_FUZZ_SEED={}\n", seed);
    try {
      check(seed, text);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
      ++failures;
    }
  }
  return only == nullptr && more == nullptr && failures == 0;
}

}  // namespace skiff::testing
