#include "graph/prefix.h"

namespace skiff {

std::string PrefixOf(const std::string& name) {
  if (name.size() <= kLongestPrefix) return name;
  // Not in the midst of a character of UTF-8.
  size_t end = kLongestPrefix;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace skiff
