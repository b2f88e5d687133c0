/// Elements of few sequences, taken in turns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::xnnpack {

/// y = x[0], x[n], x[2 n], x[1], x[n + 1], ...: elements [first, end) of three planes become pixels. Of u8
/// and u32.
template <class T>
void InterleavePlanes(size_t n, size_t first, size_t end, const T* x, T* y);

/// Rows of 2 * half bytes, strides apart: y = x[0], x[half], x[1], x[half + 1], ...
void InterleaveHalves(size_t rows, size_t half, const uint8_t* x, size_t x_stride, uint8_t* y,
                      size_t y_stride);

}  // namespace skiff::xnnpack
