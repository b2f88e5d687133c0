#include "files/npy.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/extents.h"
#include "files/npy_header.h"
#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct TypeRow {
  DType dtype;
  const char* descr;  ///< Without the byte order.
};
constexpr TypeRow kTypes[] = {{DType::kF32, "f4"}, {DType::kF16, "f2"}, {DType::kF64, "f8"},
                              {DType::kI8, "i1"},  {DType::kU8, "u1"},  {DType::kI16, "i2"},
                              {DType::kU16, "u2"}, {DType::kI32, "i4"}, {DType::kU32, "u4"},
                              {DType::kI64, "i8"}, {DType::kU64, "u8"}, {DType::kBool, "b1"}};

DType TypeOf(const std::string& descr, const std::string& name) {
  const char order = descr.empty() ? '\0' : descr[0];
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) {
    return descr.size() > 1 && descr.substr(1) == r.descr;
  });
  if (row == std::end(kTypes) || (order != '<' && order != '>' && order != '=' && order != '|')) {
    Throw(StatusCode::kUnsupported,
          "{}: its element type '{}' is not supported; save it as float32, float16, float64, bool or an "
          "integer type",
          name, descr);
  }
  if (order == '>') {
    Throw(StatusCode::kUnsupported, "{}: its elements are big-endian ('{}'); save array.astype('<{}')", name,
          descr, row->descr);
  }
  return row->dtype;
}

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Bytes of all elements; throws where no tensor has so many.
uint64_t SizeOf(const Shape& shape, DType dtype, const std::string& name) {
  if (const char* why = WhyNoTensor(dtype, shape))
    Throw(StatusCode::kInvalidModel, "{}: not a usable .npy file: its shape {} {}", name,
          ShapeText(shape).c_str(), why);
  return static_cast<uint64_t>(ElementBytes(dtype, shape.elements()));
}

/// Of elements in Fortran order, in which the first index changes fastest.
TensorData FromColumns(DType dtype, const Shape& shape, const char* elements) {
  TensorData result(dtype, shape);
  const auto size = static_cast<size_t>(DTypeSize(dtype));
  std::vector<size_t> strides;  // In `elements`, by axis.
  size_t stride = size;
  for (const int64_t extent : shape) {
    strides.push_back(stride);
    stride *= static_cast<size_t>(extent);
  }
  std::vector<int64_t> index(strides.size());
  auto* to = static_cast<char*>(result.mutable_data());
  size_t from = 0;
  for (int64_t i = 0; i < shape.elements(); ++i, to += size) {
    std::memcpy(to, elements + from, size);
    for (size_t axis = index.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      from -= strides[axis] * static_cast<size_t>(index[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

TensorData ReadNpy(const std::string& path) { return ParseNpy(ReadFile(path), path); }

TensorData ParseNpy(std::string_view bytes, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    Throw(StatusCode::kInvalidModel, "{}: not a usable .npy file: {}", name, what);
  };
  if (bytes.substr(0, kMagic.size()) != kMagic) fail("it does not begin with the mark of the format");
  if (bytes.size() < kMagic.size() + 2) fail("it ends inside of its header");
  const int major = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (major < 1 || major > 3) fail(fmt::format("its version is {}, known are 1 to 3", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t header_begin = kMagic.size() + 2 + length_bytes;
  if (bytes.size() < header_begin) fail("it ends inside of its header");
  const uint64_t header_size = LittleEndian(bytes.substr(kMagic.size() + 2, length_bytes));
  if (header_size > bytes.size() - header_begin) fail("it ends inside of its header");

  const NpyHeader header = ParseNpyHeader(bytes.substr(header_begin, header_size), name);
  const DType dtype = TypeOf(header.descr, name);
  const uint64_t wanted = SizeOf(header.shape, dtype, name);
  const std::string_view elements = bytes.substr(header_begin + header_size);
  if (elements.size() != wanted) {
    fail(fmt::format("{} {} needs {} bytes of elements, but {} follow the header", DTypeName(dtype),
                     ShapeText(header.shape).c_str(), wanted, elements.size()));
  }
  if (header.fortran_order && header.shape.rank() > 1 && wanted > 0)
    return FromColumns(dtype, header.shape, elements.data());
  return TensorData(dtype, header.shape, elements.data());
}

std::vector<uint8_t> FormatNpy(const TensorView& tensor) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& r) { return r.dtype == tensor.dtype; });
  if (row == std::end(kTypes))
    Throw(StatusCode::kInternal, "a tensor without an element type cannot be saved");
  std::string extents = fmt::format("{}", fmt::join(tensor.shape.begin(), tensor.shape.end(), ", "));
  if (tensor.shape.rank() == 1) extents += ',';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   DTypeSize(tensor.dtype) == 1 ? '|' : '<', row->descr, extents);
  // The elements begin at a multiple of 64 bytes, as NumPy writes them; a line end closes the header.
  const size_t before = kMagic.size() + 4;
  header.append((64 - (before + header.size() + 1) % 64) % 64, ' ');
  header += '\n';

  std::vector<uint8_t> file(kMagic.begin(), kMagic.end());
  file.insert(file.end(),
              {1, 0, static_cast<uint8_t>(header.size() & 0xff), static_cast<uint8_t>(header.size() >> 8)});
  file.insert(file.end(), header.begin(), header.end());
  const TensorData dense = DenseCopy(tensor);
  const auto* data = dense.as<uint8_t>();
  if (dense.size_bytes() > 0) file.insert(file.end(), data, data + dense.size_bytes());
  return file;
}

}  // namespace skiff
