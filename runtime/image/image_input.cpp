#include <algorithm>
#include <cstring>
#include <new>

#include "image/resize.h"
#include "image/sample_codec.h"
#include "skiff/image.h"
#include "skiff/log.h"

namespace skiff {
namespace {

/// What of a resized line an input of `extent` shows, and where that begins in the input.
struct Shown {
  LineWindow window;
  uint32_t at = 0;
};
Shown ShownOf(uint32_t source, int64_t target, int64_t offset, uint32_t extent) {
  const int64_t begin = std::max<int64_t>(-offset, 0);
  const int64_t at = std::max<int64_t>(offset, 0);
  const int64_t count = std::min(target - begin, int64_t{extent} - at);
  return {{source, target, begin, static_cast<uint32_t>(count)}, static_cast<uint32_t>(at)};
}

/// kInvalidArgument where settings do not describe pictures, or not those of this input.
Status CheckSettings(const PortInfo& port) {
  const ImageSpec& spec = port.image;
  const Shape& shape = port.shape;
  const auto refuse = [&](const char* what, long long value, const char* expected) {
    return Fail(StatusCode::kInvalidArgument, "the image settings of input '%s': %s is %lld; %s", port.name,
                what, value, expected);
  };
  if (spec.width == 0 || spec.height == 0) {
    return Fail(StatusCode::kInvalidArgument,
                "the model does not say how a picture becomes its input '%s' (%s %s); convert it with "
                "--image-size WIDTHxHEIGHT --mean A,B,C --std A,B,C, or set the settings in the program",
                port.name, DTypeName(port.dtype), ShapeText(shape).c_str());
  }
  if (spec.channels != 1 && spec.channels != 3 && spec.channels != 4)
    return refuse("the number of channels", spec.channels, "pictures have 1 (grey), 3, or 4 with alpha");
  if (spec.bgr && spec.channels == 1) return refuse("bgr", 1, "grey has one channel, and no order of them");
  if (spec.fit > ImageFit::kLetterbox) return refuse("fit", static_cast<int>(spec.fit), "see ImageFit");
  if (spec.filter > ImageFilter::kNearest)
    return refuse("filter", static_cast<int>(spec.filter), "see ImageFilter");
  constexpr uint32_t kMostSide = 65536;
  if (std::max({spec.width, spec.height, spec.resize}) > kMostSide)
    return refuse("a side", std::max({spec.width, spec.height, spec.resize}), "65536 is the largest");
  if (spec.resize != 0 && spec.fit != ImageFit::kCrop)
    return refuse("resize", spec.resize, "it is for fit crop only");
  if (spec.resize != 0 && spec.resize < std::max(spec.width, spec.height))
    return refuse("resize", spec.resize,
                  "the crop would be larger than the picture; give at least its longer side");
  const int64_t wanted[] = {spec.height, spec.width, spec.channels};
  const int axes[] = {spec.nhwc ? 1 : 2, spec.nhwc ? 2 : 3, spec.nhwc ? 3 : 1};
  bool fits = shape.rank() == 4;
  for (int i = 0; fits && i < 3; ++i) fits = shape[axes[i]] == wanted[i] || shape[axes[i]] == -1;
  if (fits) return OkStatus();
  return Fail(
      StatusCode::kInvalidArgument,
      "the image settings of input '%s' %s are of pictures %ux%u with %u channels, %s; its shape does "
      "not fit them",
      port.name, ShapeText(shape).c_str(), spec.width, spec.height, spec.channels,
      spec.nhwc ? "channels last" : "channels first");
}

}  // namespace

struct ImageInput::Internals {
  PortInfo port;
  SampleCodec codec;
  PixelRows pixels;
  Resize resize;
  FixedArray<uint8_t> fill;  ///< A row of ImageSpec::fill.

  Status CheckTensor(const TensorView& to, int64_t index) const;
  /// Where a row of the input, or a part of it, is written.
  SampleCodec::Place PlaceOf(const TensorView& to, int64_t index, uint32_t y, uint32_t x) const;
};

Status ImageInput::Internals::CheckTensor(const TensorView& to, int64_t index) const {
  const ImageSpec& spec = port.image;
  const int64_t batch = to.shape.rank() == 4 ? to.shape[0] : -1;
  const Shape wanted = spec.nhwc ? Shape{batch, spec.height, spec.width, spec.channels}
                                 : Shape{batch, spec.channels, spec.height, spec.width};
  if (to.dtype != port.dtype || !(to.shape == wanted)) {
    return Fail(StatusCode::kInvalidArgument,
                "the tensor for input '%s' is %s %s; expected %s %s, with any first extent", port.name,
                DTypeName(to.dtype), ShapeText(to.shape).c_str(), DTypeName(port.dtype),
                ShapeText(wanted).c_str());
  }
  if (to.data == nullptr)
    return Fail(StatusCode::kInvalidArgument, "the tensor for input '%s' has no memory", port.name);
  if (!to.dense())
    return Fail(StatusCode::kInvalidArgument, "the rows of the tensor for input '%s' lie apart", port.name);
  if (index < 0 || index >= batch) {
    return Fail(StatusCode::kInvalidArgument, "there is no picture %lld in a batch of %lld for input '%s'",
                static_cast<long long>(index), static_cast<long long>(batch), port.name);
  }
  return OkStatus();
}

SampleCodec::Place ImageInput::Internals::PlaceOf(const TensorView& to, int64_t index, uint32_t y,
                                                  uint32_t x) const {
  const ImageSpec& spec = port.image;
  const size_t plane = size_t{spec.width} * spec.height;
  const size_t pixel = size_t{y} * spec.width + x;
  const size_t first =
      static_cast<size_t>(index) * plane * spec.channels + (spec.nhwc ? pixel * spec.channels : pixel);
  return {static_cast<uint8_t*>(to.data) + first * static_cast<size_t>(DTypeSize(port.dtype)),
          spec.nhwc ? spec.channels : 1, spec.nhwc ? 1 : plane};
}

ImageInput::ImageInput(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
ImageInput::~ImageInput() = default;

Result<std::unique_ptr<ImageInput>> ImageInput::Create(const PortInfo& port) {
  SKIFF_RETURN_IF_ERROR(CheckSettings(port));
  std::unique_ptr<Internals> internals(new (std::nothrow) Internals);
  if (internals == nullptr)
    return Fail(StatusCode::kOutOfMemory, "no memory for the pictures of input '%s'", port.name);
  internals->port = port;
  SKIFF_RETURN_IF_ERROR(internals->codec.Open(port));
  if (port.image.fit == ImageFit::kLetterbox) {
    SKIFF_RETURN_IF_ERROR(internals->fill.Allocate(uint64_t{port.image.width} * port.image.channels));
    std::fill(internals->fill.begin(), internals->fill.end(), port.image.fill);
  }
  std::unique_ptr<ImageInput> made(new (std::nothrow) ImageInput(std::move(internals)));
  if (made == nullptr)
    return Fail(StatusCode::kOutOfMemory, "no memory for the pictures of input '%s'", port.name);
  return made;
}

Status ImageInput::Write(const Pixels& picture, const TensorView& to, int64_t index) {
  Internals& my = *internals_;
  const ImageSpec& spec = my.port.image;
  SKIFF_RETURN_IF_ERROR(my.CheckTensor(to, index));
  SKIFF_RETURN_IF_ERROR(my.pixels.Open(picture, spec.channels, my.port.name));
  const ImagePlacement place = PlaceImage(spec, my.pixels.width(), my.pixels.height());
  const Shown columns = ShownOf(my.pixels.width(), place.width, place.left, spec.width);
  const Shown rows = ShownOf(my.pixels.height(), place.height, place.top, spec.height);
  SKIFF_RETURN_IF_ERROR(
      my.resize.Begin(my.pixels, spec.channels, spec.filter, {columns.window, rows.window}));
  const uint32_t right = columns.at + columns.window.count;
  for (uint32_t y = 0; y < spec.height; ++y) {
    const bool beside = y < rows.at || y >= rows.at + rows.window.count;
    if (!my.fill.empty()) {
      my.codec.Write(my.fill.data(), beside ? spec.width : columns.at, my.PlaceOf(to, index, y, 0));
      if (!beside) my.codec.Write(my.fill.data(), spec.width - right, my.PlaceOf(to, index, y, right));
    }
    if (beside) continue;
    const SampleCodec::Place at = my.PlaceOf(to, index, y, columns.at);
    if (spec.filter == ImageFilter::kLinear) {
      SKIFF_RETURN_IF_ERROR(my.codec.Write(my.resize.FloatRow(y - rows.at), columns.window.count, at));
    } else {
      my.codec.Write(my.resize.Row(y - rows.at), columns.window.count, at);
    }
  }
  return OkStatus();
}

}  // namespace skiff
