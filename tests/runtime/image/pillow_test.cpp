// Pictures become what Pillow and torchvision make of them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/image/cases.h"

namespace skiff::testing {
namespace {

/// How many samples differ, and by how much at most; empty: none.
std::string Difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  int differ = 0;
  int most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differ += a[i] != b[i] ? 1 : 0;
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  if (differ == 0) return "";
  return std::to_string(differ) + " samples, by " + std::to_string(most) + " at most";
}

TEST(Pillow, SameBytes) {
  const std::vector<CasePicture> pictures = ReadCasePictures("pictures.ppm");
  const std::vector<CasePicture> expected = ReadCasePictures("pillow.ppm");
  const std::vector<PictureCase> cases = ReadCases("pillow.txt");
  ASSERT_EQ(pictures.size(), 10u);
  ASSERT_EQ(cases.size(), expected.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    PictureCase one = cases[i];
    one.spec.nhwc = true;
    const PortInfo port = PortOf(one.spec, DType::kU8);
    auto image = ImageInput::Create(port);
    ASSERT_TRUE(image.ok()) << one.line;
    std::vector<uint8_t> got(expected[i].samples.size());
    ASSERT_TRUE((*image)
                    ->Write(pictures[one.picture].pixels(one.orientation),
                            TensorView(got.data(), port.dtype, port.shape))
                    .ok())
        << one.line;
    EXPECT_EQ(Difference(got, expected[i].samples), "") << one.line;
  }
}

TEST(Torchvision, SameNumbers) {
  const std::vector<CasePicture> pictures = ReadCasePictures("pictures.ppm");
  const std::vector<float> expected = ReadCaseFloats("torchvision.f32");
  size_t at = 0;
  for (PictureCase& one : ReadCases("torchvision.txt")) {
    const double mean[] = {0.485, 0.456, 0.406};
    const double deviation[] = {0.229, 0.224, 0.225};
    for (int c = 0; c < 3; ++c) {
      one.spec.mean[c] = static_cast<float>(255 * mean[c]);
      one.spec.scale[c] = static_cast<float>(1 / (255 * deviation[c]));
    }
    const PortInfo port = PortOf(one.spec);
    auto image = ImageInput::Create(port);
    ASSERT_TRUE(image.ok()) << one.line;
    std::vector<float> got(static_cast<size_t>(port.shape.elements()));
    const TensorView to(got.data(), port.dtype, port.shape);
    ASSERT_TRUE((*image)->Write(pictures[one.picture].pixels(), to).ok()) << one.line;
    ASSERT_LE(at + got.size(), expected.size());
    // Bytes are the same; what differs is the order of the subtraction and the divisions in f32.
    double most = 0;
    for (size_t i = 0; i < got.size(); ++i)
      most = std::max(most, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[at + i])));
    EXPECT_LE(most, 1e-6) << one.line;
    at += got.size();
  }
  EXPECT_GT(at, 0u);
  EXPECT_EQ(at, expected.size());
}

}  // namespace
}  // namespace skiff::testing
