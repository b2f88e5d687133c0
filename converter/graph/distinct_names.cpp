#include "graph/distinct_names.h"

#include <fmt/format.h>

namespace skiff {

std::string DistinctNames::Take(const std::string& wanted, const std::string& other) {
  if (taken_.insert(wanted).second) return wanted;
  int& number = numbers_.try_emplace(other, 1).first->second;
  std::string numbered;
  do {
    numbered = fmt::format("{}_{}", other, ++number);
  } while (!taken_.insert(numbered).second);
  return numbered;
}

}  // namespace skiff
