/// The rows of a picture as it is looked at: its orientation undone, its pixels of as many channels as are
/// wanted, red first.
#pragma once

#include "core/fixed_array.h"
#include "skiff/image.h"

namespace skiff {

class PixelRows {
 public:
  /// What is wrong with a picture is kInvalidArgument; `input` is who wants it. The picture must outlive the
  /// calls of Row().
  Status Open(const Pixels& picture, uint32_t channels, const char* input);
  uint32_t width() const { return swapped_ ? picture_.height : picture_.width; }
  uint32_t height() const { return swapped_ ? picture_.width : picture_.height; }
  /// Valid until the next call.
  const uint8_t* Row(uint32_t y);

 private:
  Pixels picture_;
  uint32_t channels_ = 0;
  bool swapped_ = false;    ///< Its columns are the rows.
  ptrdiff_t first_ = 0;     ///< Of the pixel that is looked at first.
  ptrdiff_t to_right_ = 0;  ///< Bytes to the neighbour on the right.
  ptrdiff_t down_ = 0;
  void (*convert_)(const uint8_t* from, ptrdiff_t step, uint32_t count, uint8_t* to) = nullptr;
  FixedArray<uint8_t> row_;
};

/// Makes an array as long as is needed; what it holds is lost.
template <class T>
Status AtLeast(uint64_t size, FixedArray<T>& array) {
  return array.size() >= size ? OkStatus() : array.Allocate(size);
}

}  // namespace skiff
