#include "quantize/input_moments.h"

#include <algorithm>
#include <cmath>

#include "eager/kernels/window.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kBlock = 8;
constexpr int64_t kMostRows = 4096;
constexpr int64_t kLeastRows = 512;
/// Of all layers together, time goes where a channel has many weights.
constexpr int64_t kMostMultiplications = int64_t{1} << 33;
/// Of a mean square, what rounding may leave of the variance where all rows are equal.
constexpr double kRounding = 1e-9;
/// Steps of the golden ratio fall evenly on places, whatever their number.
constexpr double kGolden = 0.6180339887498949;

}  // namespace

InputMoments::InputMoments(const Node& node, const Shape& weights, int64_t calls, bool pairs) {
  const bool windows = node.op == OpCode::kConv2d;
  if (windows) {
    window_ = node.As<Conv2dAttrs>();
    taps_[0] = weights[1];
    taps_[1] = weights[2];
    groups_ = window_.groups;
  }
  depth_ = weights[weights.rank() - 1];
  row_ = weights.elements() / weights[0];
  const int64_t rows = std::clamp(kMostMultiplications / (row_ * row_), kLeastRows, kMostRows);
  rows_of_call_ = std::max<int64_t>(1, (rows + calls - 1) / calls);
  block_.resize(static_cast<size_t>(kBlock * groups_ * row_));
  sums_.resize(static_cast<size_t>(groups_ * row_));
  if (pairs) products_.resize(static_cast<size_t>(groups_ * row_ * row_));
}

void InputMoments::Add(const TensorView& x) {
  const int64_t channels = groups_ * depth_;
  if (x.shape.elements() == 0) return;
  // A FullyConnected multiplies each row of its input: pixels of a picture, under windows of one of them.
  TensorView pixels = x;
  if (x.shape.rank() != 4) pixels.shape = Shape{1, 1, x.shape.elements() / channels, channels};
  AddWindows(pixels);
}

void InputMoments::AddWindows(const TensorView& x) {
  eager::Window windows[2];
  for (int axis = 0; axis < 2; ++axis) {
    eager::Window& window = windows[axis];
    window.input = x.shape[1 + axis];
    window.taps = taps_[axis];
    window.stride = window_.strides[axis];
    window.dilation = window_.dilations[axis];
    const AxisPads pads = ResolvePads(window_.auto_pad, window.input, window.taps, window.stride,
                                      window.dilation, window_.pads[axis], window_.pads[2 + axis]);
    window.pad_begin = pads.begin;
    window.pad_end = pads.end;
    const int64_t reach = (window.taps - 1) * window.dilation + 1;
    window.output = (window.input + pads.begin + pads.end - reach) / window.stride + 1;
  }
  const int64_t channels = groups_ * depth_;
  const int64_t places = x.shape[0] * windows[0].output * windows[1].output;
  const int64_t taken = std::min(places, rows_of_call_);
  std::vector<float> row(static_cast<size_t>(groups_ * row_));
  double at = 0;
  for (int64_t i = 0; i < taken; ++i) {
    const auto spread = static_cast<int64_t>(at * static_cast<double>(places));
    const int64_t place = taken == places ? i : std::min(spread, places - 1);
    at = std::fmod(at + kGolden, 1.0);
    const int64_t out_x = place % windows[1].output;
    const int64_t out_y = place / windows[1].output % windows[0].output;
    const int64_t picture = place / windows[1].output / windows[0].output;
    for (int64_t tap = 0; tap < taps_[0] * taps_[1]; ++tap) {
      const int64_t y = windows[0].Source(out_y, tap / taps_[1]);
      const int64_t column = windows[1].Source(out_x, tap % taps_[1]);
      const bool inside = y >= 0 && column >= 0;
      const int64_t pixel =
          inside ? (picture * windows[0].input + y) * windows[1].input + column : 0;  // One that is there.
      const float* from = x.as<float>() + pixel * channels;
      for (int64_t group = 0; group < groups_; ++group) {
        float* to = row.data() + group * row_ + tap * depth_;
        if (inside)
          std::copy_n(from + group * depth_, depth_, to);
        else
          std::fill_n(to, depth_, 0.F);
      }
    }
    AddRow(row.data());
  }
}

void InputMoments::AddRow(const float* row) {
  const int64_t width = groups_ * row_;
  if (!std::all_of(row, row + width, [](float number) { return std::isfinite(number); })) return;
  std::copy_n(row, width, block_.begin() + waiting_ * width);
  for (int64_t i = 0; i < width; ++i) sums_[static_cast<size_t>(i)] += static_cast<double>(row[i]);
  ++rows_;
  if (++waiting_ == kBlock) Multiply();
}

void InputMoments::Multiply() {
  const int64_t width = groups_ * row_;
  std::fill(block_.begin() + waiting_ * width, block_.end(), 0);
  waiting_ = 0;
  for (int64_t group = 0; has_products() && group < groups_; ++group) {
    const double* rows = block_.data() + group * row_;
    for (int64_t i = 0; i < row_; ++i) {
      double* to = products_.data() + (group * row_ + i) * row_;
      const double* at = rows + i;
      const double factors[kBlock] = {at[0],         at[width],     at[2 * width], at[3 * width],
                                      at[4 * width], at[5 * width], at[6 * width], at[7 * width]};
      for (int64_t k = 0; k <= i; ++k) {
        double sum = to[k];
        for (int64_t r = 0; r < kBlock; ++r) sum += factors[r] * rows[r * width + k];
        to[k] = sum;
      }
    }
  }
}

std::vector<double> InputMoments::Means() const {
  std::vector<double> means = sums_;
  for (double& mean : means) mean /= static_cast<double>(std::max<int64_t>(rows_, 1));
  return means;
}

std::vector<double> InputMoments::Products(int64_t group, bool central) {
  if (waiting_ > 0) Multiply();
  const auto first = products_.begin() + group * row_ * row_;
  std::vector<double> products(first, first + row_ * row_);
  const auto rows = static_cast<double>(std::max<int64_t>(rows_, 1));
  const double* sums = sums_.data() + group * row_;
  for (int64_t i = 0; i < row_; ++i) {
    for (int64_t k = 0; k <= i; ++k) {
      double& product = products[static_cast<size_t>(i * row_ + k)];
      product /= rows;
      const double square = product;
      if (central) product -= sums[i] / rows * (sums[k] / rows);
      if (central && i == k) product = std::max(product, square * kRounding);
    }
  }
  return products;
}

}  // namespace skiff
