#include "files/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/error.h"

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

TEST(Image, OpenExtentsBecomeThePictures) {
  PortInfo port;
  port.name = "image";
  port.dtype = DType::kF32;
  port.shape = {-1, -1, 2, 3};
  port.image.width = 2;
  port.image.height = 1;
  port.image.channels = 3;
  port.image.nhwc = port.image.bgr = true;
  for (int c = 0; c < 3; ++c) port.image.scale[c] = 0.5f;
  const Picture picture{2, 1, 3, {10, 20, 30, 40, 50, 60}, 1};
  const TensorData got = PreprocessPicture(picture, port);
  EXPECT_EQ(got.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(got.ToDoubles(), (std::vector<double>{15, 10, 5, 30, 25, 20}));
  EXPECT_EQ(PictureOf(got, port, 0).samples, picture.samples);
}

/// Whoever asks: two channels have no blue to put first.
TEST(Image, FewChannelsKeepTheirOrder) {
  PortInfo port;
  port.image.width = 2;
  port.image.height = 1;
  port.image.channels = 1;
  port.image.nhwc = port.image.bgr = true;
  port.image.scale[0] = 1;
  const uint8_t samples[] = {10, 20};
  const TensorData input(DType::kU8, Shape{1, 1, 2, 1}, samples);
  EXPECT_EQ(PictureOf(input, port, 0).samples, (std::vector<uint8_t>{10, 20}));
}

TEST(Image, EachPictureOfABatchIsShown) {
  PortInfo port;
  port.dtype = DType::kF32;
  port.shape = {2, 1, 1, 2};
  port.image.width = 2;
  port.image.height = port.image.channels = 1;
  port.image.scale[0] = 1;
  const float samples[] = {1, 2, 3, 4};
  const TensorData batch(DType::kF32, port.shape, samples);
  EXPECT_EQ(PictureOf(batch, port, 0).samples, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(PictureOf(batch, port, 1).samples, (std::vector<uint8_t>{3, 4}));
}

TEST(Image, OnePictureIsNoBatch) {
  PortInfo port;
  port.name = "image";
  port.dtype = DType::kF32;
  port.shape = {4, 3, 32, 32};
  port.image = CharactersSpec();
  try {
    ReadImage(kCharacters + "/images/7_cantarell-bold_32x32.png", port);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("takes 4 pictures at a time; pass a .npy"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace skiff::cli
