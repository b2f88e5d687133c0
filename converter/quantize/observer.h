/// What calibration sees of a value: a histogram, and how large its channels become.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skiff {

/// Finite numbers only; others are counted. The same for the same calls in any order, but for the moving
/// averages.
class Observer {
 public:
  static constexpr int kBins = 8192;

  /// `channels`: the extent of the last axis, of which each index is looked at; 0: none is.
  void Add(std::span<const float> values, int64_t channels);

  int64_t calls() const { return calls_; }
  int64_t count() const { return zeros_ + others_; }
  int64_t zeros() const { return zeros_; }
  int64_t not_finite() const { return not_finite_; }
  double min() const { return min_; }
  double max() const { return max_; }
  /// Of the smallest and largest number of each call, with a weight of 1/10 for a new one.
  double average_min() const { return average_min_; }
  double average_max() const { return average_max_; }

  /// Numbers but zeros, in kBins equal steps over [-reach(), reach()), a power of two; empty: there are none.
  const std::vector<int64_t>& bins() const { return bins_; }
  double reach() const { return reach_; }
  double BinMiddle(int bin) const { return (2 * bin + 1 - kBins) * reach_ / kBins; }

  /// By the index of the last axis.
  const std::vector<float>& channel_largest() const { return channel_largest_; }

 private:
  void Reach(double largest);
  void AddChannels(std::span<const float> values, int64_t channels);

  int64_t calls_ = 0;
  int64_t zeros_ = 0;
  int64_t others_ = 0;
  int64_t not_finite_ = 0;
  double min_ = 0;
  double max_ = 0;
  double average_min_ = 0;
  double average_max_ = 0;
  double reach_ = 0;
  std::vector<int64_t> bins_;
  std::vector<float> channel_largest_;
};

}  // namespace skiff
