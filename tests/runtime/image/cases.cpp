#include "tests/runtime/image/cases.h"

#include <fstream>
#include <map>
#include <sstream>

namespace skiff::testing {
namespace {

std::string CasePath(const std::string& file) {
  return SKIFF_SOURCE_DIR "/tests/runtime/image/cases/" + file;
}

std::ifstream OpenCase(const std::string& file) { return std::ifstream(CasePath(file), std::ios::binary); }

}  // namespace

std::vector<CasePicture> ReadCasePictures(const std::string& file) { return ReadNetpbm(CasePath(file)); }

std::vector<CasePicture> ReadNetpbm(const std::string& path) {
  std::vector<CasePicture> pictures;
  std::ifstream stream(path, std::ios::binary);
  std::string kind;
  int most = 0;
  CasePicture picture;
  while (stream >> kind >> picture.width >> picture.height >> most) {
    stream.get();
    picture.channels = kind == "P5" ? 1 : 3;
    picture.samples.resize(size_t{picture.width} * picture.height * picture.channels);
    stream.read(reinterpret_cast<char*>(picture.samples.data()),
                static_cast<std::streamsize>(picture.samples.size()));
    pictures.push_back(picture);
  }
  return pictures;
}

std::vector<PictureCase> ReadCases(const std::string& file) {
  static const std::map<std::string, ImageFit> kFits = {
      {"stretch", ImageFit::kStretch}, {"crop", ImageFit::kCrop}, {"letterbox", ImageFit::kLetterbox}};
  static const std::map<std::string, ImageFilter> kFilters = {{"bilinear", ImageFilter::kBilinear},
                                                              {"bicubic", ImageFilter::kBicubic},
                                                              {"nearest", ImageFilter::kNearest}};
  std::vector<PictureCase> cases;
  std::ifstream stream = OpenCase(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    PictureCase one;
    std::string fit;
    std::string filter;
    int fill = 0;
    words >> one.picture >> fit >> one.spec.width >> one.spec.height >> one.spec.resize >> filter >>
        one.spec.channels >> one.orientation >> fill;
    one.line = line;
    one.spec.fit = kFits.at(fit);
    one.spec.filter = kFilters.at(filter);
    one.spec.fill = static_cast<uint8_t>(fill);
    for (float& scale : one.spec.scale) scale = 1;
    cases.push_back(one);
  }
  return cases;
}

std::vector<float> ReadCaseFloats(const std::string& file) {
  std::ifstream stream = OpenCase(file);
  std::stringstream bytes;
  bytes << stream.rdbuf();
  const std::string text = bytes.str();
  std::vector<float> floats(text.size() / sizeof(float));
  text.copy(reinterpret_cast<char*>(floats.data()), floats.size() * sizeof(float));
  return floats;
}

PortInfo PortOf(const ImageSpec& spec, DType dtype) {
  PortInfo port;
  port.name = "image";
  port.dtype = dtype;
  port.image = spec;
  port.shape = spec.nhwc ? Shape{1, spec.height, spec.width, spec.channels}
                         : Shape{1, spec.channels, spec.height, spec.width};
  return port;
}

}  // namespace skiff::testing
