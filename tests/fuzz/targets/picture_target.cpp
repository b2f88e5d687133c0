// A picture: decoded; what was decoded survives being written and read again.
#include "files/picture.h"
#include "graph/error.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = FilesIn("tests/converter/files/pictures", ".png", SIZE_MAX);
  for (std::string& file : FilesIn("tests/converter/files/pictures", ".jpg", SIZE_MAX))
    seeds.push_back(std::move(file));
  for (std::string& file : FilesIn("tests/fuzz/seeds", ".jpg", SIZE_MAX)) seeds.push_back(std::move(file));
  return seeds;
}

}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  constexpr size_t kSmall = 1 << 16;
  try {
    const Picture picture = DecodePicture({reinterpret_cast<const char*>(data), size}, "input");
    testing::Require(picture.samples.size() == size_t{picture.width} * picture.height * picture.channels,
                     "the picture has not as many samples as its size says");
    if (picture.samples.size() > kSmall || picture.samples.empty()) return 0;
    const std::vector<uint8_t> written = EncodePng(picture);
    const Picture again =
        DecodePicture({reinterpret_cast<const char*>(written.data()), written.size()}, "written");
    testing::Require(again.samples == picture.samples, "a written picture is another one");
  } catch (const Error&) {
  }
  return 0;
}
