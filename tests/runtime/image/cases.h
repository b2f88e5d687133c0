/// The pictures of cases/, and what Pillow and torchvision made of them (write_cases.py).
#pragma once

#include <string>
#include <vector>

#include "skiff/image.h"

namespace skiff::testing {

struct CasePicture {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;
  std::vector<uint8_t> samples;
  Pixels pixels(int orientation = 1) const {
    return {samples.data(), width, height, channels == 1 ? PixelFormat::kGrey8 : PixelFormat::kRgb8,
            orientation};
  }
};

struct PictureCase {
  std::string line;
  size_t picture = 0;
  int orientation = 1;
  ImageSpec spec;  ///< Mean 0, scale 1, channels first.
};

/// Those of a whole path, one behind the other; and those of a file of cases/.
std::vector<CasePicture> ReadNetpbm(const std::string& path);
std::vector<CasePicture> ReadCasePictures(const std::string& file);
std::vector<PictureCase> ReadCases(const std::string& file);
std::vector<float> ReadCaseFloats(const std::string& file);

/// An input [1, height, width, channels], or channels first, of such a type.
PortInfo PortOf(const ImageSpec& spec, DType dtype = DType::kF32);

}  // namespace skiff::testing
