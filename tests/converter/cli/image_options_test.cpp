// What --mean, --std and --scale are taken for, and which mistakes are named.
#include "cli/image_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;

ImageArguments Arguments(const std::string& mean, const std::string& deviation,
                         const std::string& scale = "") {
  ImageArguments arguments;
  arguments.size = "224x224";
  arguments.mean = mean;
  arguments.deviation = deviation;
  arguments.scale = scale;
  return arguments;
}

std::string Refused(const ImageArguments& arguments) {
  try {
    ToImageSettings(arguments);
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ImageOptions, NumbersAsTorchvisionStatesThem) {
  const ImageArguments arguments = Arguments("0.485,0.456,0.406", "0.229,0.224,0.225");
  const auto image = ToImageSettings(arguments);
  EXPECT_THAT(image->mean, ElementsAre(FloatEq(123.675f), FloatEq(116.28f), FloatEq(103.53f)));
  EXPECT_THAT(image->scale, ElementsAre(FloatNear(0.0171247f, 1e-7f), FloatNear(0.0175070f, 1e-7f),
                                        FloatNear(0.0174292f, 1e-7f)));
  EXPECT_THAT(NormalisationText(arguments), HasSubstr("of 0..1, as torchvision"));
  EXPECT_EQ(image->filter, ImageFilter::kBilinear);
  EXPECT_EQ(image->fit, ImageFit::kStretch);
  // ToTensor() alone: samples over 255.
  EXPECT_THAT(ToImageSettings(Arguments("0", "1"))->scale,
              ElementsAre(FloatEq(1 / 255.0f), FloatEq(1 / 255.0f), FloatEq(1 / 255.0f)));
}

TEST(ImageOptions, NumbersOf255) {
  const ImageArguments arguments = Arguments("127.5", "127.5");
  const auto image = ToImageSettings(arguments);
  EXPECT_THAT(image->mean, ElementsAre(127.5f, 127.5f, 127.5f));
  EXPECT_THAT(image->scale[0], FloatEq(1 / 127.5f));
  EXPECT_THAT(NormalisationText(arguments), HasSubstr("of 0..255"));
  EXPECT_THAT(ToImageSettings(Arguments("", "255"))->scale[0], FloatEq(1 / 255.0f));
  EXPECT_THAT(ToImageSettings(Arguments("123.7,116.3,103.5", "", "0.0171"))->scale[2], FloatEq(0.0171f));
  EXPECT_EQ(ToImageSettings(Arguments("", ""))->scale[0], 1);
  EXPECT_EQ(NormalisationText(Arguments("1", "", "1")), "");
}

TEST(ImageOptions, MistakesAreNamed) {
  EXPECT_THAT(
      Refused(Arguments("123.7,116.3,103.5", "0.229,0.224,0.225")),
      AllOf(HasSubstr("--std 0.229"), HasSubstr("0..255 as --mean 123.7"), HasSubstr("a mean of 0..1")));
  EXPECT_THAT(Refused(Arguments("0.485,0.456,0.406", "58.4,57.1,57.4")),
              AllOf(HasSubstr("--mean 0.485"), HasSubstr("0..255 as --std 58.4")));
  EXPECT_THAT(Refused(Arguments("0.485", "0.229,57.1,0.225")),
              AllOf(HasSubstr("--std"), HasSubstr("all of 0..255")));
  EXPECT_THAT(Refused(Arguments("0.485", "0.0171")),
              AllOf(HasSubstr("look like factors"), HasSubstr("--scale 0.0171")));
  EXPECT_THAT(Refused(Arguments("0.485", "0")), HasSubstr("positive"));
  EXPECT_THAT(Refused(Arguments("0.485", "-0.2")), HasSubstr("positive"));
  EXPECT_THAT(Refused(Arguments("0.485,0.456,0.406", "")),
              AllOf(HasSubstr("of 0..1"), HasSubstr("add --std")));
  EXPECT_THAT(Refused(Arguments("0.485,0.456,0.406", "", "0.0171")), HasSubstr("--std in place of --scale"));
  EXPECT_THAT(Refused(Arguments("123.7", "", "58.4")),
              AllOf(HasSubstr("standard deviations"), HasSubstr("--std 58.4")));
  EXPECT_THAT(Refused(Arguments("123.7", "", "0.229")), HasSubstr("standard deviations"));
  EXPECT_THAT(Refused(Arguments("nan", "1")), HasSubstr("numbers"));
  EXPECT_THAT(Refused(Arguments("1,2,3,", "")), HasSubstr("1 or 3 numbers"));
}

TEST(ImageOptions, FitResizeAndFillBelongTogether) {
  ImageArguments arguments = Arguments("", "");
  arguments.resize = 256;
  EXPECT_THAT(Refused(arguments), AllOf(HasSubstr("--resize 256"), HasSubstr("--fit crop")));
  arguments.fit = "crop";
  arguments.filter = "bicubic";
  const auto image = ToImageSettings(arguments);
  EXPECT_EQ(image->fit, ImageFit::kCrop);
  EXPECT_EQ(image->filter, ImageFilter::kBicubic);
  EXPECT_EQ(image->resize, 256u);
  arguments.resize = 200;
  EXPECT_THAT(Refused(arguments), HasSubstr("at least 224"));
  arguments.resize = 0;
  arguments.fill = 114;
  EXPECT_THAT(Refused(arguments), HasSubstr("--fit letterbox"));
  arguments.fit = "letterbox";
  EXPECT_EQ(ToImageSettings(arguments)->fill, 114);
}

TEST(ImageOptions, TextSaysAllOfIt) {
  ImageSpec spec;
  EXPECT_EQ(ImageText(spec), "");
  spec.width = spec.height = 8;
  spec.channels = 1;
  spec.scale[0] = 0.5f;
  spec.fit = ImageFit::kCrop;
  spec.resize = 9;
  spec.filter = ImageFilter::kNearest;
  EXPECT_EQ(ImageText(spec), ", pictures as 8x8 gray nchw, crop of 9, nearest, mean [0], scale [0.5]");
}

}  // namespace
}  // namespace skiff::cli
