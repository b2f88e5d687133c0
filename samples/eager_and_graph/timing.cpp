#include "samples/eager_and_graph/timing.h"

#include <algorithm>
#include <chrono>

namespace sample {

double TimeOnce(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::vector<double>> TimeInTurns(const std::vector<Call>& calls, int rounds) {
  std::vector<std::vector<double>> times(calls.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < calls.size(); ++i) times[i].push_back(TimeOnce(calls[i]));
  }
  return times;
}

double Quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

}  // namespace sample
