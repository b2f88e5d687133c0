#include "files.h"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "arguments.h"
#include "skiff/quantize.h"

namespace {

using skiff::DType;

using File = std::unique_ptr<std::FILE, CloseFile>;

bool Fail(const char* path, const char* what) {
  std::fprintf(stderr, "skiff-run: error: %s: %s\n", path, what);
  return false;
}

bool EndsWith(const char* path, const char* extension) {
  const size_t length = std::strlen(path);
  const size_t end = std::strlen(extension);
  return length > end && std::strcmp(path + length - end, extension) == 0;
}

/// Exact for every finite f16.
double HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Puts elements of `size` bytes, whose first index changes fastest, row after row. False without memory.
bool FromColumns(void* elements, const skiff::Shape& shape, size_t size) {
  const int64_t count = shape.elements();
  const auto bytes = static_cast<size_t>(count) * size;
  const std::unique_ptr<unsigned char[]> columns(new (std::nothrow) unsigned char[bytes]);
  if (!columns) return false;
  if (bytes > 0) std::memcpy(columns.get(), elements, bytes);
  int64_t index[skiff::kMaxRank] = {};
  auto* to = static_cast<unsigned char*>(elements);
  for (int64_t i = 0; i < count; ++i, to += size) {
    int64_t from = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) from = from * shape[axis] + index[axis];
    std::memcpy(to, columns.get() + static_cast<size_t>(from) * size, size);
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
  return true;
}

/// What was read: the model, and as many inputs and expected outputs as there may be.
struct stat read_files[1 + 2 * Arguments::kMaxFiles];
size_t read_count = 0;

bool IsOneOfThem(const struct stat& file) {
  for (size_t i = 0; i < read_count; ++i) {
    if (read_files[i].st_dev == file.st_dev && read_files[i].st_ino == file.st_ino) return true;
  }
  return false;
}

/// False after a message where something is at the path that must stay.
bool CheckReplaceable(const char* path) {
  struct stat file = {};
  if (stat(path, &file) != 0) return true;
  if (!S_ISREG(file.st_mode)) return Fail(path, "is no regular file, and a tensor does not take its place");
  return !IsOneOfThem(file) ||
         Fail(path, "is a file that was read, and would be overwritten; choose another folder for --output");
}

/// Kinds of files that the tool alone reads.
constexpr const char* kPictures[] = {".pb", ".png", ".jpg", ".jpeg"};

}  // namespace

bool IsNpz(const char* path) { return EndsWith(path, ".npz"); }

void KeepFile(const char* path) {
  struct stat file = {};
  if (stat(path, &file) != 0 || IsOneOfThem(file)) return;
  if (read_count < sizeof(read_files) / sizeof(read_files[0])) read_files[read_count++] = file;
}

File OpenForReading(const char* path) {
  struct stat status = {};
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    Fail(path, "is a folder, and a file was expected (.npy, .npz or raw elements)");
    return nullptr;
  }
  File file(std::fopen(path, "rb"));
  if (!file) Fail(path, std::strerror(errno));
  if (file) KeepFile(path);
  return file;
}

bool TensorFile::Fail(const char* what) const { return ::Fail(label_, what); }

bool TensorFile::OpenFile(const char* path) {
  std::snprintf(label_, sizeof(label_), "%s", path);
  for (const char* extension : kPictures) {
    if (EndsWith(path, extension))
      return Fail(
          "is read by 'skiff run' alone; its --dump-input DIR writes what the model gets as a .npy file");
  }
  file_ = OpenForReading(path);
  return file_ != nullptr;
}

bool TensorFile::Open(const char* path, const char* port) {
  if (!IsNpz(path)) {
    if (!OpenFile(path)) return false;
    return !EndsWith(path, ".npy") || ReadNpyHeader(file_.get(), label_, &header_);
  }
  NpzArray found;
  int count = 0;
  bool named = false;
  const auto choose = [&](const NpzArray& array) {
    if (!named) found = array;
    named = named || std::strcmp(array.name, port) == 0;
    ++count;
    return true;
  };
  if (!ForEachArray(path, choose)) return false;
  if (named || count == 1) return Open(path, found);
  std::fprintf(stderr, "skiff-run: error: %s: has no array '%s'; it has", path, port);
  if (count == 0) std::fprintf(stderr, " none");
  const auto list = [](const NpzArray& array) { return std::fprintf(stderr, " '%s'", array.name) > 0; };
  ForEachArray(path, list);
  std::fprintf(stderr, "\n");
  return false;
}

bool TensorFile::Open(const char* path, const NpzArray& array) {
  if (!OpenFile(path)) return false;
  std::snprintf(label_, sizeof(label_), "%s, array '%s'", path, array.name);
  end_ = array.end;
  return (std::fseek(file_.get(), array.begin, SEEK_SET) == 0 || Fail(std::strerror(errno))) &&
         ReadNpyHeader(file_.get(), label_, &header_);
}

bool TensorFile::AtEnd() const {
  return end_ < 0 ? std::fgetc(file_.get()) == EOF : std::ftell(file_.get()) == end_;
}

/// Real numbers for a quantised tensor, which gets the integers that stand for them.
bool TensorFile::ReadReals(const skiff::TensorView& tensor) {
  const auto elements = static_cast<size_t>(tensor.shape.elements());
  const std::unique_ptr<float[]> reals(new (std::nothrow) float[elements]);
  if (!reals) return Fail("no memory for its elements");
  if (std::fread(reals.get(), sizeof(float), elements, file_.get()) != elements || !AtEnd())
    return Fail("the file has fewer or more elements than its header says");
  if (header_.columns && !FromColumns(reals.get(), tensor.shape, sizeof(float)))
    return Fail("no memory to turn its elements");
  std::fprintf(stderr, "note: %s: f32, quantised\n", label_);
  return skiff::QuantizeFloats(reals.get(), tensor).ok();
}

bool TensorFile::Read(const skiff::TensorView& tensor) {
  char message[512];
  if (typed()) {
    if (header_.dtype == DType::kF32 && tensor.quantization != nullptr && header_.shape == tensor.shape)
      return ReadReals(tensor);
    if (header_.dtype != tensor.dtype || !(header_.shape == tensor.shape)) {
      std::snprintf(message, sizeof(message), "expected %s %s, the file has %s %s",
                    skiff::DTypeName(tensor.dtype), skiff::ShapeText(tensor.shape).c_str(),
                    skiff::DTypeName(header_.dtype), skiff::ShapeText(header_.shape).c_str());
      return Fail(message);
    }
  }
  const auto wanted = static_cast<size_t>(tensor.bytes());
  const size_t got = std::fread(tensor.data, 1, wanted, file_.get());
  if (got == wanted && AtEnd()) {
    const auto size = static_cast<size_t>(skiff::DTypeSize(tensor.dtype));
    return !header_.columns || FromColumns(tensor.data, tensor.shape, size) ||
           Fail("no memory to turn its elements");
  }
  std::snprintf(message, sizeof(message), "expected %zu bytes (%s %s), the file has %s", wanted,
                skiff::DTypeName(tensor.dtype), skiff::ShapeText(tensor.shape).c_str(),
                got < wanted ? "fewer" : "more");
  return Fail(message);
}

bool MakeFolder(const char* path) {
  return mkdir(path, 0777) == 0 || errno == EEXIST || Fail(path, std::strerror(errno));
}

void FileNameOf(const char* tensor, char* file, size_t capacity) {
  constexpr size_t kLongest = 100;
  size_t length = 0;
  if (*tensor == '\0' || *tensor == '.') file[length++] = '_';
  for (size_t i = 0; tensor[i] != '\0' && i < kLongest && length + 1 < capacity; ++i) {
    const auto c = static_cast<unsigned char>(tensor[i]);
    file[length++] = std::isalnum(c) != 0 || std::strchr("_-.", c) != nullptr ? tensor[i] : '_';
  }
  file[length] = '\0';
}

bool WriteTensor(const char* path, const skiff::TensorView& tensor) {
  if (!CheckReplaceable(path)) return false;
  File file(std::fopen(path, "wb"));
  if (!file) return Fail(path, std::strerror(errno));
  const bool written = WriteNpyHeader(file.get(), {tensor.dtype, tensor.shape}) &&
                       std::fwrite(tensor.data, 1, static_cast<size_t>(tensor.bytes()), file.get()) ==
                           static_cast<size_t>(tensor.bytes());
  return (std::fclose(file.release()) == 0 && written) || Fail(path, std::strerror(errno));
}

double Element(const skiff::TensorView& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::kF32:
      return static_cast<double>(tensor.as<float>()[i]);
    case DType::kF64:
      return tensor.as<double>()[i];
    case DType::kF16:
      return HalfValue(tensor.as<uint16_t>()[i]);
    case DType::kI8:
      return tensor.as<int8_t>()[i];
    case DType::kU8:
    case DType::kBool:
      return tensor.as<uint8_t>()[i];
    case DType::kI16:
      return tensor.as<int16_t>()[i];
    case DType::kU16:
      return tensor.as<uint16_t>()[i];
    case DType::kI32:
      return tensor.as<int32_t>()[i];
    case DType::kU32:
      return tensor.as<uint32_t>()[i];
    case DType::kI64:
      return static_cast<double>(tensor.as<int64_t>()[i]);
    case DType::kU64:
      return static_cast<double>(tensor.as<uint64_t>()[i]);
    case DType::kI4:  // Of constants alone.
    case DType::kU4:
    case DType::kInvalid:
      break;
  }
  return 0;
}

Difference Compare(const skiff::TensorView& got, const skiff::TensorView& expected) {
  Difference result;
  const skiff::DType dtype = got.dtype;
  result.exact =
      got.quantization == nullptr && dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kF64;
  const auto size = static_cast<size_t>(skiff::DTypeSize(dtype));
  for (int64_t i = 0; i < expected.shape.elements(); ++i) {
    const double a = Element(got, i);
    const double b = Element(expected, i);
    if (std::isfinite(b)) result.largest = std::fmax(result.largest, std::fabs(b));
    const size_t at = static_cast<size_t>(i) * size;
    if (result.exact) {  // Beyond 2^53 doubles do not tell all integers apart.
      if (std::memcmp(got.as<uint8_t>() + at, expected.as<uint8_t>() + at, size) != 0)
        result.difference = std::fmax(result.difference, std::fmax(1.0, std::fabs(a - b)));
      continue;
    }
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    result.difference =
        std::fmax(result.difference, finite ? std::fabs(a - b) : std::numeric_limits<double>::infinity());
  }
  return result;
}

void FillPattern(const skiff::TensorView& tensor) {
  uint32_t state = 1;
  for (int64_t i = 0; i < tensor.shape.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    if (tensor.dtype == DType::kF32) {
      tensor.as<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    } else if (tensor.dtype == DType::kF64) {
      tensor.as<double>()[i] = static_cast<double>(state) * 0x1p-31 - 1.0;
    } else if (tensor.dtype == DType::kF16) {
      // The bits of 0.5 or more and below 1, with either sign.
      tensor.as<uint16_t>()[i] = static_cast<uint16_t>(0x3800u | (state >> 22) | (state >> 8 & 0x8000u));
    } else {
      const int64_t size = skiff::DTypeSize(tensor.dtype);
      // Little-endian, as the files are. The upper bits: the lower ones repeat soon.
      const uint64_t code = state >> (tensor.quantization != nullptr ? 32 - 8 * size : 31);
      std::memcpy(tensor.as<uint8_t>() + i * size, &code, static_cast<size_t>(size));
    }
  }
}
