/// Numbers of things, for people.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skiff {

/// "1 segment", "2 segments", "no segments".
inline std::string Counted(uint64_t count, std::string_view thing) {
  if (count == 0) return fmt::format("no {}s", thing);
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

/// " and 3 more" behind a list that names some of all things; "" where it names all.
inline std::string AndMore(size_t all, size_t named) {
  return all > named ? fmt::format(" and {} more", all - named) : "";
}

}  // namespace skiff
