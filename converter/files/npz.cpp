#include "files/npz.h"

#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "import/tflite/archive.h"

namespace skiff {
namespace {

constexpr std::string_view kExtension = ".npy";
/// What minizip reads in one piece.
constexpr uint64_t kMostBytes = INT32_MAX;

}  // namespace

bool IsNpz(const std::string& path) { return path.ends_with(".npz") || path.ends_with(".NPZ"); }

std::map<std::string, TensorData> ReadNpz(const std::string& path) {
  const std::string file = ReadFile(path);
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  return Within(path, [&] {
    std::map<std::string, TensorData> arrays;
    for (const std::string& name : ArchivedNames(bytes)) {
      if (!name.ends_with(kExtension)) continue;
      const std::string array = name.substr(0, name.size() - kExtension.size());
      arrays[array] = ParseNpy(ReadArchived(bytes, name, kMostBytes), fmt::format("array '{}'", array));
    }
    if (arrays.empty())
      Throw(StatusCode::kInvalidModel, "the archive has no arrays; numpy.savez(file, NAME=array) makes one");
    return arrays;
  });
}

}  // namespace skiff
