#include "import/tflite/archive.h"

#include <unzip.h>

#include <algorithm>
#include <cstring>
#include <memory>

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
using Archive = std::unique_ptr<void, CloseArchive>;

/// Null where there is none. `stream` must outlive it.
Archive OpenArchive(Stream& stream) {
  zlib_filefunc64_def functions{Open, Read, Write, Tell, Seek, Close, LastError, &stream};
  return Archive(unzOpen2_64("", &functions));
}

/// Deflate makes no more of a byte.
constexpr uint64_t kMostOfOneByte = 1032;

/// What minizip reads in one piece.
constexpr uint64_t kMostOfOneFile = INT32_MAX;

/// The file that the archive stands at.
std::string Unpack(const Archive& archive, const Stream& stream, const std::string& name, uint64_t most,
                   const char* remedy = "") {
  unz_file_info64 info{};
  const bool known =
      unzGetCurrentFileInfo64(archive.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) == UNZ_OK;
  if (known && info.uncompressed_size > std::min(most, kMostOfOneFile))
    Throw(StatusCode::kInvalidModel, "'{}': has {} bytes; at most {} are unpacked of this archive{}", name,
          info.uncompressed_size, std::min(most, kMostOfOneFile), remedy);
  // Before memory is taken: a few bytes may claim terabytes.
  if (!known || info.uncompressed_size / kMostOfOneByte > stream.bytes.size())
    Throw(StatusCode::kInvalidModel, "'{}': is damaged in the archive", name);
  // One byte more, so that a file of another size than it claims is noticed.
  std::string content(info.uncompressed_size + 1, '\0');
  bool whole = unzOpenCurrentFile(archive.get()) == UNZ_OK &&
               unzReadCurrentFile(archive.get(), content.data(), static_cast<unsigned>(content.size())) ==
                   static_cast<int64_t>(info.uncompressed_size);
  // It is here that the checksum is compared.
  whole = unzCloseCurrentFile(archive.get()) == UNZ_OK && whole;
  if (!whole) Throw(StatusCode::kInvalidModel, "'{}': is damaged in the archive", name);
  content.pop_back();
  return content;
}

/// Calls visit(name) at each file, until it returns false.
template <class Visit>
void Walk(const Archive& archive, const Visit& visit) {
  if (!archive) Throw(StatusCode::kInvalidModel, "the file does not end with an archive");
  int at = unzGoToFirstFile(archive.get());
  for (; at == UNZ_OK; at = unzGoToNextFile(archive.get())) {
    char name[1024] = "";
    unz_file_info64 info{};
    if (unzGetCurrentFileInfo64(archive.get(), &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      break;
    if (!visit(std::string(name))) return;
  }
  if (at != UNZ_END_OF_LIST_OF_FILE)
    Throw(StatusCode::kInvalidModel, "the archive's list of files is damaged");
}

}  // namespace

std::string ReadArchived(Span<const uint8_t> bytes, const std::string& name, uint64_t most) {
  constexpr int kCaseCounts = 1;
  Stream stream{bytes};
  const Archive archive = OpenArchive(stream);
  if (!archive) Throw(StatusCode::kInvalidModel, "'{}': the file does not end with an archive", name);
  if (unzLocateFile(archive.get(), name.c_str(), kCaseCounts) != UNZ_OK)
    Throw(StatusCode::kInvalidModel, "'{}': the archive has no such file", name);
  return Unpack(archive, stream, name, most);
}

void ForEachArchived(Span<const uint8_t> bytes, std::set<std::string> names, uint64_t most,
                     const std::function<void(const std::string& name, const std::string& content)>& visit) {
  Stream stream{bytes};
  const Archive archive = OpenArchive(stream);
  Walk(archive, [&](const std::string& name) {
    if (names.erase(name) == 0) return true;
    const std::string content =
        Unpack(archive, stream, name, most, "; store it unpacked, as numpy.savez does");
    most -= content.size();
    visit(name, content);
    return !names.empty();
  });
}

std::vector<std::string> ArchivedNames(Span<const uint8_t> bytes) {
  Stream stream{bytes};
  std::vector<std::string> names;
  Walk(OpenArchive(stream), [&](const std::string& name) {
    names.push_back(name);
    return true;
  });
  return names;
}

}  // namespace skiff
