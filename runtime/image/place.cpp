#include <algorithm>

#include "skiff/image.h"

namespace skiff {
namespace {

/// a / b, half to even, as Python's round() does; both are positive.
int64_t RoundedQuotient(int64_t a, int64_t b) {
  const int64_t down = a / b;
  const int64_t rest = 2 * (a % b);
  return down + (rest > b || (rest == b && down % 2 == 1) ? 1 : 0);
}

int64_t HalfOf(int64_t gap) { return gap < 0 ? -RoundedQuotient(-gap, 2) : RoundedQuotient(gap, 2); }

}  // namespace

ImagePlacement PlaceImage(const ImageSpec& spec, uint32_t width, uint32_t height) {
  const int64_t w = width;
  const int64_t h = height;
  const int64_t to_w = spec.width;
  const int64_t to_h = spec.height;
  const bool wider = w * to_h > to_w * h;  // Than the input.
  ImagePlacement place = {to_w, to_h, 0, 0};
  if (spec.fit == ImageFit::kCrop && spec.resize > 0) {  // As torchvision's Resize(n) and CenterCrop.
    const int64_t shorter = spec.resize;
    place.width = w <= h ? shorter : shorter * w / h;
    place.height = w <= h ? shorter * h / w : shorter;
  } else if (spec.fit == ImageFit::kCrop) {
    if (wider) place.width = to_h * w / h;
    if (!wider) place.height = to_w * h / w;
  } else if (spec.fit == ImageFit::kLetterbox) {  // As Pillow's ImageOps.pad.
    if (wider) place.height = std::max<int64_t>(RoundedQuotient(h * to_w, w), 1);
    if (!wider) place.width = std::max<int64_t>(RoundedQuotient(w * to_h, h), 1);
  }
  place.left = HalfOf(to_w - place.width);
  place.top = HalfOf(to_h - place.height);
  return place;
}

}  // namespace skiff
