/// What a camera writes beside its picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skiff {

/// EXIF's orientation, 1 to 8, of a TIFF block, which is untrusted; 1 where it says none or is damaged, as
/// viewers take it.
int ExifOrientation(std::span<const uint8_t> tiff);

}  // namespace skiff
