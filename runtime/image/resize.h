/// A picture at another size, row by row.
#pragma once

#include "image/pixel_rows.h"
#include "image/taps.h"

namespace skiff {

/// The part of a resized picture that an input shows. Buffers are kept from one picture to the next.
class Resize {
 public:
  /// Which columns and rows of the resized picture are wanted; neither is empty.
  struct Window {
    LineWindow columns, rows;
  };
  Status Begin(PixelRows& rows, uint32_t channels, ImageFilter filter, const Window& window);
  /// Samples of row i of the window, i = 0, 1, ... in this order; channels interleaved. Valid until the next
  /// call. With kLinear FloatRow() has them.
  const uint8_t* Row(uint32_t i);
  const float* FloatRow(uint32_t i);

 private:
  const uint8_t* Narrowed(uint32_t row);

  PixelRows* source_ = nullptr;
  uint32_t channels_ = 0;
  ImageFilter filter_ = ImageFilter::kNearest;
  Window window_;
  Taps columns_, rows_;
  FixedArray<uint32_t> nearest_columns_, nearest_rows_;
  FixedArray<uint8_t> narrow_;       ///< Some rows of the source at the target's width.
  uint32_t narrow_count_ = 0;        ///< How many.
  FixedArray<uint32_t> narrow_row_;  ///< Which; a row can lie in one place only.
  FixedArray<uint8_t> row_;
  FixedArray<int32_t> sums_;
  FixedArray<float> lines_[2];  ///< Of kLinear: the two rows of the source between which a sample lies.
  FixedArray<float> floats_;
  int64_t held_[2] = {-1, -1};  ///< Which rows they are.
};

}  // namespace skiff
