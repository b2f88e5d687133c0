#include "npy.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

using skiff::DType;

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
/// NumPy's own are 118 bytes for arrays without fields.
constexpr size_t kLongestHeader = 4096;

struct Descr {
  const char* text;
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"<f4", DType::kF32}, {"<f2", DType::kF16}, {"<f8", DType::kF64}, {"|i1", DType::kI8},
    {"|u1", DType::kU8},  {"<i2", DType::kI16}, {"<u2", DType::kU16}, {"<i4", DType::kI32},
    {"<u4", DType::kU32}, {"<i8", DType::kI64}, {"<u8", DType::kU64}, {"|b1", DType::kBool},
};

bool Fail(const char* path, const char* what) {
  std::fprintf(stderr, "skiff-run: error: %s: not a usable .npy file: %s\n", path, what);
  return false;
}

/// What stands behind the key, which is a Python string; null when there is none.
const char* ValueOf(const char* text, const char* key) {
  const char* found = std::strstr(text, key);
  if (found == nullptr) return nullptr;
  found += std::strlen(key);
  while (*found == '\'' || *found == '"' || *found == ' ' || *found == ':') ++found;
  return found;
}

bool ParseShape(const char* at, skiff::Shape* shape) {
  if (at == nullptr || *at++ != '(') return false;
  while (true) {
    while (*at == ' ' || *at == ',') ++at;
    if (*at == ')') return true;
    char* end = nullptr;
    errno = 0;
    const long long extent = std::strtoll(at, &end, 10);
    if (*at < '0' || *at > '9' || errno != 0 || shape->rank() == skiff::kMaxRank) return false;
    shape->Append(extent);
    at = end;
  }
}

}  // namespace

bool ReadNpyHeader(std::FILE* file, const char* path, NpyHeader* header) {
  unsigned char start[kMagicBytes + 6] =
      {};  // The magic, the version, and 2 or 4 bytes of the header's length.
  if (std::fread(start, 1, kMagicBytes + 4, file) != kMagicBytes + 4 ||
      std::memcmp(start, kMagic, kMagicBytes) != 0)
    return Fail(path, "it does not begin as one");
  const int version = start[kMagicBytes];
  if (version < 1 || version > 3) return Fail(path, "its version is unknown");
  if (version > 1 && std::fread(start + kMagicBytes + 4, 1, 2, file) != 2) return Fail(path, "it ends early");
  size_t length = 0;
  for (size_t i = version > 1 ? 4 : 2; i > 0; --i) length = length << 8 | start[kMagicBytes + 1 + i];
  char text[kLongestHeader + 1];
  if (length > kLongestHeader) return Fail(path, "its header is too long");
  if (std::fread(text, 1, length, file) != length) return Fail(path, "it ends early");
  text[length] = '\0';

  const char* descr = ValueOf(text, "descr");
  for (const Descr& known : kDescrs) {
    if (descr != nullptr && std::strncmp(descr, known.text, std::strlen(known.text)) == 0)
      header->dtype = known.dtype;
  }
  if (descr != nullptr && *descr == '>')
    return Fail(path, "its elements are big-endian; save it with astype(a.dtype.newbyteorder('<'))");
  if (header->dtype == DType::kInvalid) return Fail(path, "its elements have no type that a tensor has");
  const char* order = ValueOf(text, "fortran_order");
  if (order == nullptr || !ParseShape(ValueOf(text, "shape"), &header->shape))
    return Fail(path, "its header is not readable");
  header->columns = std::strncmp(order, "False", 5) != 0 && header->shape.rank() > 1;
  return true;
}

bool WriteNpyHeader(std::FILE* file, const NpyHeader& header) {
  const char* descr = "";
  for (const Descr& known : kDescrs) descr = known.dtype == header.dtype ? known.text : descr;
  char text[kLongestHeader];
  int length = std::snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  const auto append = [&](const char* format, long long value) {
    length += std::snprintf(text + length, sizeof(text) - static_cast<size_t>(length), format, value);
  };
  for (const int64_t extent : header.shape) append("%lld, ", extent);
  append("), }", 0);
  // The elements begin at a multiple of 64 bytes, behind a line feed.
  const size_t before = kMagicBytes + 4;
  while ((before + static_cast<size_t>(length) + 1) % 64 != 0) text[length++] = ' ';
  text[length++] = '\n';
  const unsigned char start[] = {1, 0, static_cast<unsigned char>(length & 0xff),
                                 static_cast<unsigned char>(length >> 8)};
  return std::fwrite(kMagic, 1, kMagicBytes, file) == kMagicBytes &&
         std::fwrite(start, 1, sizeof(start), file) == sizeof(start) &&
         std::fwrite(text, 1, static_cast<size_t>(length), file) == static_cast<size_t>(length);
}
