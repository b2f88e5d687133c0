/// Where things lie in a file of packed weights, for tests that change them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/checksum.h"

namespace skiff::xnnpack {

inline constexpr size_t kHeaderBytes = 128;
inline constexpr size_t kRowBytes = 160;

/// The places of the header's fields.
enum Field : size_t {
  kBuild = 8,
  kCpu = 16,
  kModel = 24,
  kSize = 32,
  kEntries = 40,
  kTableSum = 48,
  kContent = 72,
  kIdentity = 80,
  kSum = 120
};
inline constexpr size_t kOffsetInRow = 144;
inline constexpr size_t kBytesInRow = 24;
inline constexpr size_t kSumInRow = 152;

inline uint64_t Word(const std::string& file, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, file.data() + at, sizeof(word));
  return word;
}

inline void SetWord(std::string& file, size_t at, uint64_t word) {
  std::memcpy(file.data() + at, &word, sizeof(word));
}

/// Makes the sums right again, as if the file had been written so.
inline void Sum(std::string& file) {
  const uint64_t rows = std::min<uint64_t>(Word(file, kEntries), (file.size() - kHeaderBytes) / kRowBytes);
  SetWord(file, kTableSum, Checksum(file.data() + kHeaderBytes, rows * kRowBytes));
  SetWord(file, kSum, Checksum(file.data(), kSum));
}

}  // namespace skiff::xnnpack
