/// What the printer and the parser of the text form (text.h) must agree about.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "graph/graph.h"

namespace skiff::text {

/// Words that begin a line or stand where a name could; a value of such a name is quoted.
inline bool IsKeyword(std::string_view word) {
  return word == "graph" || word == "symbol" || word == "input" || word == "const" || word == "output";
}

inline bool StartsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '/'; }
inline bool ContinuesName(char c) {
  return StartsName(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.';
}

/// Fields that hold a DType as an integer; the text shows the name.
inline bool IsDTypeField(std::string_view field) { return field == "to" || field == "dtype"; }

/// Of the first bytes of the elements, eight at a time. Good enough to tell constants apart; equality is
/// decided by comparing.
inline uint64_t HashElements(const TensorData& data, size_t most_bytes = SIZE_MAX) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto* bytes = static_cast<const unsigned char*>(data.data());
  const size_t size = std::min(data.size_bytes(), most_bytes);
  for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + done, std::min(sizeof(word), size - done));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace skiff::text
