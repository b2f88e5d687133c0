#include "import/tflite/import_tflite.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/tflite/importer.h"

namespace skiff {

Graph ImportTfliteBytes(const void* bytes, size_t size, const FixedInputs& fixed,
                        const FixInputShapes& shapes) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  const TfliteFile file(std::vector<uint8_t>(first, first + size));
  return TfliteImporter(file).Import(fixed, shapes);
}

Graph ImportTflite(const std::string& path, const FixedInputs& fixed, const FixInputShapes& shapes) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) Throw(StatusCode::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
  try {
    const TfliteFile file(std::move(bytes));
    return TfliteImporter(file).Import(fixed, shapes);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace skiff
