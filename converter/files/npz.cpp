#include "files/npz.h"

#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "import/tflite/archive.h"

namespace skiff {
namespace {

constexpr std::string_view kExtension = ".npy";
/// What all arrays together may unpack to: so many bytes, and so many more for each byte of the file. Numbers
/// hardly become as small as that, and deflate makes a thousand bytes of one.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr uint64_t kMostOfOneByte = 32;

std::string FileOf(const std::string& array) { return array + std::string(kExtension); }

}  // namespace

bool IsNpz(const std::string& path) { return path.ends_with(".npz") || path.ends_with(".NPZ"); }

std::map<std::string, TensorData> ReadNpz(const std::string& path, const ChooseArrays& choose) {
  const std::string file = ReadFile(path);
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  return Within(path, [&] {
    const Archive archive(bytes);
    std::vector<std::string> names;
    for (const std::string& name : archive.Names()) {
      if (name.ends_with(kExtension)) names.push_back(name.substr(0, name.size() - kExtension.size()));
    }
    if (names.empty())
      Throw(StatusCode::kInvalidModel, "the archive has no arrays; numpy.savez(file, NAME=array) makes one");
    std::map<std::string, TensorData> arrays;
    uint64_t left = kMostBytes + kMostOfOneByte * file.size();
    for (const std::string& array : choose(names)) {
      const std::string content =
          archive.Read(FileOf(array), left, "; store it unpacked, as numpy.savez does");
      arrays[array] = ParseNpy(content, fmt::format("array '{}'", array));
    }
    return arrays;
  });
}

}  // namespace skiff
