#include "files/picture.h"

#include "graph/error.h"

namespace skiff {
namespace {

using namespace std::string_view_literals;

struct Format {
  const char* name;
  size_t at;  ///< Where the mark begins.
  std::string_view mark;
  Picture (*decode)(std::string_view bytes, const std::string& name) = nullptr;  ///< Null: it is not read.
};
constexpr Format kFormats[] = {
    {"JPEG", 0, "\xff\xd8\xff"sv, DecodeJpeg},
    {"PNG", 0, "\x89PNG\r\n\x1a\n"sv, DecodePng},
    {"GIF", 0, "GIF8"sv},
    {"WebP", 8, "WEBP"sv},
    {"TIFF", 0, "II*\0"sv},
    {"TIFF", 0, "MM\0*"sv},
    {"HEIF or AVIF", 4, "ftyp"sv},
    {"JPEG XL", 0, "\xff\x0a"sv},
    {"Netpbm", 0, "P5"sv},
    {"Netpbm", 0, "P6"sv},
    {"BMP", 0, "BM"sv},
};

}  // namespace

Pixels Picture::pixels() const {
  const PixelFormat format = channels == 1   ? PixelFormat::kGrey8
                             : channels == 3 ? PixelFormat::kRgb8
                                             : PixelFormat::kRgba8;
  return {samples.data(), width, height, format, orientation};
}

void ThrowDamaged(const std::string& name, const char* format, const char* reason) {
  Throw(StatusCode::kInvalidModel, "{}: cannot be decoded as a {} picture: {}", name, format, reason);
}

void AllocateSamples(uint32_t width, uint32_t height, uint32_t channels, const std::string& name,
                     Picture& picture) {
  constexpr uint64_t kMostPixels = uint64_t{1} << 27;
  if (uint64_t{width} * height > kMostPixels) {
    Throw(StatusCode::kUnsupported, "{}: has {} x {} pixels; at most {} are read; make it smaller first",
          name, width, height, kMostPixels);
  }
  picture.width = width;
  picture.height = height;
  picture.channels = channels;
  picture.samples.resize(size_t{width} * height * channels);
}

Picture DecodePicture(std::string_view bytes, const std::string& name) {
  for (const Format& format : kFormats) {
    if (bytes.size() < format.at || !bytes.substr(format.at).starts_with(format.mark)) continue;
    if (format.decode != nullptr) return format.decode(bytes, name);
    Throw(StatusCode::kUnsupported, "{}: is a {} picture, which is not read; save it as PNG or JPEG", name,
          format.name);
  }
  Throw(StatusCode::kInvalidModel, "{}: cannot be decoded: it is neither a PNG nor a JPEG picture", name);
}

}  // namespace skiff
