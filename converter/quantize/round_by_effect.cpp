#include "quantize/round_by_effect.h"

#include <algorithm>
#include <numeric>

namespace skiff {
namespace {

/// Share of the mean of the diagonal that is added to it: directions that calibration did not see are not
/// free.
constexpr double kDamping = 0.01;
/// Channels that are rounded together.
constexpr int64_t kTogether = 4;

std::vector<double> Damped(InputMoments& moments, int64_t group, bool central) {
  std::vector<double> products = moments.Products(group, central);
  const int64_t row = moments.row();
  double sum = 0;
  for (int64_t i = 0; i < row; ++i) sum += products[static_cast<size_t>(i * row + i)];
  // Of inputs that are always 0, any number does.
  const double added = sum > 0 ? kDamping * sum / static_cast<double>(row) : 1;
  for (int64_t i = 0; i < row; ++i) products[static_cast<size_t>(i * row + i)] += added;
  return products;
}

/// From the inputs that weigh most on.
std::vector<int64_t> OrderOf(const std::vector<double>& products, int64_t row) {
  std::vector<int64_t> order(static_cast<size_t>(row));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return products[static_cast<size_t>(a * row + a)] > products[static_cast<size_t>(b * row + b)];
  });
  return order;
}

std::vector<double> InOrder(const std::vector<double>& products, const std::vector<int64_t>& order) {
  const size_t row = order.size();
  std::vector<double> ordered(row * row);
  for (size_t i = 0; i < row; ++i) {
    for (size_t k = 0; k <= i; ++k) {
      const auto from = static_cast<size_t>(std::max(order[i], order[k]));
      const auto to = static_cast<size_t>(std::min(order[i], order[k]));
      ordered[i * row + k] = products[from * row + to];
    }
  }
  return ordered;
}

/// Rounds `count` channels of weights that lie one behind the other, from the element `first` on.
void RoundChannels(const TensorData& weights, const WeightGrid& grid, const std::vector<int64_t>& order,
                   const std::vector<double>& upper, int64_t first, int64_t count,
                   std::vector<int8_t>& codes) {
  const size_t row = order.size();
  std::vector<double> wanted(row * kTogether);  // Weight by weight, in their order.
  const auto place = [&](size_t j, int64_t c) { return first + c * static_cast<int64_t>(row) + order[j]; };
  for (size_t j = 0; j < row; ++j) {
    for (int64_t c = 0; c < count; ++c)
      wanted[j * kTogether + static_cast<size_t>(c)] = static_cast<double>(weights.as<float>()[place(j, c)]);
  }
  for (size_t j = 0; j < row; ++j) {
    double errors[kTogether] = {};
    for (int64_t c = 0; c < count; ++c) {
      const int64_t at = place(j, c);
      const float scale = grid.ScaleAt(at);
      const int code = NearestCode(wanted[j * kTogether + static_cast<size_t>(c)], scale, grid.largest_code);
      codes[static_cast<size_t>(at)] = static_cast<int8_t>(code);
      errors[c] = static_cast<double>(weights.as<float>()[at]) - code * static_cast<double>(scale);
    }
    const double* factors = upper.data() + j * row;
    for (size_t k = j + 1; k < row; ++k) {
      double* to = wanted.data() + k * kTogether;
      for (int64_t c = 0; c < kTogether; ++c) to[c] += errors[c] * factors[k];
    }
  }
}

}  // namespace

std::vector<double> UpperFactor(std::vector<double> matrix, int64_t size) {
  const auto n = static_cast<size_t>(size);
  // The matrix is consumed from its last row on, each of which becomes a column of U.
  std::vector<double> upper(n * n, 0);
  std::vector<double> column(n);
  for (size_t j = n; j-- > 0;) {
    const double* last = matrix.data() + j * n;
    upper[j * n + j] = 1;
    if (!(last[j] > 0)) continue;  // Nothing was seen along it that it could hand on.
    for (size_t i = 0; i < j; ++i) {
      column[i] = last[i];
      upper[i * n + j] = last[i] / last[j];
    }
    for (size_t i = 0; i < j; ++i) {
      const double factor = upper[i * n + j];
      double* row = matrix.data() + i * n;
      for (size_t k = 0; factor != 0 && k <= i; ++k) row[k] -= factor * column[k];
    }
  }
  return upper;
}

std::vector<double> ImportanceOf(InputMoments& moments, int64_t channels, bool central) {
  std::vector<double> importance;
  const int64_t row = moments.row();
  const int64_t times = moments.groups() == 1 ? 1 : channels / moments.groups();
  for (int64_t group = 0; group < moments.groups(); ++group) {
    const std::vector<double> products = Damped(moments, group, central);
    for (int64_t time = 0; time < times; ++time) {
      for (int64_t i = 0; i < row; ++i) importance.push_back(products[static_cast<size_t>(i * row + i)]);
    }
  }
  return importance;
}

TensorData CodesByEffect(const TensorData& weights, const WeightGrid& grid, InputMoments& moments,
                         bool central) {
  std::vector<int8_t> codes(static_cast<size_t>(weights.elements()));
  const int64_t row = moments.row();
  const int64_t channels = weights.shape()[0] / moments.groups();
  for (int64_t group = 0; group < moments.groups(); ++group) {
    const std::vector<double> products = Damped(moments, group, central);
    const std::vector<int64_t> order = OrderOf(products, row);
    const std::vector<double> upper = UpperFactor(InOrder(products, order), row);
    for (int64_t c = 0; c < channels; c += kTogether)
      RoundChannels(weights, grid, order, upper, (group * channels + c) * row,
                    std::min(kTogether, channels - c), codes);
  }
  return ToTensor(weights.shape(), grid, codes);
}

}  // namespace skiff
