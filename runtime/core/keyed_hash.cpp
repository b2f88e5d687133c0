// NH, the universal hash of UMAC (RFC 4418), twice over each stripe: for two stripes that differ, the chance
// over all keys that both sums agree is 2^-64. The sums depend on the key everywhere, so how they are put
// together need not: by steps that are invertible.
#include "core/keyed_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace skiff {
namespace {

constexpr size_t kStripeWords = 256;
constexpr size_t kStripeBytes = kStripeWords * sizeof(uint32_t);
/// The second sum uses the same words of the key two places further.
constexpr size_t kKeyWords = kStripeWords + 2;
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;  // The golden ratio: no pattern in its bits.

uint64_t Mix(uint64_t state, uint64_t word) { return std::rotl(state ^ word, 29) * kOdd; }

/// SplitMix64's finaliser.
uint64_t Scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

struct Sums {
  uint64_t first = 0;
  uint64_t second = 0;
};

Sums SumOf(const uint8_t* stripe, const uint32_t* key) {
  Sums sums;
  for (size_t i = 0; i < kStripeWords; i += 2) {
    uint32_t words[2];
    std::memcpy(words, stripe + i * sizeof(uint32_t), sizeof(words));
    sums.first += uint64_t{words[0] + key[i]} * (words[1] + key[i + 1]);
    sums.second += uint64_t{words[0] + key[i + 2]} * (words[1] + key[i + 3]);
  }
  return sums;
}

}  // namespace

uint64_t KeyedHash(const HashKey& key, Span<const uint8_t> bytes) {
  uint32_t words[kKeyWords];
  for (size_t i = 0; i < kKeyWords; i += 2) {
    const uint64_t two = Scramble(key.words[0] + i * kOdd) ^ Scramble(key.words[1] - i * kOdd);
    std::memcpy(words + i, &two, sizeof(two));
  }
  uint64_t state = Mix(key.words[0] ^ kOdd, bytes.size());
  for (size_t at = 0; at < bytes.size(); at += kStripeBytes) {
    const size_t size = std::min(kStripeBytes, bytes.size() - at);
    uint8_t last[kStripeBytes];
    const uint8_t* stripe = bytes.data() + at;
    if (size < kStripeBytes) {
      std::memset(last, 0, sizeof(last));
      std::memcpy(last, stripe, size);
      stripe = last;
    }
    const Sums sums = SumOf(stripe, words);
    state = Mix(Mix(state, sums.first), sums.second);
  }
  return Scramble(state ^ key.words[1]);
}

}  // namespace skiff
