/// Pictures in files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skiff/image.h"

namespace skiff {

/// 8-bit samples, rows from the top, channels interleaved.
struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;  ///< 1: grey, 3: red, green, blue, 4: with alpha.
  std::vector<uint8_t> samples;
  int orientation = 1;  ///< EXIF's.

  Pixels pixels() const;
};

/// Decodes PNG or JPEG as the file stores it: of 16 bits the higher 8, palettes as their colours, without
/// colour management. Throws Error whose message begins with `name`: kInvalidModel where it is damaged or cut
/// off, kUnsupported for other formats, for CMYK, and for more pixels than 2^27, before memory is asked for.
Picture DecodePicture(std::string_view bytes, const std::string& name);

/// A PNG file.
std::vector<uint8_t> EncodePng(const Picture& picture);

/// Of DecodePicture(), by format.
Picture DecodeJpeg(std::string_view bytes, const std::string& name);
Picture DecodePng(std::string_view bytes, const std::string& name);
/// Sizes the samples, or throws where there would be too many.
void AllocateSamples(uint32_t width, uint32_t height, uint32_t channels, const std::string& name,
                     Picture& picture);
[[noreturn]] void ThrowDamaged(const std::string& name, const char* format, const char* reason);

}  // namespace skiff
