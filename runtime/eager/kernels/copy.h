/// Copying elements between two layouts: what transposes, slices, tiles and expansions come down to.
#pragma once

#include <cstring>

#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"

namespace skiff::eager {

/// Rows and columns that a transposing copy moves together, so that both sides stay in the cache.
inline constexpr int64_t kTile = 16;

/// memcpy, except that nothing may be copied from or to null, and that what is in place already stays.
inline void CopyBytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

template <class T>
void CopyRun(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    CopyBytes(to, from, count * static_cast<int64_t>(sizeof(T)));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
}

/// Copies `from` to `to` along a walk whose operand 0 is `to` and operand 1 is `from`.
template <class T>
void CopyWalk(const StridedWalk<2>& walk, const T* from, T* to) {
  const size_t rank = walk.rank();
  // A transpose reads with a large stride along the innermost axis and in order along the one before it.
  const bool transposes = rank >= 2 && walk.strides(rank - 1)[1] > 1 && walk.strides(rank - 2)[1] == 1;
  if (!transposes) {
    walk.ForEachRun([&](const auto& offsets, int64_t count, const auto& strides) {
      CopyRun(from + offsets[1], strides[1], to + offsets[0], strides[0], count);
    });
    return;
  }
  const int64_t rows = walk.extent(rank - 2);
  const int64_t columns = walk.extent(rank - 1);
  const auto row = walk.strides(rank - 2);
  const auto column = walk.strides(rank - 1);
  walk.ForEachOuter(rank - 2, [&](const auto& offsets) {
    for (int64_t r = 0; r < rows; r += kTile) {
      const int64_t r_end = rows - r < kTile ? rows : r + kTile;
      for (int64_t c = 0; c < columns; c += kTile) {
        const int64_t count = columns - c < kTile ? columns - c : kTile;
        for (int64_t i = r; i < r_end; ++i) {
          CopyRun(from + offsets[1] + i * row[1] + c * column[1], column[1],
                  to + offsets[0] + i * row[0] + c * column[0], column[0], count);
        }
      }
    }
  });
}

/// Fills `count` elements.
template <class T>
void FillRun(T* to, int64_t count, T value) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

}  // namespace skiff::eager
