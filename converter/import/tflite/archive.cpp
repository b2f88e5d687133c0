#include "import/tflite/archive.h"

#include <unzip.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/error.h"

namespace skiff {
namespace {

/// Bytes that minizip reads as a file.
struct Stream {
  Span<const uint8_t> bytes;
  ZPOS64_T at = 0;
};

void* Open(void* stream, const void*, int) { return stream; }
uLong Read(void*, void* opened, void* to, uLong size) {
  auto& stream = *static_cast<Stream*>(opened);
  const auto count = std::min<uLong>(size, stream.bytes.size() - stream.at);
  if (count > 0) std::memcpy(to, stream.bytes.data() + stream.at, count);
  stream.at += count;
  return count;
}
uLong Write(void*, void*, const void*, uLong) { return 0; }
ZPOS64_T Tell(void*, void* opened) { return static_cast<Stream*>(opened)->at; }
/// Offsets are what a file says: those that lie outside, and sums that wrap around, are refused.
long Seek(void*, void* opened, ZPOS64_T offset, int origin) {
  auto& stream = *static_cast<Stream*>(opened);
  ZPOS64_T to = offset;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) to += stream.at;
  if (origin == ZLIB_FILEFUNC_SEEK_END) to += stream.bytes.size();
  if (to < offset || to > stream.bytes.size()) return -1;
  stream.at = to;
  return 0;
}
int Close(void*, void*) { return 0; }
int LastError(void*, void*) { return 0; }

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};
using Handle = std::unique_ptr<void, CloseArchive>;

/// Null where there is none. `stream` must outlive it.
Handle OpenArchive(Stream& stream) {
  zlib_filefunc64_def functions{Open, Read, Write, Tell, Seek, Close, LastError, &stream};
  return Handle(unzOpen2_64("", &functions));
}

/// Deflate makes no more of a byte.
constexpr uint64_t kMostOfOneByte = 1032;

/// What minizip reads in one piece.
constexpr uint64_t kMostOfOneFile = INT32_MAX;

}  // namespace

struct Archive::Opened {
  explicit Opened(Span<const uint8_t> bytes) : stream{bytes}, handle(OpenArchive(stream)) {
    if (handle) Walk();
  }

  /// Finds the names up to where the list is damaged.
  void Walk() {
    int at = unzGoToFirstFile(handle.get());
    for (; at == UNZ_OK; at = unzGoToNextFile(handle.get())) {
      char name[1024] = "";
      unz_file_info64 info{};
      unz64_file_pos place{};
      if (unzGetCurrentFileInfo64(handle.get(), &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
              UNZ_OK ||
          unzGetFilePos64(handle.get(), &place) != UNZ_OK)
        return;
      names.emplace_back(name);
      places.emplace(name, place);
    }
    whole = at == UNZ_END_OF_LIST_OF_FILE;
  }

  Stream stream;
  Handle handle;  ///< Null where the bytes end with no archive.
  std::vector<std::string> names;
  std::map<std::string, unz64_file_pos> places;  ///< Of the first file of each name.
  bool whole = false;
};

Archive::Archive(Span<const uint8_t> bytes) : opened_(std::make_shared<Opened>(bytes)) {}

const std::vector<std::string>& Archive::Names() const {
  if (!opened_->handle) Throw(StatusCode::kInvalidModel, "the file does not end with an archive");
  if (!opened_->whole) Throw(StatusCode::kInvalidModel, "the archive's list of files is damaged");
  return opened_->names;
}

std::string Archive::Read(const std::string& name, uint64_t& left, const char* remedy) const {
  void* const handle = opened_->handle.get();
  if (handle == nullptr)
    Throw(StatusCode::kInvalidModel, "'{}': the file does not end with an archive", name);
  const auto place = opened_->places.find(name);
  if (place == opened_->places.end()) {
    Throw(StatusCode::kInvalidModel, "'{}': {}", name,
          opened_->whole ? "the archive has no such file" : "the archive's list of files is damaged");
  }
  unz_file_info64 info{};
  const bool known = unzGoToFilePos64(handle, &place->second) == UNZ_OK &&
                     unzGetCurrentFileInfo64(handle, &info, nullptr, 0, nullptr, 0, nullptr, 0) == UNZ_OK;
  const uint64_t most = std::min(left, kMostOfOneFile);
  if (known && info.uncompressed_size > most)
    Throw(StatusCode::kInvalidModel, "'{}': has {} bytes; at most {} are unpacked of this archive{}", name,
          info.uncompressed_size, most, remedy);
  // Before memory is taken: a few bytes may claim terabytes.
  if (!known || info.uncompressed_size / kMostOfOneByte > opened_->stream.bytes.size())
    Throw(StatusCode::kInvalidModel, "'{}': is damaged in the archive", name);
  left -= info.uncompressed_size;
  // One byte more, so that a file of another size than it claims is noticed.
  std::string content(info.uncompressed_size + 1, '\0');
  bool whole = unzOpenCurrentFile(handle) == UNZ_OK &&
               unzReadCurrentFile(handle, content.data(), static_cast<unsigned>(content.size())) ==
                   static_cast<int64_t>(info.uncompressed_size);
  // It is here that the checksum is compared.
  whole = unzCloseCurrentFile(handle) == UNZ_OK && whole;
  if (!whole) Throw(StatusCode::kInvalidModel, "'{}': is damaged in the archive", name);
  content.pop_back();
  return content;
}

}  // namespace skiff
