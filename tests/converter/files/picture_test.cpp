// Files of pictures: what is read is what Pillow reads; what is damaged, cut off, hostile or of another kind
// is an error.
#include "files/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "files/image.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "tests/runtime/image/cases.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPictures = SKIFF_SOURCE_DIR "/tests/converter/files/pictures";

std::vector<std::string> Files(bool refused) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(kPictures)) {
    const std::string name = entry.path().filename().string();
    if (name != "decoded.ppm" && name.starts_with("refused") == refused) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string BytesOf(const std::string& file) { return ReadFile(kPictures + "/" + file); }

/// The sentence of the error, which a decoder must give.
std::string ErrorOf(const std::string& bytes) {
  try {
    DecodePicture(bytes, "it");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Pictures, AreReadAsPillowReadsThem) {
  const std::vector<CasePicture> expected = ReadNetpbm(kPictures + "/decoded.ppm");
  const std::vector<std::string> files = Files(false);
  ASSERT_EQ(files.size(), 10u);
  ASSERT_EQ(expected.size(), files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const Picture picture = DecodePicture(BytesOf(files[i]), files[i]);
    ImageSpec spec;
    spec.width = expected[i].width;
    spec.height = expected[i].height;
    spec.channels = expected[i].channels;
    spec.filter = ImageFilter::kNearest;
    spec.nhwc = true;
    for (float& scale : spec.scale) scale = 1;
    const TensorData got = PreprocessPicture(picture, PortOf(spec, DType::kU8));
    const std::vector<uint8_t> samples(got.as<uint8_t>(), got.as<uint8_t>() + got.size_bytes());
    EXPECT_EQ(samples, expected[i].samples) << files[i];
    EXPECT_EQ(picture.orientation, files[i].starts_with("rgb.") ? 6 : 1) << files[i];
  }
}

TEST(Pictures, OtherKindsAreRefusedByName) {
  for (const auto& [file, kind] : {std::pair("refused.gif", "GIF"), std::pair("refused.bmp", "BMP"),
                                   std::pair("refused.webp", "WebP"), std::pair("refused.tiff", "TIFF")}) {
    EXPECT_EQ(ErrorOf(BytesOf(file)),
              fmt::format("it: is a {} picture, which is not read; save it as PNG or JPEG", kind));
  }
  EXPECT_THAT(ErrorOf(BytesOf("refused_cmyk.jpg")), AllOf(HasSubstr("CMYK"), HasSubstr("save it in RGB")));
  EXPECT_EQ(ErrorOf("no picture"), "it: cannot be decoded: it is neither a PNG nor a JPEG picture");
  EXPECT_EQ(ErrorOf(""), "it: cannot be decoded: it is neither a PNG nor a JPEG picture");
}

TEST(Pictures, CutOffFilesAreErrors) {
  for (const std::string& file : Files(false)) {
    const std::string bytes = BytesOf(file);
    // A JPEG's end mark alone says nothing; all else is missed.
    for (size_t size = 0; size + 2 < bytes.size(); ++size)
      ASSERT_THAT(ErrorOf(bytes.substr(0, size)), StartsWith("it: cannot be decoded"))
          << file << " of " << size;
  }
}

/// Damaged anywhere: an error, or a picture, which has all of its samples.
TEST(Pictures, DamagedFilesDoNoHarm) {
  constexpr int kRounds = 300;
  std::mt19937 random(1);
  int read = 0;
  int refused = 0;
  for (const std::string& file : Files(false)) {
    const std::string bytes = BytesOf(file);
    for (int round = 0; round < kRounds; ++round) {
      std::string damaged = bytes;
      for (unsigned i = 0; i <= random() % 4; ++i) {
        const size_t at = random() % damaged.size();
        switch (random() % 3) {
          case 0:
            damaged[at] = static_cast<char>(random());
            break;
          case 1:
            damaged.erase(at, random() % 16);
            break;
          default:
            damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 16));
        }
      }
      try {
        const Picture picture = DecodePicture(damaged, "it");
        ASSERT_EQ(picture.samples.size(), size_t{picture.width} * picture.height * picture.channels);
        ++read;
      } catch (const Error& error) {
        ASSERT_THAT(error.what(), StartsWith("it: "));
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, read / 10);
}

/// A header is believed before its samples are there: it must not cost memory.
TEST(Pictures, HugeSizesAreRefusedBeforeMemoryIsAsked) {
  std::string jpeg = BytesOf("grey.jpg");
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\xff';  // Height and width.
  EXPECT_THAT(ErrorOf(jpeg), AllOf(HasSubstr("it: "), HasSubstr("65500 pixels")));
  jpeg[frame + 5] = jpeg[frame + 7] = '\xf0';  // Within what libjpeg takes.
  EXPECT_THAT(ErrorOf(jpeg), HasSubstr("has 61695 x 61695 pixels; at most 134217728 are read"));
}

std::string Segment(char marker, const std::string& content) {
  const size_t size = content.size() + 2;
  const char head[] = {'\xff', marker, static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
  return std::string(head, sizeof(head)) + content;
}

/// A progressive picture without one coefficient, of three components, the first of which has sixteen times
/// the others' samples. Each scan is of the second one: "nothing in so many blocks", again and again.
std::string ProgressiveJpeg(int width, int height, int scans) {
  const auto byte = [](int value) { return std::string(1, static_cast<char>(value)); };
  std::string frame =
      byte(8) + byte(height >> 8) + byte(height & 0xff) + byte(width >> 8) + byte(width & 0xff) + byte(3);
  for (int i = 1; i <= 3; ++i) frame += byte(i) + byte(i == 1 ? 0x44 : 0x11) + byte(0);
  std::string jpeg = "\xff\xd8" + Segment('\xdb', byte(0) + std::string(64, '\1')) + Segment('\xc2', frame);
  // The one code that there is says: none in 2^14 blocks and as many more as the next 14 bits say.
  jpeg += Segment('\xc4', byte(0x10) + byte(1) + std::string(15, '\0') + byte(0xe0));
  const int blocks = ((width + 31) / 32) * ((height + 31) / 32);
  const int runs = (blocks + (1 << 14) - 1) >> 14;
  for (int i = 0; i < scans; ++i)
    jpeg += Segment('\xda', byte(1) + byte(2) + byte(0) + byte(1) + byte(63) + byte(0)) +
            std::string(static_cast<size_t>(runs * 15 + 7) / 8, '\0');
  return jpeg + "\xff\xd9";
}

/// Each costs a pass over the pixels, whatever few bytes it has.
TEST(Pictures, ManyScansOfManyPixelsAreRefused) {
  EXPECT_EQ(DecodePicture(ProgressiveJpeg(64, 32, 100), "it").width, 64u);
  EXPECT_EQ(ErrorOf(ProgressiveJpeg(64, 32, 101)),
            "it: cannot be decoded as a JPEG picture: it has more than 100 scans, the most of a picture of "
            "64 x 32 pixels");
  EXPECT_THAT(ErrorOf(ProgressiveJpeg(8192, 4096, 65)),
              HasSubstr("it has more than 64 scans, the most of a picture of 8192 x 4096 pixels"));
}

TEST(Pictures, PngsAreWritten) {
  for (const uint32_t channels : {1u, 3u, 4u}) {
    Picture picture{5, 3, channels, std::vector<uint8_t>(size_t{15} * channels), 1};
    for (size_t i = 0; i < picture.samples.size(); ++i) picture.samples[i] = static_cast<uint8_t>(i * 5);
    const std::vector<uint8_t> file = EncodePng(picture);
    const Picture read = DecodePicture({reinterpret_cast<const char*>(file.data()), file.size()}, "it");
    EXPECT_EQ(read.channels, channels);
    EXPECT_EQ(read.width, 5u);
    EXPECT_EQ(read.samples, picture.samples);
  }
}

}  // namespace
}  // namespace skiff::testing
