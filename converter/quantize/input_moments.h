/// What a product with constant weights gets to multiply them with: means and products of pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Of the rows that a Conv2d or FullyConnected multiplies with each channel's weights: what lies under the
/// window, in the order of the weights.
class InputMoments {
 public:
  /// `weights`: of the product's second input. Takes about as many rows of all calls together as tell enough
  /// of the pairs. Without `pairs` only means are taken.
  InputMoments(const Node& node, const Shape& weights, int64_t calls, bool pairs = true);

  /// Of the node's first input in a call. Rows with numbers that are not finite are left out.
  void Add(const TensorView& x);

  int64_t groups() const { return groups_; }
  /// Weights of a channel.
  int64_t row() const { return row_; }
  bool has_products() const { return !products_.empty(); }
  /// By group, then by weight.
  std::vector<double> Means() const;
  /// Mean products of a group's pairs, or, where `central`, of their distances from their means: row() rows,
  /// of which elements up to the diagonal are filled in.
  std::vector<double> Products(int64_t group, bool central);

 private:
  void AddWindows(const TensorView& x);
  void AddRow(const float* row);
  void Multiply();

  Conv2dAttrs window_;  ///< Of a FullyConnected: one pixel.
  int64_t taps_[2] = {1, 1};
  int64_t groups_ = 1;
  int64_t depth_ = 0;  ///< Channels of a group.
  int64_t row_ = 0;
  int64_t rows_of_call_ = 0;
  int64_t rows_ = 0;
  int64_t waiting_ = 0;
  std::vector<double> block_;  ///< Rows that are not yet multiplied.
  std::vector<double> sums_;
  std::vector<double> products_;
};

}  // namespace skiff
