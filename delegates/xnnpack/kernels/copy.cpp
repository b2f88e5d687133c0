// Copies of rows, and tables of bytes. They wait for memory, not for arithmetic: the baseline's vectors are
// enough.
#include <cstring>

#include "delegates/xnnpack/kernels/interleave.h"
#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

/// From here on the C library's copy knows the CPU's caches better.
constexpr size_t kLongRow = 1024;

template <size_t kBytes>
void CopyPiece(const char* x, char* y) {
  std::memcpy(y, x, kBytes);
}

/// Rows of kPiece to 2 * kPiece bytes: two pieces, which may overlap.
template <size_t kPiece>
void CopyTwoPieces(size_t rows, size_t bytes, const char* x, int64_t x_stride, char* y, int64_t y_stride) {
  const size_t second = bytes - kPiece;
  for (size_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    CopyPiece<kPiece>(x, y);
    CopyPiece<kPiece>(x + second, y + second);
  }
}

template <size_t kBytes>
void CopyOnePiece(size_t rows, const char* x, int64_t x_stride, char* y, int64_t y_stride) {
  for (size_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) CopyPiece<kBytes>(x, y);
}

/// More than 32 bytes: whole pieces, and the last one from the end.
void CopyLongRows(size_t rows, size_t bytes, const char* x, int64_t x_stride, char* y, int64_t y_stride) {
  for (size_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    if (bytes >= kLongRow) {
      std::memcpy(y, x, bytes);
      continue;
    }
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64) CopyPiece<64>(x + i, y + i);
    if (i + 32 <= bytes) {
      CopyPiece<32>(x + i, y + i);
      i += 32;
    }
    if (i < bytes) CopyPiece<32>(x + bytes - 32, y + bytes - 32);
  }
}

}  // namespace

void CopyRows(size_t rows, size_t bytes, const void* from, int64_t x_stride, void* to, int64_t y_stride) {
  const auto* x = static_cast<const char*>(from);
  auto* y = static_cast<char*>(to);
  if (bytes > 32) return CopyLongRows(rows, bytes, x, x_stride, y, y_stride);
  if (bytes > 16) return CopyTwoPieces<16>(rows, bytes, x, x_stride, y, y_stride);
  if (bytes == 16) return CopyOnePiece<16>(rows, x, x_stride, y, y_stride);
  if (bytes > 8) return CopyTwoPieces<8>(rows, bytes, x, x_stride, y, y_stride);
  if (bytes == 8) return CopyOnePiece<8>(rows, x, x_stride, y, y_stride);
  if (bytes > 4) return CopyTwoPieces<4>(rows, bytes, x, x_stride, y, y_stride);
  if (bytes == 4) return CopyOnePiece<4>(rows, x, x_stride, y, y_stride);
  if (bytes >= 2) return CopyTwoPieces<2>(rows, bytes, x, x_stride, y, y_stride);
  if (bytes == 1) return CopyOnePiece<1>(rows, x, x_stride, y, y_stride);
}

namespace {

#if defined(__x86_64__)
using Four [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = uint32_t;

/// As many whole fours of pixels as there are: other CPUs have an instruction that stores three sequences in
/// turns, which compilers find. Returns the first pixel that is left.
size_t InterleaveFours(size_t first, size_t end, const uint32_t* x, const uint32_t* second,
                       const uint32_t* third, uint32_t* y) {
  for (; first + 4 <= end; first += 4) {
    const Four a = *reinterpret_cast<const Four*>(x + first);
    const Four b = *reinterpret_cast<const Four*>(second + first);
    const Four c = *reinterpret_cast<const Four*>(third + first);
    const Four low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four high = __builtin_shufflevector(b, c, 2, 6, 3, 7);
    const Four ends = __builtin_shufflevector(c, a, 0, 5, 2, 7);  // c0 a1 c2 a3
    Four* const to = reinterpret_cast<Four*>(y + 3 * first);
    to[0] = __builtin_shufflevector(low, ends, 0, 1, 4, 5);
    to[1] = __builtin_shufflevector(__builtin_shufflevector(b, c, 1, 5, 1, 5),
                                    __builtin_shufflevector(a, b, 2, 6, 2, 6), 0, 1, 4, 5);
    to[2] = __builtin_shufflevector(ends, high, 2, 3, 6, 7);
  }
  return first;
}
#else
size_t InterleaveFours(size_t first, size_t, const uint32_t*, const uint32_t*, const uint32_t*, uint32_t*) {
  return first;
}
#endif
size_t InterleaveFours(size_t first, size_t, const uint8_t*, const uint8_t*, const uint8_t*, uint8_t*) {
  return first;
}

}  // namespace

template <class T>
void InterleavePlanes(size_t n, size_t first, size_t end, const T* x, T* y) {
  const T* const second = x + n;
  const T* const third = x + 2 * n;
#pragma omp simd
  for (size_t i = InterleaveFours(first, end, x, second, third, y); i < end; ++i) {
    y[3 * i] = x[i];
    y[3 * i + 1] = second[i];
    y[3 * i + 2] = third[i];
  }
}

template void InterleavePlanes(size_t n, size_t first, size_t end, const uint8_t* x, uint8_t* y);
template void InterleavePlanes(size_t n, size_t first, size_t end, const uint32_t* x, uint32_t* y);

void InterleaveHalves(size_t rows, size_t half, const uint8_t* x, size_t x_stride, uint8_t* y,
                      size_t y_stride) {
  for (size_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    const uint8_t* const second = x + half;
#pragma omp simd
    for (size_t i = 0; i < half; ++i) {
      y[2 * i] = x[i];
      y[2 * i + 1] = second[i];
    }
  }
}

}  // namespace skiff::xnnpack
