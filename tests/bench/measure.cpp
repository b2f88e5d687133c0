#include "tests/bench/measure.h"

#include <algorithm>
#include <cmath>

#include "core/platform.h"

namespace skiff::bench {
namespace {

double Nanoseconds(const std::function<void()>& call) {
  const uint64_t begin = platform::NowNanoseconds();
  call();
  return static_cast<double>(platform::NowNanoseconds() - begin);
}

}  // namespace

void MeasurePairs(int pairs, int warmup, const std::function<void()>& a, const std::function<void()>& b,
                  const std::function<void()>& between, Pairs& times) {
  for (int i = -warmup; i < pairs; ++i) {
    double a_ns = 0;
    double b_ns = 0;
    for (const bool a_runs : {i % 2 == 0, i % 2 != 0}) {
      between();
      (a_runs ? a_ns : b_ns) = Nanoseconds(a_runs ? a : b);
    }
    if (i < 0) continue;
    times.a.push_back(a_ns);
    times.b.push_back(b_ns);
  }
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Estimate MedianWithInterval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  // How many values lie below the true median is binomial(n, 1/2); 1.96 deviations to each side are 95 %.
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high = static_cast<size_t>(std::min(n - 1, std::ceil(n / 2 + reach)));
  return {Median(values), values[low], values[high]};
}

Estimate RatioOf(const Pairs& pairs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs.a.size(); ++i) ratios.push_back(pairs.a[i] / pairs.b[i]);
  return MedianWithInterval(ratios);
}

}  // namespace skiff::bench
