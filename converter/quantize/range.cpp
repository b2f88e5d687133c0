#include "quantize/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skiff {
namespace {

constexpr int kBins = Observer::kBins;
/// Ends that are tried, in per cent: so much less each time, down to the least one.
constexpr int kPercentStep = 2;
constexpr int kLeastPercent = 20;

/// Steps of a range that has 0 as one of them.
struct Grid {
  double scale = 1;
  double low = 0;  ///< The lowest and highest code, in steps from 0.
  double high = 0;

  Grid(const Range& range, int levels) {
    const double width = range.high - range.low;
    scale = width > 0 ? width / (levels - 1) : 1;
    low = std::nearbyint(range.low / scale);
    high = low + levels - 1;
  }
  double Nearest(double number) const {
    return std::clamp(std::nearbyint(number / scale), low, high) * scale;
  }
};

template <class Visit>
void ForEachBin(const Observer& seen, Visit&& visit) {
  for (int i = 0; i < static_cast<int>(seen.bins().size()); ++i) {
    const int64_t count = seen.bins()[static_cast<size_t>(i)];
    if (count > 0) visit(seen.BinMiddle(i), static_cast<double>(count));
  }
}

/// Divergence of the codes' distribution from that of the numbers: each code's numbers spread evenly over the
/// bins that it has some in, those beyond the range in the first and the last of these.
double Divergence(const Observer& seen, const Range& range, int levels) {
  const Grid grid(range, levels);
  const auto code_of = [&](double number) {
    return static_cast<size_t>(std::clamp(std::nearbyint(number / grid.scale), grid.low, grid.high) -
                               grid.low);
  };
  std::vector<double> total(static_cast<size_t>(levels), 0);
  std::vector<double> used(static_cast<size_t>(levels), 0);
  double inside = 0;
  double below = 0;
  double above = 0;
  double first = 0;  // Of the bins inside that have any numbers: the ends may be empty.
  double last = 0;
  ForEachBin(seen, [&](double number, double count) {
    if (number < range.low) {
      below += count;
    } else if (number > range.high) {
      above += count;
    } else {
      if (inside == 0) first = number;
      last = number;
      inside += count;
      total[code_of(number)] += count;
      used[code_of(number)] += 1;
    }
  });
  if (inside == 0) return std::numeric_limits<double>::infinity();
  const double all = below + inside + above;
  double sum = 0;
  ForEachBin(seen, [&](double number, double count) {
    if (number < range.low || number > range.high) return;
    if (number == first) count += below;
    if (number == last) count += above;
    const double p = count / all;
    const double q = total[code_of(number)] / used[code_of(number)] / inside;
    sum += p * std::log(p / q);
  });
  return sum;
}

/// The range among narrower ones for which `cost` is least; of equal ones the widest.
template <class Cost>
Range Narrowed(const Range& whole, Cost&& cost) {
  Range best = whole;
  double least = cost(whole);
  const auto consider = [&](const Range& range) {
    const double own = cost(range);
    if (own >= least) return;
    least = own;
    best = range;
  };
  for (int percent = 100 - kPercentStep; percent >= kLeastPercent; percent -= kPercentStep)
    consider({whole.low * percent / 100, whole.high * percent / 100});
  if (whole.low == 0 || whole.high == 0) return best;
  const Range both = best;
  for (int percent = 100; percent >= kLeastPercent; percent -= kPercentStep)
    consider({both.low, whole.high * percent / 100});
  const double high = best.high;
  for (int percent = 100; percent >= kLeastPercent; percent -= kPercentStep)
    consider({whole.low * percent / 100, high});
  return best;
}

Range Percentile(const Observer& seen, double percentile) {
  const double all = static_cast<double>(seen.count());
  const double beyond = all * (1 - percentile / 100);
  Range range{0, 0};
  double below = 0;
  bool found = false;
  const double half = seen.reach() / kBins;
  double left = all;
  double negative = 0;
  ForEachBin(seen, [&](double number, double count) {
    if (number < 0) negative += count;
  });
  ForEachBin(seen, [&](double number, double count) {
    below += count;
    if (!found && number < 0 && below > beyond) {
      range.low = number - half;
      found = true;
    }
    const double up_to = number < 0 ? below : below + static_cast<double>(seen.zeros());
    left = all - up_to;
    // The last bin whose numbers are not all beyond.
    if (number > 0 && left + count > beyond) range.high = number + half;
  });
  return range;
}

/// The same range, or, where that is much better, one nearly as wide with one of its ends on a step. Numbers
/// that are steps themselves, such as those of pictures, lie in the middle between the codes elsewhere: from
/// -1 to 1, 0 is a code and 255 steps lie half a step beside it.
Range OnSteps(const Observer& seen, const Range& range, int levels) {
  constexpr double kMuch = 0.8;
  const double steps = levels - 1;
  const double below = std::nearbyint(-range.low / (range.high - range.low) * steps);
  if (!(below >= 1 && below < steps)) return range;
  const double above = steps - below;
  Range best = range;
  double least = kMuch * SquareError(seen, range, levels);
  for (const Range& other :
       {Range{range.low, -range.low / below * above}, Range{-range.high / above * below, range.high}}) {
    const double error = SquareError(seen, other, levels);
    if (error >= least) continue;
    least = error;
    best = other;
  }
  return best;
}

Range RangeOf(const Observer& seen, RangeMethod method, int levels, double percentile) {
  const Range whole{std::min(seen.min(), 0.0), std::max(seen.max(), 0.0)};
  switch (method) {
    case RangeMethod::kMinMax:
      return whole;
    case RangeMethod::kMovingAverage:
      return {std::min(seen.average_min(), 0.0), std::max(seen.average_max(), 0.0)};
    case RangeMethod::kPercentile: {
      const Range range = Percentile(seen, percentile);
      return {std::max(range.low, whole.low), std::min(range.high, whole.high)};
    }
    case RangeMethod::kMse:
      return Narrowed(whole, [&](const Range& range) { return SquareError(seen, range, levels); });
    case RangeMethod::kEntropy:
      return Narrowed(whole, [&](const Range& range) { return Divergence(seen, range, levels); });
  }
  return whole;
}

}  // namespace

Range Union(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

double SquareError(const Observer& seen, const Range& range, int levels) {
  const Grid grid(range, levels);
  double sum = 0;
  ForEachBin(seen, [&](double number, double count) {
    const double error = number - grid.Nearest(number);
    sum += count * error * error;
  });
  return seen.count() > 0 ? sum / static_cast<double>(seen.count()) : 0;
}

double ClippedShare(const Observer& seen, const Range& range) {
  double beyond = 0;
  const double half = seen.reach() / kBins;
  ForEachBin(seen, [&](double number, double count) {
    if (number + half < range.low || number - half > range.high) beyond += count;
  });
  return seen.count() > 0 ? beyond / static_cast<double>(seen.count()) : 0;
}

Range ChooseRange(const Observer& seen, RangeMethod method, int levels, double percentile) {
  return OnSteps(seen, RangeOf(seen, method, levels, percentile), levels);
}

QuantizationPtr QuantizationFor(const Range& range, DType dtype) {
  if (dtype == DType::kI16) {
    const double largest = std::max(-range.low, range.high);
    const auto scale = static_cast<float>(largest / 32767);
    return PerTensor(std::isnormal(scale) ? scale : 1);
  }
  const auto scale = static_cast<float>((range.high - range.low) / 255);
  if (!std::isnormal(scale)) return PerTensor(1);
  const double lowest = std::nearbyint(range.low / static_cast<double>(scale));
  return PerTensor(scale, static_cast<int32_t>(std::clamp(-128 - lowest, -128.0, 127.0)));
}

}  // namespace skiff
