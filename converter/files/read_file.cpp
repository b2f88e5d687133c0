// Apart from tensor_files.cpp, which needs the importers: who only reads a file does not link those.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff {

std::string ReadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    Throw(StatusCode::kIo, "{}: is a folder; the path of a file was expected", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  try {
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  } catch (const std::ios_base::failure&) {  // Of the buffer itself, which no state of the stream tells.
    Throw(StatusCode::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
  }
}

}  // namespace skiff
