/// The k best elements of a line, for TopK on every path.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace skiff::eager {

/// The indices of the best elements as a binary heap in the output, its root being the worst. J. W. J.
/// Williams, Algorithm 232 (Heapsort), 1964. A line of n elements costs n comparisons with the root, and a
/// descent of log k steps for each element that is better. NaN counts as larger than every number, so that
/// the order is total; of equal elements the one with the smaller index is better. k is at least 1.
template <class T, class At>
struct BestIndices {
  At at;          ///< The element at an index, T.
  int64_t* heap;  ///< Element i lies at heap[i * stride].
  int64_t stride;
  bool largest;

  int64_t& Heap(int64_t i) const { return heap[i * stride]; }

  /// Begins with the first k; the worst of them.
  T Begin(int64_t k) const {
    for (int64_t i = 0; i < k; ++i) Heap(i) = i;
    for (int64_t i = k / 2 - 1; i >= 0; --i) Sink(i, k);
    return at(Heap(0));
  }

  /// An element behind those before, in place of the worst where it is better; the worst one then.
  T Offer(int64_t k, int64_t index, T element, T worst) const {
    if (!Better(element, worst)) return worst;
    Heap(0) = index;
    Sink(0, k);
    return at(Heap(0));
  }

  /// Best first.
  void Sort(int64_t k) const {
    for (int64_t size = k - 1; size > 0; --size) {
      const int64_t root = Heap(0);
      Heap(0) = Heap(size);
      Heap(size) = root;
      Sink(0, size);
    }
  }

 private:
  static bool IsNan(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
    return false;
  }
  static bool Less(T a, T b) { return a < b || (IsNan(b) && !IsNan(a)); }
  bool Better(T a, T b) const { return largest ? Less(b, a) : Less(a, b); }
  bool Worse(int64_t a, int64_t b) const {
    const T x = at(a);
    const T y = at(b);
    return Better(y, x) || (!Better(x, y) && b < a);
  }

  /// Lets the element at `hole` sink among the first `size`, until no child is worse.
  void Sink(int64_t hole, int64_t size) const {
    const int64_t index = Heap(hole);
    for (int64_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && Worse(Heap(child + 1), Heap(child))) ++child;
      if (!Worse(Heap(child), index)) break;
      Heap(hole) = Heap(child);
      hole = child;
    }
    Heap(hole) = index;
  }
};

}  // namespace skiff::eager
