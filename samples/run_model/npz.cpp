#include "npz.h"

#include <algorithm>
#include <cstring>

namespace {

// The parts of an archive, by the bytes that they begin with, and how long they are without names.
constexpr unsigned char kEnd[] = {'P', 'K', 5, 6};
constexpr unsigned char kEntry[] = {'P', 'K', 1, 2};
constexpr unsigned char kFile[] = {'P', 'K', 3, 4};
constexpr long kEndBytes = 22;
constexpr long kEntryBytes = 46;
constexpr long kFileBytes = 30;
/// Behind the end there may be a comment.
constexpr long kMostComment = 65535;

constexpr char kExtension[] = ".npy";
constexpr size_t kExtensionBytes = sizeof(kExtension) - 1;

/// Little-endian, as everywhere in archives.
uint32_t Number(const unsigned char* bytes, int count) {
  uint32_t number = 0;
  for (int i = count; i > 0; --i) number = number << 8 | bytes[i - 1];
  return number;
}

bool BeginsWith(const unsigned char* bytes, const unsigned char (&signature)[4]) {
  return std::memcmp(bytes, signature, sizeof(signature)) == 0;
}

}  // namespace

bool NpzReader::Fail(const char* what) {
  std::fprintf(stderr, "skiff-run: error: %s: not a usable .npz file: %s\n", path_, what);
  failed_ = true;
  return false;
}

bool NpzReader::Read(long offset, unsigned char* to, size_t bytes) {
  return offset >= 0 && std::fseek(file_, offset, SEEK_SET) == 0 && std::fread(to, 1, bytes, file_) == bytes;
}

bool NpzReader::Open(std::FILE* file, const char* path) {
  file_ = file;
  path_ = path;
  const bool at_end = std::fseek(file, 0, SEEK_END) == 0;
  if (at_end) size_ = std::ftell(file);
  if (!at_end || size_ < kEndBytes) return Fail("it does not end as one");
  unsigned char end[kEndBytes];
  const long first = std::max(size_ - kEndBytes - kMostComment, 0L);
  for (long at = size_ - kEndBytes; at >= first; --at) {
    if (!Read(at, end, sizeof(end))) return Fail("it cannot be read");
    if (!BeginsWith(end, kEnd)) continue;
    entries_ = Number(end + 10, 2);
    at_ = static_cast<long>(Number(end + 16, 4));
    return true;
  }
  return Fail("it does not end as one");
}

bool NpzReader::Next(NpzArray* array) {
  while (entries_ > 0) {
    --entries_;
    unsigned char entry[kEntryBytes];
    if (!Read(at_, entry, sizeof(entry)) || !BeginsWith(entry, kEntry))
      return Fail("its directory is damaged");
    const uint32_t name = Number(entry + 28, 2);
    const long begin = static_cast<long>(Number(entry + 42, 4));
    const uint32_t bytes = Number(entry + 24, 4);
    unsigned char text[sizeof(array->name) + kExtensionBytes];
    const bool fits = name > kExtensionBytes && name < sizeof(text);
    if (fits && !Read(at_ + kEntryBytes, text, name)) return Fail("its directory is damaged");
    at_ += kEntryBytes + static_cast<long>(name + Number(entry + 30, 2) + Number(entry + 32, 2));
    // Archives hold other files, too.
    if (!fits || std::memcmp(text + name - kExtensionBytes, kExtension, kExtensionBytes) != 0) continue;
    if (bytes == UINT32_MAX || begin == static_cast<long>(UINT32_MAX))
      return Fail("it has arrays of 4 GB and more; save these as .npy files");
    if (Number(entry + 10, 2) != 0)
      return Fail("its arrays are compressed; numpy.savez() writes one that this program reads");
    unsigned char header[kFileBytes];
    if (!Read(begin, header, sizeof(header)) || !BeginsWith(header, kFile))
      return Fail("an array is not there");
    array->begin = begin + kFileBytes + static_cast<long>(Number(header + 26, 2) + Number(header + 28, 2));
    if (array->begin > size_ || static_cast<long>(bytes) > size_ - array->begin)
      return Fail("an array is not whole");
    array->end = array->begin + static_cast<long>(bytes);
    const size_t length = name - kExtensionBytes;
    std::memcpy(array->name, text, length);
    array->name[length] = '\0';
    return true;
  }
  return false;
}
