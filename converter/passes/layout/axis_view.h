/// How a value of the graph lies in a tensor that holds the same elements in another order: the algebra of
/// reshapes and transpositions that have not been carried out.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/attrs.h"
#include "skiff/tensor.h"

namespace skiff {

/// The tensor's axes are cut into factors, each named by an id. `order` lists them as they lie in memory,
/// `axes` says which factors make up each axis of the value. Transposing the value permutes `axes`, reshaping
/// it regroups them; neither touches the memory. Factors of extent 1 only remember a place: they may be
/// moved, dropped and invented.
///
///   A convolution's output [1, 7, 7, 64], seen through Transpose(0, 3, 1, 2) and Reshape to [1, 2, 32, 49]:
///     order [n y x g c], extents [1 7 7 2 32]; axes [n] [g] [c] [y x]
struct AxisView {
  std::vector<int64_t> extents;        ///< By factor id.
  std::vector<int> order;              ///< Factors, outermost first in memory.
  std::vector<std::vector<int>> axes;  ///< Factors of each axis of the value, outermost first.

  /// The value is the tensor.
  static AxisView Identity(const Shape& shape);

  int rank() const { return static_cast<int>(axes.size()); }
  bool IsUnit(int factor) const { return extents[static_cast<size_t>(factor)] == 1; }
  /// The product of the factors' extents.
  int64_t Extent(const std::vector<int>& factors) const;
  int64_t AxisExtent(int axis) const { return Extent(axes[static_cast<size_t>(axis)]); }
  /// The factors that are no units.
  std::vector<int> Solid(const std::vector<int>& factors) const;
  /// By factor id: its index in `order`, or -1 for a factor that has been replaced.
  std::vector<int> Positions() const;
  /// By factor id: the next factor in memory that is no unit, or -1.
  std::vector<int> NextInMemory() const;
  /// The elements lie in the order of these groups of factors.
  bool LiesAs(const std::vector<std::vector<int>>& groups) const;
  /// The elements lie in the value's own row-major order.
  bool IsPlain() const { return LiesAs(axes); }
  /// The elements lie in the order that this sequence of the value's axes gives.
  bool Follows(const std::vector<int>& axis_order) const;
  /// Factors of one group that lie together in memory.
  struct Run {
    int place;  ///< Sorts runs by where they lie; a group of extent 1 without a place follows its
                ///< predecessor.
    int group;
    int64_t extent;
  };
  /// The runs that these groups of factors consist of, in the groups' order; at least one each.
  std::vector<Run> Runs(const std::vector<std::vector<int>>& groups) const;
  /// The runs' indices, sorted by place.
  static std::vector<size_t> InMemory(const std::vector<Run>& runs);
  /// The axes sorted by where their innermost factors lie; an axis of extent 1 without a place follows its
  /// predecessor.
  std::vector<int> MemoryOrder() const;
  /// The factors of each axis of the tensor.
  std::vector<std::vector<int>> TensorAxes(const Shape& tensor) const;
  /// The same, cut where neighbours have different labels (by factor id).
  std::vector<std::vector<int>> CutTensorAxes(const Shape& tensor, const std::vector<uint64_t>& labels) const;

  /// Output axis i is axis perm[i]; an empty perm reverses.
  void Permute(const Ints& perm);
  /// False, leaving the view in pieces, where an extent would have to be cut unevenly or too many factors
  /// arise.
  bool Reshape(const Shape& target);
  /// Cuts a factor in two; it keeps `outer`, the new factor behind it gets the rest. Returns the new one.
  int Split(int factor, int64_t outer);
  /// Replaces an axis whose factors lie together by one new factor of another extent.
  void ReplaceAxis(int axis, int64_t extent);
  /// Forgets the place of an axis of extent 1.
  void DropUnit(int axis);
  /// Adds a factor that `axes` does not mention yet, before order[at].
  int InsertFactor(size_t at, int64_t extent);
};

/// Cuts two axes of equal extent until they consist of equal factors; false where the cuts do not match.
bool CutAlike(AxisView& a, int axis_a, AxisView& b, int axis_b);

}  // namespace skiff
