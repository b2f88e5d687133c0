/// Times of calls that take turns, so that what slows the machine down slows all of them.
#pragma once

#include <functional>
#include <vector>

namespace sample {

using Call = std::function<void()>;

/// Microseconds, by call and round.
std::vector<std::vector<double>> TimeInTurns(const std::vector<Call>& calls, int rounds);
double TimeOnce(const Call& call);
/// The value that `share` of all are below or at; 0.5 is the median.
double Quantile(std::vector<double> values, double share);

}  // namespace sample
