// What a picture becomes: elements, layouts, batches, orientations; and what is refused, with its reason.
#include "skiff/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/error_capture.h"
#include "core/half.h"
#include "core/memory_account.h"
#include "tests/runtime/image/cases.h"

namespace skiff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// 2x1 pixels of RGB.
constexpr uint8_t kTwo[] = {10, 20, 30, 40, 50, 60};
constexpr Pixels kTwoPixels = {kTwo, 2, 1, PixelFormat::kRgb8};

ImageSpec Spec(uint32_t width, uint32_t height, uint32_t channels = 3) {
  ImageSpec spec;
  spec.width = width;
  spec.height = height;
  spec.channels = channels;
  spec.filter = ImageFilter::kBilinear;
  for (float& scale : spec.scale) scale = 1;
  return spec;
}

template <class Element>
std::vector<Element> Write(const PortInfo& port, const Pixels& pixels) {
  std::vector<Element> got(static_cast<size_t>(port.shape.elements()));
  auto image = ImageInput::Create(port);
  EXPECT_TRUE(image.ok());
  EXPECT_TRUE(image.ok() && (*image)->Write(pixels, TensorView(got.data(), port.dtype, port.shape)).ok());
  return got;
}

TEST(ImageInput, ChannelsAndLayoutFollowTheSettings) {
  ImageSpec spec = Spec(2, 1);
  EXPECT_THAT(Write<float>(PortOf(spec), kTwoPixels), ElementsAre(10, 40, 20, 50, 30, 60));
  spec.nhwc = true;
  EXPECT_THAT(Write<float>(PortOf(spec), kTwoPixels), ElementsAre(10, 20, 30, 40, 50, 60));
  spec.bgr = true;
  spec.mean[0] = 30;  // Blue, which comes first.
  spec.scale[2] = 2;  // Red.
  EXPECT_THAT(Write<float>(PortOf(spec), kTwoPixels), ElementsAre(0, 20, 20, 30, 50, 80));
}

/// Each row of the result is made of all rows of the picture, which are not kept at the result's width.
TEST(ImageInput, TallPicturesBecomeWideOnesInLittleMemory) {
  constexpr uint32_t kHeight = 20000;
  constexpr uint32_t kWidth = 4096;
  std::vector<uint8_t> picture(kHeight);
  for (uint32_t y = 0; y < kHeight; ++y) picture[y] = static_cast<uint8_t>(y * y >> 7);
  const Pixels pixels = {picture.data(), 1, kHeight, PixelFormat::kGrey8};
  const std::vector<uint8_t> narrow = Write<uint8_t>(PortOf(Spec(1, 2, 1), DType::kU8), pixels);
  const AllocationLimit limit(uint64_t{1} << 25);
  const std::vector<uint8_t> wide = Write<uint8_t>(PortOf(Spec(kWidth, 2, 1), DType::kU8), pixels);
  ASSERT_EQ(wide.size(), 2 * kWidth);
  for (uint32_t x = 0; x < 2 * kWidth; ++x) ASSERT_EQ(wide[x], narrow[x / kWidth]) << x;
}

TEST(ImageInput, FormatsAreTheSamePicture) {
  const uint8_t rgba[] = {10, 20, 30, 7, 40, 50, 60, 8};
  const uint8_t bgra[] = {30, 20, 10, 7, 60, 50, 40, 8};
  const uint8_t bgr[] = {30, 20, 10, 60, 50, 40};
  ImageSpec spec = Spec(2, 1);
  spec.nhwc = true;
  const PortInfo port = PortOf(spec, DType::kU8);
  const auto expected = ElementsAre(10, 20, 30, 40, 50, 60);
  EXPECT_THAT(Write<uint8_t>(port, {rgba, 2, 1, PixelFormat::kRgba8}), expected);
  EXPECT_THAT(Write<uint8_t>(port, {bgra, 2, 1, PixelFormat::kBgra8}), expected);
  EXPECT_THAT(Write<uint8_t>(port, {bgr, 2, 1, PixelFormat::kBgr8}), expected);
  EXPECT_THAT(Write<uint8_t>(port, {kTwo, 2, 1, PixelFormat::kGrey8}), ElementsAre(10, 10, 10, 20, 20, 20));
  // Alpha where four channels are wanted: that of the picture, or none of it transparent.
  ImageSpec four = Spec(2, 1, 4);
  four.nhwc = true;
  const PortInfo with_alpha = PortOf(four, DType::kU8);
  EXPECT_THAT(Write<uint8_t>(with_alpha, {bgra, 2, 1, PixelFormat::kBgra8}),
              ElementsAre(10, 20, 30, 7, 40, 50, 60, 8));
  EXPECT_THAT(Write<uint8_t>(with_alpha, kTwoPixels), ElementsAre(10, 20, 30, 255, 40, 50, 60, 255));
  // Luminance of ITU-R 601: (299 r + 587 g + 114 b) / 1000.
  const uint8_t primaries[] = {255, 0, 0, 0, 255, 0};
  EXPECT_THAT(Write<uint8_t>(PortOf(Spec(2, 1, 1), DType::kU8), {primaries, 2, 1, PixelFormat::kRgb8}),
              ElementsAre(76, 150));
}

TEST(ImageInput, OrientationsAreUndone) {
  const uint8_t grey[] = {1, 2, 3, 4, 5, 6};  // 3 wide, 2 high.
  const std::array<std::vector<uint8_t>, 8> looked_at = {{{1, 2, 3, 4, 5, 6},
                                                          {3, 2, 1, 6, 5, 4},
                                                          {6, 5, 4, 3, 2, 1},
                                                          {4, 5, 6, 1, 2, 3},
                                                          {1, 4, 2, 5, 3, 6},
                                                          {4, 1, 5, 2, 6, 3},
                                                          {6, 3, 5, 2, 4, 1},
                                                          {3, 6, 2, 5, 1, 4}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool turned = orientation > 4;
    EXPECT_EQ(Write<uint8_t>(PortOf(Spec(turned ? 2 : 3, turned ? 3 : 2, 1), DType::kU8),
                             {grey, 3, 2, PixelFormat::kGrey8, orientation}),
              looked_at[static_cast<size_t>(orientation - 1)])
        << orientation;
  }
}

TEST(ImageInput, RowsMayLieApart) {
  const uint8_t rows[] = {1, 2, 99, 3, 4, 99};
  const PortInfo port = PortOf(Spec(2, 2, 1), DType::kU8);
  EXPECT_THAT(Write<uint8_t>(port, {rows, 2, 2, PixelFormat::kGrey8, 1, 3}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Write<uint8_t>(port, {rows, 2, 2, PixelFormat::kGrey8, 3, 3}), ElementsAre(4, 3, 2, 1));
}

TEST(ImageInput, LinearSamplesHalfPixelCentresAndClamps) {
  ImageSpec spec = Spec(4, 1, 1);
  spec.filter = ImageFilter::kLinear;
  const uint8_t row[] = {0, 100};
  EXPECT_THAT(Write<float>(PortOf(spec), {row, 2, 1, PixelFormat::kGrey8}), ElementsAre(0, 25, 75, 100));
  spec.width = 2;
  const uint8_t wide[] = {0, 10, 20, 31};
  EXPECT_THAT(Write<float>(PortOf(spec), {wide, 4, 1, PixelFormat::kGrey8}), ElementsAre(5, 25.5f));
  EXPECT_THAT(Write<uint8_t>(PortOf(spec, DType::kU8), {wide, 4, 1, PixelFormat::kGrey8}),
              ElementsAre(5, 26));
}

TEST(ImageInput, HalvesAndIntegers) {
  ImageSpec spec = Spec(2, 1);
  spec.nhwc = true;
  for (int c = 0; c < 3; ++c) spec.scale[c] = 1.0f / 255;
  const std::vector<uint16_t> halves = Write<uint16_t>(PortOf(spec, DType::kF16), kTwoPixels);
  for (size_t i = 0; i < halves.size(); ++i)
    EXPECT_EQ(halves[i], FloatToHalf(static_cast<float>(kTwo[i]) * (1.0f / 255)));

  spec = Spec(2, 1);
  for (float& mean : spec.mean) mean = 128;
  EXPECT_THAT(Write<int8_t>(PortOf(spec, DType::kI8), kTwoPixels),
              ElementsAre(-118, -88, -108, -78, -98, -68));

  for (const ImageFilter filter : {ImageFilter::kBilinear, ImageFilter::kLinear}) {
    Quantization codes;
    codes.scale = 0.5f;
    codes.zero_point = -128;
    spec = Spec(2, 1);
    spec.filter = filter;
    spec.scale[2] = 10;
    PortInfo port = PortOf(spec, DType::kI8);
    port.quantization = &codes;
    EXPECT_THAT(Write<int8_t>(port, kTwoPixels), ElementsAre(-108, -48, -88, -28, 127, 127));
    const float scales[] = {0.5f, 1, 100};
    const int32_t zero_points[] = {-128, 0, 5};
    codes = {1, 0, 1, 0, 3, scales, zero_points};
    EXPECT_THAT(Write<int8_t>(port, kTwoPixels), ElementsAre(-108, -48, 20, 50, 8, 11));
  }
}

TEST(ImageInput, EachPictureOfABatch) {
  PortInfo port = PortOf(Spec(2, 1, 1), DType::kU8);
  port.shape[0] = -1;
  auto image = ImageInput::Create(port);
  ASSERT_TRUE(image.ok());
  std::vector<uint8_t> got(6, 9);
  const TensorView to(got.data(), DType::kU8, {3, 1, 1, 2});
  const Pixels pixels = {kTwo, 2, 1, PixelFormat::kGrey8};
  EXPECT_TRUE((*image)->Write(pixels, to, 2).ok());
  EXPECT_TRUE((*image)->Write({kTwo + 2, 2, 1, PixelFormat::kGrey8}, to, 0).ok());
  EXPECT_THAT(got, ElementsAre(30, 40, 9, 9, 10, 20));
  EXPECT_EQ((*image)->Write(pixels, to, 3).code(), StatusCode::kInvalidArgument);
}

TEST(ImageInput, PlacesTellWhereAPictureLies) {
  ImageSpec spec = Spec(20, 10);
  const auto expect = [&](ImagePlacement place, int64_t width, int64_t height, int64_t left, int64_t top) {
    EXPECT_THAT((std::array{place.width, place.height, place.left, place.top}),
                ElementsAre(width, height, left, top));
  };
  expect(PlaceImage(spec, 5, 50), 20, 10, 0, 0);
  spec.fit = ImageFit::kLetterbox;
  expect(PlaceImage(spec, 5, 50), 1, 10, 10, 0);
  expect(PlaceImage(spec, 60000, 1), 20, 1, 0, 4);
  spec.fit = ImageFit::kCrop;
  expect(PlaceImage(spec, 5, 50), 20, 200, 0, -95);
  spec.resize = 25;
  expect(PlaceImage(spec, 100, 50), 50, 25, -15, -8);
  expect(PlaceImage(spec, 65536, 1), 25 * 65536, 25, -(25 * 65536 - 20) / 2, -8);
}

/// The largest sides meet the smallest ones.
TEST(ImageInput, ExtremeSizes) {
  const std::vector<uint8_t> line(65536, 77);
  for (const ImageFilter filter :
       {ImageFilter::kLinear, ImageFilter::kBilinear, ImageFilter::kBicubic, ImageFilter::kNearest}) {
    for (const ImageFit fit : {ImageFit::kStretch, ImageFit::kCrop, ImageFit::kLetterbox}) {
      for (const bool high : {false, true}) {
        ImageSpec spec = Spec(3, 2, 1);
        spec.filter = filter;
        spec.fit = fit;
        spec.fill = 77;
        const Pixels pixels = {line.data(), high ? 1u : 65536u, high ? 65536u : 1u, PixelFormat::kGrey8};
        EXPECT_THAT(Write<uint8_t>(PortOf(spec, DType::kU8), pixels), ::testing::Each(77));
      }
    }
  }
}

/// The sentence of a call that must be refused.
std::string Refused(const PortInfo& port) {
  const ErrorCapture capture;
  EXPECT_EQ(ImageInput::Create(port).status().code(), StatusCode::kInvalidArgument);
  return capture.message();
}

TEST(ImageInput, RefusesSettingsWithTheReason) {
  PortInfo port = PortOf(Spec(0, 0));
  EXPECT_THAT(Refused(port), AllOf(HasSubstr("'image'"), HasSubstr("--image-size"), HasSubstr("--std")));
  port = PortOf(Spec(2, 1, 2));
  EXPECT_THAT(Refused(port), HasSubstr("number of channels is 2; pictures have 1 (grey), 3, or 4"));
  port = PortOf(Spec(2, 1, 1));
  port.image.bgr = true;
  EXPECT_THAT(Refused(port), HasSubstr("bgr is 1; grey has one channel"));
  port = PortOf(Spec(2, 1));
  port.shape = {1, 3, 2, 2};
  EXPECT_THAT(Refused(port), HasSubstr("its shape does not fit"));
  port.shape = {3, 1, 2};
  EXPECT_THAT(Refused(port), HasSubstr("its shape does not fit"));
  EXPECT_THAT(Refused(PortOf(Spec(2, 1), DType::kI64)), HasSubstr("is i64, which pictures do not become"));
  port = PortOf(Spec(2, 1), DType::kI8);
  EXPECT_THAT(Refused(port),
              AllOf(HasSubstr("plain integers"), HasSubstr("sample 128"), HasSubstr("mean 128")));
  port = PortOf(Spec(2, 1), DType::kU8);
  port.image.scale[1] = 0.017f;
  EXPECT_THAT(Refused(port), AllOf(HasSubstr("channel 1"), HasSubstr("neither mean nor scale")));
  const float scales[] = {1, 2};
  Quantization codes = {1, 0, 3, 0, 2, scales, nullptr};
  port = PortOf(Spec(2, 1), DType::kU8);
  port.quantization = &codes;
  EXPECT_THAT(Refused(port), HasSubstr("many scales along axis 3; a picture can have one, or one for each"));
  port = PortOf(Spec(2, 1));
  port.image.scale[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Refused(port), HasSubstr("channel 2 is not finite"));
  port = PortOf(Spec(2, 1));
  port.image.resize = 5;
  EXPECT_THAT(Refused(port), HasSubstr("resize is 5; it is for fit crop only"));
  port.image.fit = ImageFit::kCrop;
  port.image.resize = 1;
  EXPECT_THAT(Refused(port), HasSubstr("the crop would be larger"));
  port.image.fit = static_cast<ImageFit>(3);
  EXPECT_THAT(Refused(port), HasSubstr("fit is 3"));
  port = PortOf(Spec(2, 1));
  port.image.filter = static_cast<ImageFilter>(4);
  EXPECT_THAT(Refused(port), HasSubstr("filter is 4"));
  port = PortOf(Spec(65537, 1));
  EXPECT_THAT(Refused(port), HasSubstr("65536 is the largest"));
}

TEST(ImageInput, RefusesPicturesAndTensorsWithTheReason) {
  const PortInfo port = PortOf(Spec(2, 1));
  auto image = ImageInput::Create(port);
  ASSERT_TRUE(image.ok());
  float elements[6];
  const TensorView to(elements, DType::kF32, port.shape);
  const auto refused = [&](const Pixels& pixels, const TensorView& tensor) {
    const ErrorCapture capture;
    EXPECT_EQ((*image)->Write(pixels, tensor).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("input 'image'"));
    return std::string(capture.message());
  };
  EXPECT_THAT(refused({nullptr, 2, 1}, to), HasSubstr("is null"));
  EXPECT_THAT(refused({kTwo, 0, 1}, to), HasSubstr("width is 0; 1 to 65536"));
  EXPECT_THAT(refused({kTwo, 1, 65537}, to), HasSubstr("height is 65537"));
  EXPECT_THAT(refused({kTwo, 2, 1, static_cast<PixelFormat>(9)}, to), HasSubstr("pixel format is 9"));
  EXPECT_THAT(refused({kTwo, 2, 1, PixelFormat::kRgb8, 9}, to), HasSubstr("orientation is 9; EXIF has 1"));
  EXPECT_THAT(refused({kTwo, 2, 1, PixelFormat::kRgb8, 0}, to), HasSubstr("orientation is 0"));
  EXPECT_THAT(refused({kTwo, 2, 1, PixelFormat::kRgb8, 1, 5}, to), HasSubstr("row_bytes is 5"));
  EXPECT_THAT(refused(kTwoPixels, TensorView(nullptr, DType::kF32, port.shape)), HasSubstr("has no memory"));
  EXPECT_THAT(refused(kTwoPixels, TensorView(elements, DType::kF16, port.shape)),
              AllOf(HasSubstr("f16 [1, 3, 1, 2]"), HasSubstr("expected f32 [1, 3, 1, 2]")));
  EXPECT_THAT(refused(kTwoPixels, TensorView(elements, DType::kF32, {1, 1, 2, 3})),
              HasSubstr("expected f32"));
  EXPECT_THAT(refused(kTwoPixels, TensorView(elements, DType::kF32, {0, 3, 1, 2})),
              HasSubstr("no picture 0 in a batch of 0"));
  TensorView apart = to;
  apart.row_stride = 7;
  EXPECT_THAT(refused(kTwoPixels, apart), HasSubstr("lie apart"));
}

}  // namespace
}  // namespace skiff::testing
