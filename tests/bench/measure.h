/// Interleaved measurement of two ways to do the same thing.
#pragma once

#include <functional>
#include <vector>

namespace skiff::bench {

/// Times of both sides in nanoseconds, pair by pair.
struct Pairs {
  std::vector<double> a;
  std::vector<double> b;
};

/// Runs both sides in pairs and appends their times. Which side begins alternates, so that what a side leaves
/// behind (caches, clock speed) burdens both alike. `between` runs before every timed call, untimed.
void MeasurePairs(int pairs, int warmup, const std::function<void()>& a, const std::function<void()>& b,
                  const std::function<void()>& between, Pairs& times);

double Median(std::vector<double> values);

/// A median with the order statistics that enclose the true one with a probability of 95 %: no assumption
/// about the distribution.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
};
Estimate MedianWithInterval(std::vector<double> values);

/// Of a / b, pair by pair.
Estimate RatioOf(const Pairs& pairs);

}  // namespace skiff::bench
