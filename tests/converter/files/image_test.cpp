#include "files/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/quantization.h"

namespace skiff::cli {
namespace {

const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters";

ImageSpec CharactersSpec() {
  ImageSpec spec;
  spec.width = spec.height = 32;
  spec.channels = 3;
  for (int c = 0; c < 3; ++c) {
    spec.mean[c] = 127.5f;
    spec.scale[c] = 0.00784313725f;
  }
  return spec;
}

/// 2x1 pixels of RGB: (10, 20, 30), (40, 50, 60).
Picture TwoPixels() { return {2, 1, 3, {10, 20, 30, 40, 50, 60}}; }

std::vector<double> Preprocess(const Picture& picture, ImageSpec spec, const Shape& shape) {
  PortInfo port;
  port.dtype = DType::kF32;
  port.shape = shape;
  port.image = spec;
  return PreprocessPicture(picture, port).ToDoubles();
}

ImageSpec PlainSpec(uint32_t width, uint32_t height, uint32_t channels) {
  ImageSpec spec;
  spec.width = width;
  spec.height = height;
  spec.channels = channels;
  for (float& scale : spec.scale) scale = 1;
  return spec;
}

// What the training framework fed to its eager mode, bit by bit, with and without a resize.
TEST(Image, PreprocessingIsThatOfTheTraining) {
  PortInfo port;
  port.name = "image";
  port.dtype = DType::kF32;
  port.shape = {1, 3, 32, 32};
  port.image = CharactersSpec();
  int compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kCharacters + "/reference")) {
    const TensorData expected = ReadNpy((folder.path() / "input_image.npy").string());
    const TensorData got =
        ReadImage(fmt::format("{}/images/{}.png", kCharacters, folder.path().filename().string()), port);
    ASSERT_EQ(got.shape(), expected.shape());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size_bytes()), 0) << folder.path();
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST(Image, AQuantisedInputGetsItsIntegers) {
  const QuantizationPtr quantization = PerTensor(0.5f, -128);
  PortInfo port;
  port.dtype = DType::kI8;
  port.shape = {1, 3, 1, 2};
  port.image = PlainSpec(2, 1, 3);
  port.image.scale[2] = 10;
  port.quantization = quantization.get();
  const TensorData got = PreprocessPicture(TwoPixels(), port);
  EXPECT_EQ(got.dtype(), DType::kI8);
  EXPECT_EQ(got.ToInts(), (std::vector<int64_t>{-108, -48, -88, -28, 127, 127}));
}

TEST(Image, ChannelsAndLayoutFollowTheSpec) {
  ImageSpec spec = PlainSpec(2, 1, 3);
  EXPECT_EQ(Preprocess(TwoPixels(), spec, {1, 3, 1, 2}), (std::vector<double>{10, 40, 20, 50, 30, 60}));
  spec.nhwc = true;
  EXPECT_EQ(Preprocess(TwoPixels(), spec, {1, 1, 2, 3}), (std::vector<double>{10, 20, 30, 40, 50, 60}));
  spec.bgr = true;
  EXPECT_EQ(Preprocess(TwoPixels(), spec, {1, 1, 2, 3}), (std::vector<double>{30, 20, 10, 60, 50, 40}));
}

TEST(Image, MeanAndScaleBelongToTheInputsChannels) {
  ImageSpec spec = PlainSpec(2, 1, 3);
  spec.nhwc = spec.bgr = true;
  spec.mean[0] = 30;  // Blue, which comes first.
  spec.scale[2] = 2;  // Red.
  EXPECT_EQ(Preprocess(TwoPixels(), spec, {1, 1, 2, 3}), (std::vector<double>{0, 20, 20, 30, 50, 80}));
}

TEST(Image, ResizeSamplesHalfPixelCentresAndClamps) {
  const Picture row{2, 1, 1, {0, 100}};
  EXPECT_EQ(ResizeBilinear(row, 4, 1), (std::vector<float>{0, 25, 75, 100}));
  const Picture wide{4, 1, 1, {0, 10, 20, 31}};
  EXPECT_EQ(ResizeBilinear(wide, 2, 1), (std::vector<float>{5, 25.5f}));
  EXPECT_EQ(ResizeBilinear(wide, 4, 2), (std::vector<float>{0, 10, 20, 31, 0, 10, 20, 31}));
}

TEST(Image, BrokenPicturesAreErrors) {
  for (const std::string& bytes :
       {std::string(), std::string("no picture"),
        ReadFile(kCharacters + "/images/7_cantarell-bold_32x32.png").substr(0, 100)}) {
    try {
      DecodePicture(bytes, 3, "broken.png");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("broken.png: cannot be decoded"), 0u) << error.what();
    }
  }
}

}  // namespace
}  // namespace skiff::cli
