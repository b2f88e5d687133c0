/// The product behind convolution, transposed convolution, fully connected layers and MatMul:
/// out[row][column] = clamp(bias[column] + sum over k of rows[row][k] * columns[column][k]).
///
/// Four rows are widened to double side by side, [k][row], and multiplied with four columns at once. Each sum
/// runs over k in ascending order in one accumulator, so the result depends on neither the blocking nor the
/// machine.
#pragma once

#include <cstring>

#include "eager/kernels/element.h"

namespace skiff::eager {

inline constexpr int64_t kBlockRows = 4;
inline constexpr int64_t kBlockColumns = 256;  ///< Sums held at a time, for each row.
inline constexpr int64_t kBlockDepth = 512;    ///< Row elements widened at a time.

/// Element (column, k) lies at data[column * column_stride + k * depth_stride].
template <class T>
struct ProductColumns {
  const T* data = nullptr;
  int64_t column_stride = 0;
  int64_t depth_stride = 0;
  int64_t count = 0;
  int64_t depth = 0;
};

/// Where the products go, and what happens to them there.
template <class T>
struct ProductOutput {
  T* data = nullptr;
  int64_t row_stride = 0;
  const T* bias = nullptr;
  LaneClamp<double> clamp{-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
};

/// sums[column * 4 + row] += rows[k * 4 + row] * columns[column][k] for four columns given by pointers.
template <class T>
void AccumulateFour(const double* rows, int64_t depth, const T* const (&columns)[4], int64_t depth_stride,
                    double* sums) {
  // Two rows fill a 128-bit register, which every target has; the compiler need not find the parallelism
  // itself.
  using Pair = double __attribute__((vector_size(16)));
  Pair total[8];
  std::memcpy(total, sums, sizeof(total));
  Pair a0 = total[0], b0 = total[1], a1 = total[2], b1 = total[3];
  Pair a2 = total[4], b2 = total[5], a3 = total[6], b3 = total[7];
  const T* c0 = columns[0];
  const T* c1 = columns[1];
  const T* c2 = columns[2];
  const T* c3 = columns[3];
  for (int64_t k = 0; k < depth; ++k) {
    Pair row[2];
    std::memcpy(row, rows + k * kBlockRows, sizeof(row));
    const double w0 = ToDouble(c0[k * depth_stride]);
    const double w1 = ToDouble(c1[k * depth_stride]);
    const double w2 = ToDouble(c2[k * depth_stride]);
    const double w3 = ToDouble(c3[k * depth_stride]);
    a0 += row[0] * w0;
    b0 += row[1] * w0;
    a1 += row[0] * w1;
    b1 += row[1] * w1;
    a2 += row[0] * w2;
    b2 += row[1] * w2;
    a3 += row[0] * w3;
    b3 += row[1] * w3;
  }
  const Pair result[8] = {a0, b0, a1, b1, a2, b2, a3, b3};
  std::memcpy(sums, result, sizeof(result));
}

/// fill(first_row, rows, first_k, count, block) widens `rows` (at most 4) rows: element k of row r goes to
/// block[(k - first_k) * 4 + r].
template <class T, class Fill>
void BlockedProduct(int64_t rows, const ProductColumns<T>& columns, const ProductOutput<T>& out,
                    Fill&& fill) {
  double block[kBlockDepth * kBlockRows] = {};
  double sums[kBlockColumns * kBlockRows];
  for (int64_t row = 0; row < rows; row += kBlockRows) {
    const int64_t row_count = rows - row < kBlockRows ? rows - row : kBlockRows;
    for (int64_t first = 0; first < columns.count; first += kBlockColumns) {
      const int64_t count = columns.count - first < kBlockColumns ? columns.count - first : kBlockColumns;
      std::memset(sums, 0, sizeof(sums));
      for (int64_t k = 0; k < columns.depth; k += kBlockDepth) {
        const int64_t depth = columns.depth - k < kBlockDepth ? columns.depth - k : kBlockDepth;
        fill(row, row_count, k, depth, block);
        for (int64_t c = 0; c < count; c += 4) {
          const T* four[4];
          // Past the last column its elements are read again and the sums are not used.
          for (int64_t i = 0; i < 4; ++i) {
            const int64_t column = first + (c + i < count ? c + i : count - 1);
            four[i] = columns.data + column * columns.column_stride + k * columns.depth_stride;
          }
          AccumulateFour(block, depth, four, columns.depth_stride, sums + c * kBlockRows);
        }
      }
      for (int64_t r = 0; r < row_count; ++r) {
        T* to = out.data + (row + r) * out.row_stride + first;
        for (int64_t c = 0; c < count; ++c) {
          const double bias = out.bias != nullptr ? ToDouble(out.bias[first + c]) : 0.0;
          to[c] = Store<T>(out.clamp(sums[c * kBlockRows + r] + bias));
        }
      }
    }
  }
}

}  // namespace skiff::eager
