/// How integers stand for real numbers.
#pragma once

#include <cstdint>

#include "skiff/tensor.h"

namespace skiff {

/// real = scale * (q - zero_point). A property of a tensor of i4, u4, i8, u8, i16, u16 or i32; a tensor
/// without one holds plain integers.
///
/// One scale for all elements; or, along `axis`, one for each index (block 0) or one for each run of `block`
/// neighbours, separately at every index of the other axes. The scales of blocks are a tensor of their own:
/// row-major, with the extents of the quantised one but ceil(extent / block) along `axis`.
struct Quantization {
  static constexpr int kPerTensor = -1;

  float scale = 1;         ///< Positive and finite. Per tensor.
  int32_t zero_point = 0;  ///< Within the dtype. Per tensor.
  int axis = kPerTensor;   ///< Not negative otherwise.
  int64_t block = 0;
  int64_t count = 1;                     ///< Of scales.
  const float* scales = nullptr;         ///< Borrowed; null per tensor.
  const int32_t* zero_points = nullptr;  ///< Borrowed, `count` of them; null: all are 0. Null per tensor.

  bool per_tensor() const { return axis == kPerTensor; }
  float ScaleAt(int64_t i) const { return scales == nullptr ? scale : scales[i]; }
  int32_t ZeroPointAt(int64_t i) const {
    if (per_tensor()) return zero_point;
    return zero_points == nullptr ? 0 : zero_points[i];
  }
};

/// The same meaning of the same integers; two absent ones are equal.
bool SameQuantization(const Quantization* a, const Quantization* b);

/// A dtype whose integers may be quantised.
bool CanBeQuantized(DType dtype);

/// What is wrong with a quantisation of such a tensor; null: nothing. Extents of -1 are not known, and no
/// axis may have one.
const char* QuantizationDefect(const Quantization& quantization, DType dtype, const Shape& shape);

/// Which scale an element has, by its row-major index.
class ScaleIndex {
 public:
  ScaleIndex(const Quantization& quantization, const Shape& shape);
  int64_t operator()(int64_t element) const {
    if (per_tensor_) return 0;
    const int64_t at = element / inner_ % extent_;
    if (block_ == 0) return at;
    return (element / (inner_ * extent_) * blocks_ + at / block_) * inner_ + element % inner_;
  }

 private:
  bool per_tensor_;
  int64_t block_;
  int64_t inner_ = 1;
  int64_t extent_ = 1;
  int64_t blocks_ = 1;
};

}  // namespace skiff
