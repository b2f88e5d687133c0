/// Weights as CodeDenseArgs has them: in panels of words.
#pragma once

#include <stdint.h>
#include <string.h>

#include <algorithm>

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {

/// A panel has one half more than two at most, of 16 lanes.
inline constexpr size_t kMostPanelColumns = 48;

/// Constant codes of 8 bits, and where they lie.
struct CodeWeights {
  const uint8_t* first = nullptr;  ///< Of the first output and input.
  size_t output_step = 0;
  size_t input_step = 0;
  // Of u8 as i8: the bit in which the two differ, and 128 less.
  uint8_t sign = 0;
  int zero_point = 0;
};

/// `count` weights of an output, at most 256, side by side in words that lie `width` words apart. Returns
/// their sum. Of i8, whose zero point is 0.
inline int64_t PackCodes(const CodeWeights& weights, const uint8_t* from, size_t count, size_t width,
                         int32_t* to, int8_t) {
  constexpr uint32_t kEach = 0x01010101;
  const size_t step = weights.input_step;
  const uint32_t signs = kEach * weights.sign;
  uint32_t sums = 0;  // Of bytes 0 and 2, and of 1 and 3, each 128 more.
  const auto put = [&](uint32_t word) {
    memcpy(to, &word, sizeof(word));
    to += width;
    const uint32_t raised = word ^ (kEach * 0x80);
    sums += (raised & 0x00ff00ff) + (raised >> 8 & 0x00ff00ff);
  };
  const auto word_of = [&](size_t some) {
    uint32_t word = 0;
    for (size_t i = 0; i < some; ++i) word |= uint32_t{from[i * step]} << (8 * i);
    return word;
  };
  const size_t whole = count / 4;
  if (step == 1) {
    for (size_t i = 0; i < whole; ++i, from += 4) {
      uint32_t word = 0;
      memcpy(&word, from, sizeof(word));
      put(word ^ signs);
    }
  } else {
    for (size_t i = 0; i < whole; ++i, from += 4 * step) put(word_of(4) ^ signs);
  }
  const size_t left = count % 4;
  if (left > 0) put((word_of(left) ^ signs) & ((uint32_t{1} << (8 * left)) - 1));
  const size_t words = whole + (left > 0 ? 1 : 0);
  return static_cast<int64_t>(sums & 0xffff) + (sums >> 16) - static_cast<int64_t>(words * 4 * 128);
}
/// Of any, less their zero point.
inline int64_t PackCodes(const CodeWeights& weights, const uint8_t* from, size_t count, size_t width,
                         int32_t* to, int16_t) {
  int64_t sum = 0;
  for (size_t k = 0; k < count; ++k, from += weights.input_step) {
    const int weight = static_cast<int8_t>(*from ^ weights.sign) - weights.zero_point;
    const auto half = static_cast<uint16_t>(weight);
    int32_t& word = to[k / 2 * width];
    word = static_cast<int32_t>(k % 2 == 0 ? uint32_t{half}
                                           : static_cast<uint32_t>(word) | uint32_t{half} << 16);
    sum += weight;
  }
  return sum;
}

/// The words of `exist` outputs from `first` on, in a panel of `width`, and each output's sum of weights less
/// their zero point. What does not exist is 0. Element: i8 where all weights fit it, or i16.
template <class Element>
void PackCodePanel(const CodeWeights& weights, const DenseShape& shape, size_t first, size_t exist,
                   size_t width, int32_t* to, int64_t* sums) {
  constexpr size_t kOfWord = sizeof(int32_t) / sizeof(Element);
  constexpr size_t kChunk = 256;  // Whose words stay in the first-level cache.
  const uint8_t* run = weights.first + first * weights.output_step;
  for (size_t runs = shape.runs[0] * shape.runs[1]; runs > 0; --runs, run += shape.run * weights.input_step) {
    for (size_t k = 0; k < shape.run; k += kChunk) {
      const size_t count = std::min(kChunk, shape.run - k);
      const size_t words = (count + kOfWord - 1) / kOfWord;
      if (exist < width) std::fill_n(to, words * width, 0);
      const uint8_t* from = run + k * weights.input_step;
      for (size_t i = 0; i < exist; ++i, from += weights.output_step)
        sums[i] += PackCodes(weights, from, count, width, to + i, Element());
      to += words * width;
    }
  }
}

}  // namespace skiff::xnnpack
