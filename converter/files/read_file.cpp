// Apart from tensor_files.cpp, which needs the importers: who only reads a file does not link those.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "emit/write_file.h"
#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff {

std::string ReadFile(const std::string& path, uint64_t most) {
  constexpr size_t kPieceBytes = 1 << 16;
  // A pipe is given on purpose, as <(...) of a shell; a device may have no end.
  const char* kind = KindOfNoFile(path);
  std::error_code error;
  if (kind != nullptr && !std::filesystem::is_fifo(path, error))
    Throw(StatusCode::kIo, "{}: is {}; the path of a file was expected", path, kind);
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::string bytes;
  while (file) {
    const size_t before = bytes.size();
    bytes.resize(before + kPieceBytes);
    file.read(bytes.data() + before, kPieceBytes);
    bytes.resize(before + static_cast<size_t>(file.gcount()));
    if (bytes.size() > most)
      Throw(StatusCode::kInvalidArgument, "{}: has more than {} bytes, the most that such a file may have",
            path, most);
  }
  if (file.bad()) Throw(StatusCode::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
  return bytes;
}

}  // namespace skiff
