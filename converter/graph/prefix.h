/// Names that others begin with.
#pragma once

#include <cstddef>
#include <string>

namespace skiff {

/// What becomes the beginning of many names, at most kLongestPrefix bytes of it.
std::string PrefixOf(const std::string& name);
inline constexpr size_t kLongestPrefix = 2048;

}  // namespace skiff
