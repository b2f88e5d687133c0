#include "core/checksum.h"

#include <bit>
#include <cstring>
#include <initializer_list>

namespace skiff {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;  // The golden ratio: no pattern in its bits.

/// The rotation brings high bits down, where the next multiplication spreads them.
uint64_t Mix(uint64_t state, uint64_t word) { return std::rotl(state ^ word, 29) * kOdd; }

uint64_t Word(const unsigned char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Four lanes, so that multiplications need not wait for each other. Named, because compilers keep an array
/// of them in memory.
struct Lanes {
  static constexpr size_t kBlock = 4 * sizeof(uint64_t);
  uint64_t a = 1, b = 2, c = 3, d = 4;

  void Take(const unsigned char* block) {
    a = Mix(a, Word(block));
    b = Mix(b, Word(block + 8));
    c = Mix(c, Word(block + 16));
    d = Mix(d, Word(block + 24));
  }
};

}  // namespace

uint64_t Checksum(const void* bytes, size_t size) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  Lanes lanes;
  size_t left = size;
  for (; left >= Lanes::kBlock; left -= Lanes::kBlock, next += Lanes::kBlock) lanes.Take(next);
  if (left > 0) {
    unsigned char last[Lanes::kBlock] = {};
    std::memcpy(last, next, left);
    lanes.Take(last);
  }
  uint64_t sum = size;
  for (const uint64_t lane : {lanes.a, lanes.b, lanes.c, lanes.d}) sum = Mix(sum, lane ^ lane >> 32);
  return sum ^ sum >> 32;
}

}  // namespace skiff
