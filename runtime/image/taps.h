/// Which samples of a line make those of a resized one.
#pragma once

#include "core/fixed_array.h"
#include "skiff/model.h"

namespace skiff {

/// A part of a line of `target` samples that is made of one of `source`: its samples begin .. begin + count.
struct LineWindow {
  uint32_t source = 0;
  int64_t target = 0;
  int64_t begin = 0;
  uint32_t count = 0;
  bool operator==(const LineWindow&) const = default;
};

/// Fixed-point weights over neighbours, as Pillow has them: a filter that is as wide as what a shrunk sample
/// covers, in f64, its weights divided by their sum and rounded to kBits.
class Taps {
 public:
  static constexpr int kBits = 32 - 8 - 2;
  struct Tap {
    uint32_t first = 0;  ///< Of the source.
    uint32_t count = 0;
    const int32_t* weights = nullptr;
  };

  /// Of kBilinear or kBicubic. Nothing where they are the same as before.
  Status Make(ImageFilter filter, const LineWindow& window);
  Tap operator[](uint32_t i) const { return {firsts_[i], counts_[i], weights_.data() + size_t{i} * most_}; }
  uint32_t size() const { return window_.count; }
  /// Taps of one sample, at most.
  uint32_t most() const { return most_; }
  /// The first sample of the source that is needed, and the one behind the last.
  uint32_t source_begin() const { return firsts_[0]; }
  uint32_t source_end() const { return firsts_[size() - 1] + counts_[size() - 1]; }

 private:
  ImageFilter filter_ = ImageFilter::kNearest;
  LineWindow window_;
  uint32_t most_ = 0;
  FixedArray<uint32_t> firsts_, counts_;
  FixedArray<int32_t> weights_;
  FixedArray<double> exact_;
};

/// A sum of samples times weights, rounded and held within 8 bits.
inline uint8_t ToSample(int32_t sum) {
  const int32_t sample = (sum + (1 << (Taps::kBits - 1))) >> Taps::kBits;
  return static_cast<uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
}

}  // namespace skiff
