#include "image/pixel_rows.h"

namespace skiff {
namespace {

/// Beyond it a size is rather a mistake; JPEG has no larger one.
constexpr uint32_t kMostPixels = 65536;

/// Where a format has its colours; grey has all of them at 0.
template <int kRed, int kGreen, int kBlue, int kAlpha>
struct Places {
  static constexpr int red = kRed, green = kGreen, blue = kBlue, alpha = kAlpha;
  static constexpr bool grey = kRed == kBlue;
};

/// The luminance of ITU-R 601, as Pillow rounds it.
constexpr uint8_t Luminance(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

template <class From, int kChannels>
void Convert(const uint8_t* from, ptrdiff_t step, uint32_t count, uint8_t* to) {
  for (uint32_t i = 0; i < count; ++i, from += step, to += kChannels) {
    if constexpr (kChannels == 1) {
      to[0] = From::grey ? from[0] : Luminance(from[From::red], from[From::green], from[From::blue]);
    } else {
      to[0] = from[From::red];
      to[1] = from[From::green];
      to[2] = from[From::blue];
      if constexpr (kChannels == 4) to[3] = From::alpha < 0 ? 255 : from[From::alpha];
    }
  }
}

struct FormatRow {
  void (*to_grey)(const uint8_t*, ptrdiff_t, uint32_t, uint8_t*);
  void (*to_rgb)(const uint8_t*, ptrdiff_t, uint32_t, uint8_t*);
  void (*to_rgba)(const uint8_t*, ptrdiff_t, uint32_t, uint8_t*);
  uint32_t bytes;
  PixelFormat format;
  bool red_first;  ///< Its pixels are wanted as they are where there are as many channels.
};
template <class From>
constexpr FormatRow RowOf(PixelFormat format, uint32_t bytes, bool red_first) {
  return {Convert<From, 1>, Convert<From, 3>, Convert<From, 4>, bytes, format, red_first};
}
constexpr FormatRow kFormats[] = {
    RowOf<Places<0, 0, 0, -1>>(PixelFormat::kGrey8, 1, true),
    RowOf<Places<0, 1, 2, -1>>(PixelFormat::kRgb8, 3, true),
    RowOf<Places<2, 1, 0, -1>>(PixelFormat::kBgr8, 3, false),
    RowOf<Places<0, 1, 2, 3>>(PixelFormat::kRgba8, 4, true),
    RowOf<Places<2, 1, 0, 3>>(PixelFormat::kBgra8, 4, false),
};

/// What undoes EXIF's orientations 1 to 8: whether rows are columns of the memory, then which of the memory's
/// directions run backwards.
struct Orientation {
  bool swapped, from_right, from_bottom;
};
constexpr Orientation kOrientations[] = {{false, false, false}, {false, true, false}, {false, true, true},
                                         {false, false, true},  {true, false, false}, {true, false, true},
                                         {true, true, true},    {true, true, false}};

}  // namespace

Status PixelRows::Open(const Pixels& picture, uint32_t channels, const char* input) {
  const FormatRow* format = nullptr;
  for (const FormatRow& row : kFormats) {
    if (row.format == picture.format) format = &row;
  }
  const auto refuse = [&](const char* what, long long value, const char* expected) {
    return Fail(StatusCode::kInvalidArgument, "the picture for input '%s': its %s is %lld; %s", input, what,
                value, expected);
  };
  if (picture.data == nullptr)
    return Fail(StatusCode::kInvalidArgument, "the picture for input '%s' is null", input);
  if (format == nullptr) return refuse("pixel format", static_cast<int>(picture.format), "see PixelFormat");
  const char* sizes = "1 to 65536 pixels are possible";
  if (picture.width < 1 || picture.width > kMostPixels) return refuse("width", picture.width, sizes);
  if (picture.height < 1 || picture.height > kMostPixels) return refuse("height", picture.height, sizes);
  if (picture.orientation < 1 || picture.orientation > 8)
    return refuse("orientation", picture.orientation, "EXIF has 1 (upright) to 8");
  const int64_t dense = int64_t{picture.width} * format->bytes;
  if (picture.row_bytes != 0 && picture.row_bytes < dense)
    return refuse("row_bytes", picture.row_bytes,
                  "a row of it has more bytes; 0 means that rows follow each other");

  picture_ = picture;
  channels_ = channels;
  const Orientation& orientation = kOrientations[picture.orientation - 1];
  swapped_ = orientation.swapped;
  ptrdiff_t along = format->bytes;
  auto across = static_cast<ptrdiff_t>(picture.row_bytes == 0 ? dense : picture.row_bytes);
  first_ = (orientation.from_right ? along * static_cast<ptrdiff_t>(picture.width - 1) : 0) +
           (orientation.from_bottom ? across * static_cast<ptrdiff_t>(picture.height - 1) : 0);
  if (orientation.from_right) along = -along;
  if (orientation.from_bottom) across = -across;
  to_right_ = swapped_ ? across : along;
  down_ = swapped_ ? along : across;
  convert_ = channels == 1 ? format->to_grey : channels == 3 ? format->to_rgb : format->to_rgba;
  if (format->red_first && format->bytes == channels && to_right_ == static_cast<ptrdiff_t>(channels))
    convert_ = nullptr;
  return convert_ == nullptr ? OkStatus() : AtLeast(uint64_t{width()} * channels, row_);
}

const uint8_t* PixelRows::Row(uint32_t y) {
  const uint8_t* from = picture_.data + first_ + down_ * static_cast<ptrdiff_t>(y);
  if (convert_ == nullptr) return from;
  convert_(from, to_right_, width(), row_.data());
  return row_.data();
}

}  // namespace skiff
