#include "files.h"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "skiff/quantize.h"

namespace {

using skiff::DType;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
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

/// Real numbers for a quantised tensor, which gets the integers that stand for them.
bool ReadReals(std::FILE* file, const char* path, bool by_column, const skiff::TensorView& tensor) {
  const auto elements = static_cast<size_t>(tensor.shape.elements());
  const std::unique_ptr<float[]> reals(new (std::nothrow) float[elements]);
  if (!reals) return Fail(path, "no memory for its elements");
  if (std::fread(reals.get(), sizeof(float), elements, file) != elements || std::fgetc(file) != EOF)
    return Fail(path, "the file has fewer or more elements than its header says");
  if (by_column && !FromColumns(reals.get(), tensor.shape, sizeof(float)))
    return Fail(path, "no memory to turn its elements");
  std::printf("%s: f32, quantised\n", path);
  return skiff::QuantizeFloats(reals.get(), tensor).ok();
}

}  // namespace

bool IsNpy(const char* path) { return EndsWith(path, ".npy"); }

bool IsReadable(const char* path) {
  for (const char* extension : {".npz", ".pb", ".png", ".jpg", ".jpeg"}) {
    if (EndsWith(path, extension))
      return Fail(
          path,
          "is read by 'skiff run' alone; its --dump-input DIR writes what the model gets as a .npy file");
  }
  return true;
}

bool ReadType(const char* path, NpyHeader* header) {
  const File file(std::fopen(path, "rb"));
  return file ? ReadNpyHeader(file.get(), path, header) : Fail(path, std::strerror(errno));
}

bool ReadTensor(const char* path, const skiff::TensorView& tensor) {
  const File file(std::fopen(path, "rb"));
  if (!file) return Fail(path, std::strerror(errno));
  char message[512];
  NpyHeader header;
  if (IsNpy(path)) {
    if (!ReadNpyHeader(file.get(), path, &header)) return false;
    if (header.dtype == DType::kF32 && tensor.quantization != nullptr && header.shape == tensor.shape)
      return ReadReals(file.get(), path, header.columns, tensor);
    if (header.dtype != tensor.dtype || !(header.shape == tensor.shape)) {
      std::snprintf(message, sizeof(message), "expected %s %s, the file has %s %s",
                    skiff::DTypeName(tensor.dtype), skiff::ShapeText(tensor.shape).c_str(),
                    skiff::DTypeName(header.dtype), skiff::ShapeText(header.shape).c_str());
      return Fail(path, message);
    }
  }
  const auto wanted = static_cast<size_t>(tensor.bytes());
  const size_t got = std::fread(tensor.data, 1, wanted, file.get());
  if (got == wanted && std::fgetc(file.get()) == EOF) {
    const auto size = static_cast<size_t>(skiff::DTypeSize(tensor.dtype));
    return !header.columns || FromColumns(tensor.data, tensor.shape, size) ||
           Fail(path, "no memory to turn its elements");
  }
  std::snprintf(message, sizeof(message), "expected %zu bytes (%s %s), the file has %s", wanted,
                skiff::DTypeName(tensor.dtype), skiff::ShapeText(tensor.shape).c_str(),
                got < wanted ? "fewer" : "more");
  return Fail(path, message);
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
  File file(std::fopen(path, "wb"));
  if (!file) return Fail(path, std::strerror(errno));
  const bool written = WriteNpyHeader(file.get(), {tensor.dtype, tensor.shape}) &&
                       std::fwrite(tensor.data, 1, static_cast<size_t>(tensor.bytes()), file.get()) ==
                           static_cast<size_t>(tensor.bytes());
  return (std::fclose(file.release()) == 0 && written) || Fail(path, std::strerror(errno));
}

Difference Compare(const skiff::TensorView& got, const skiff::TensorView& expected) {
  Difference result;
  for (int64_t i = 0; i < expected.shape.elements(); ++i) {
    const double a = Element(got, i);
    const double b = Element(expected, i);
    if (std::isfinite(b)) result.largest = std::fmax(result.largest, std::fabs(b));
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
