/// Numbers of things, for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff {

/// "1 segment", "2 segments", "no segments".
inline std::string Counted(uint64_t count, std::string_view thing) {
  if (count == 0) return fmt::format("no {}s", thing);
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace skiff
