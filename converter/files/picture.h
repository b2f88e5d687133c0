/// Decoded pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skiff {

/// 8-bit samples, rows from the top, channels interleaved in the order red, green, blue (or grey).
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<uint8_t> samples;
};

/// Decodes PNG, JPEG or BMP to `channels` channels: 1 is luminance, 3 is RGB, 4 is RGB with alpha. An alpha
/// channel that is not asked for is dropped, not blended; grey pictures fill all colours. Throws Error
/// (kInvalidModel) whose message begins with `name`.
Picture DecodePicture(std::string_view bytes, int channels, const std::string& name);

}  // namespace skiff
