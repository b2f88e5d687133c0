#include "import/onnx/tensor.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <type_traits>
#include <utility>

#include "graph/error.h"
#include "import/onnx/types.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

Shape ReadShape(const onnx::TensorProto& tensor, DType dtype, const std::string& label) {
  if (tensor.dims_size() > kMaxRank) {
    Throw(StatusCode::kUnsupported, "tensor '{}' has rank {}; at most {} dimensions are supported", label,
          tensor.dims_size(), kMaxRank);
  }
  Shape shape;
  int64_t bytes = std::max<int64_t>(DTypeSize(dtype), 1);
  for (int64_t extent : tensor.dims()) {
    if (extent < 0) Throw(StatusCode::kInvalidModel, "tensor '{}' has the negative extent {}", label, extent);
    // An extent of 0 must not hide an overflow of the others, which later arithmetic would meet.
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes)) {
      Throw(StatusCode::kInvalidModel, "the extents of tensor '{}' are too large: their product overflows",
            label);
    }
    shape.Append(extent);
  }
  return shape;
}

[[noreturn]] void WrongSize(const std::string& label, const Shape& shape, DType dtype, int64_t expected,
                            int64_t got, const char* unit) {
  Throw(StatusCode::kInvalidModel,
        "tensor '{}' of {} {} needs {} {}, but {} are stored; the file is damaged or truncated", label,
        DTypeName(dtype), ShapeText(shape).c_str(), expected, unit, got);
}

/// Whether it is a number of the type, or the bits of one: files have small integers as either.
template <class Stored, class Element>
bool Holds(Element element) {
  if constexpr (sizeof(Stored) >= sizeof(Element)) {
    return true;
  } else {
    return std::in_range<std::make_signed_t<Stored>>(element) ||
           std::in_range<std::make_unsigned_t<Stored>>(element);
  }
}

template <class Stored, class Field>
void Convert(const Field& field, TensorData& data, const std::string& label) {
  if (field.size() != data.elements()) {
    WrongSize(label, data.shape(), data.dtype(), data.elements(), field.size(), "elements");
  }
  auto* out = static_cast<Stored*>(data.mutable_data());
  for (auto element : field) {
    if (!Holds<Stored>(element))
      Throw(StatusCode::kInvalidModel,
            "tensor '{}' of {} {} stores the element {}, which has more than {} bits", label,
            DTypeName(data.dtype()), ShapeText(data.shape()).c_str(), element, 8 * sizeof(Stored));
    *out++ = static_cast<Stored>(element);
  }
}

/// Any number but 0 is true, also one whose lowest byte is 0.
void ReadFlags(const onnx::TensorProto& tensor, TensorData& data, const std::string& label) {
  if (tensor.int32_data_size() != data.elements())
    WrongSize(label, data.shape(), data.dtype(), data.elements(), tensor.int32_data_size(), "elements");
  std::transform(tensor.int32_data().begin(), tensor.int32_data().end(),
                 static_cast<uint8_t*>(data.mutable_data()),
                 [](int32_t flag) { return static_cast<uint8_t>(flag != 0); });
}

/// Two elements to the byte, a byte to the number.
void ReadPacked(const onnx::TensorProto& tensor, TensorData& data, const std::string& label) {
  const auto bytes = static_cast<int64_t>(data.size_bytes());
  if (tensor.int32_data_size() != bytes)
    WrongSize(label, data.shape(), data.dtype(), bytes, tensor.int32_data_size(), "bytes");
  std::copy(tensor.int32_data().begin(), tensor.int32_data().end(),
            static_cast<uint8_t*>(data.mutable_data()));
}

/// Elements in the typed field that ONNX prescribes for the element type; f16 travels as bits in int32_data.
void ReadTypedField(const onnx::TensorProto& tensor, TensorData& data, const std::string& label) {
  switch (data.dtype()) {
    case DType::kF32:
      return Convert<float>(tensor.float_data(), data, label);
    case DType::kF64:
      return Convert<double>(tensor.double_data(), data, label);
    case DType::kI64:
      return Convert<int64_t>(tensor.int64_data(), data, label);
    case DType::kU64:
      return Convert<uint64_t>(tensor.uint64_data(), data, label);
    case DType::kU32:
      return Convert<uint32_t>(tensor.uint64_data(), data, label);
    case DType::kI32:
      return Convert<int32_t>(tensor.int32_data(), data, label);
    case DType::kI16:
      return Convert<int16_t>(tensor.int32_data(), data, label);
    case DType::kI8:
      return Convert<int8_t>(tensor.int32_data(), data, label);
    case DType::kF16:
    case DType::kU16:
      return Convert<uint16_t>(tensor.int32_data(), data, label);
    case DType::kU8:
      return Convert<uint8_t>(tensor.int32_data(), data, label);
    case DType::kBool:
      return ReadFlags(tensor, data, label);
    case DType::kI4:
    case DType::kU4:
      return ReadPacked(tensor, data, label);
    case DType::kInvalid:
      return;
  }
}

/// Bytes of elements that the message itself holds. Checked before memory is taken: a few bytes may claim
/// terabytes.
int64_t StoredBytes(const onnx::TensorProto& tensor, DType dtype) {
  if (tensor.has_raw_data()) return static_cast<int64_t>(tensor.raw_data().size());
  const int64_t elements =
      std::max({tensor.float_data_size(), tensor.int32_data_size(), tensor.int64_data_size(),
                tensor.double_data_size(), tensor.uint64_data_size()});
  return DTypeBits(dtype) == 4 ? elements : elements * DTypeSize(dtype);
}

}  // namespace

namespace {

/// From here on a copy costs more than what taking the elements over does.
constexpr size_t kTakenBytes = 4096;

/// The elements that the message itself has. `raw`: where those of raw_data may be taken from; null: they are
/// copied. They have this dtype.
TensorData ReadStored(const onnx::TensorProto& tensor, const FileForm& form, std::string* raw,
                      const std::string& label) {
  const auto& [dtype, shape] = form;
  const int64_t bytes = ElementBytes(dtype, shape.elements());
  const int64_t stored = StoredBytes(tensor, dtype);
  if (stored != bytes) WrongSize(label, shape, dtype, bytes, stored, "bytes");
  if (raw != nullptr && raw->size() >= kTakenBytes)
    return TensorData(dtype, shape, std::make_unique<std::string>(std::move(*raw)));
  TensorData data(dtype, shape);
  if (tensor.has_raw_data()) {
    std::memcpy(data.mutable_data(), tensor.raw_data().data(), data.size_bytes());
  } else {
    ReadTypedField(tensor, data, label);
  }
  return data;
}

/// Codes of `type.bits` bits, the first in the lowest bits of the first byte, as the numbers that they are.
template <class To>
TensorData Widened(const OnnxType& type, const uint8_t* bytes, const Shape& shape) {
  TensorData data(type.dtype, shape);
  auto* to = static_cast<To*>(data.mutable_data());
  const uint32_t mask = (1u << type.bits) - 1;
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t bit = i * type.bits;
    uint32_t code = bytes[bit / 8];
    if (type.bits == 16) code |= static_cast<uint32_t>(bytes[bit / 8 + 1]) << 8;
    to[i] = static_cast<To>(type.widen((code >> (bit % 8)) & mask));
  }
  return data;
}

FileForm FormInFile(const OnnxType& type, const Shape& shape) {
  if (type.widen == nullptr) return {type.constant, shape};
  const DType unit = type.bits == 16 ? DType::kU16 : DType::kU8;
  const int64_t per_unit = DTypeBits(unit) / type.bits;
  return {unit, Shape{shape.elements() / per_unit + (shape.elements() % per_unit == 0 ? 0 : 1)}};
}

/// What stands for the elements of the file.
TensorData Finished(const OnnxType& type, TensorData stored, const Shape& shape) {
  if (type.widen != nullptr) {
    const auto* bytes = static_cast<const uint8_t*>(stored.data());
    if (type.dtype == DType::kF32) return Widened<float>(type, bytes, shape);
    if (type.dtype == DType::kI8) return Widened<int8_t>(type, bytes, shape);
    return Widened<uint8_t>(type, bytes, shape);
  }
  if (DTypeBits(type.constant) == 4 && shape.elements() % 2 != 0)  // The last byte is half empty.
    static_cast<uint8_t*>(stored.mutable_data())[stored.size_bytes() - 1] &= 0x0F;
  if (type.constant == DType::kBool) {
    auto* flags = static_cast<uint8_t*>(stored.mutable_data());
    std::transform(flags, flags + stored.elements(), flags,
                   [](uint8_t flag) { return static_cast<uint8_t>(flag != 0); });
  }
  return stored;
}

TensorData Read(const onnx::TensorProto& tensor, std::string* raw, ExternalData& external,
                const std::string& label) {
  const OnnxType* type = FindOnnxType(tensor.data_type());
  if (type == nullptr || type->dtype == DType::kInvalid) {
    Throw(StatusCode::kUnsupported,
          "tensor '{}' has the element type {}, which Skiff does not have; export with another one, for "
          "example float32",
          label, OnnxTypeName(tensor.data_type()));
  }
  if (tensor.has_segment()) {
    Throw(StatusCode::kUnsupported, "tensor '{}' is stored in segments, which is not supported", label);
  }
  const Shape shape = ReadShape(tensor, type->dtype, label);
  const FileForm form = FormInFile(*type, shape);
  const auto finish = [&](TensorData stored) { return Finished(*type, std::move(stored), shape); };
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return external.Read(tensor, shape, form, label, finish);
  return finish(ReadStored(tensor, form, type->widen == nullptr ? raw : nullptr, label));
}

}  // namespace

size_t ImportedBytes(const onnx::TensorProto& tensor) {
  const size_t message = tensor.ByteSizeLong();
  const OnnxType* type = FindOnnxType(tensor.data_type());
  if (type == nullptr || type->dtype == DType::kInvalid) return message;
  auto elements = static_cast<size_t>(StoredBytes(tensor, FormInFile(*type, Shape()).dtype));
  if (type->widen != nullptr)
    elements = elements * static_cast<size_t>(DTypeBits(type->dtype)) / static_cast<size_t>(type->bits);
  return std::max(message, elements);
}

TensorData ReadTensor(const onnx::TensorProto& tensor, ExternalData& external, const std::string& label) {
  return Read(tensor, nullptr, external, label);
}

TensorData ReadTensor(const onnx::TensorProto& tensor, const std::string& label) {
  ExternalData none("");
  return ReadTensor(tensor, none, label);
}

TensorData TakeTensor(onnx::TensorProto& tensor, ExternalData& external, const std::string& label) {
  const bool raw = tensor.has_raw_data() && tensor.data_location() != onnx::TensorProto::EXTERNAL;
  TensorData data = Read(tensor, raw ? tensor.mutable_raw_data() : nullptr, external, label);
  // Clearing a field keeps its memory; what a message loses is its own no more.
  onnx::TensorProto emptied;
  emptied.set_name(tensor.name());
  tensor.Swap(&emptied);
  return data;
}

void ReadProtobufFile(const std::string& path, const char* what, google::protobuf::MessageLite& message) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    Throw(StatusCode::kIo, "'{}' is a folder; the path of a file was expected", path);
  }
  std::ifstream file(path, std::ios::binary);
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (!file || error) {
    Throw(StatusCode::kIo, "'{}' cannot be read: {}", path,
          error ? error.message() : std::string(std::strerror(errno)));
  }
  if (size > INT_MAX) {
    Throw(StatusCode::kInvalidModel,
          "'{}' has {} bytes; protobuf reads at most 2 GiB. Save the model with external data "
          "(onnx.save_model with "
          "save_as_external_data=True)",
          path, size);
  }
  const bool read = message.ParseFromIstream(&file);
  if (file.bad()) Throw(StatusCode::kIo, "'{}' cannot be read: {}", path, std::strerror(errno));
  if (!read) {
    Throw(StatusCode::kInvalidModel,
          "{}: {}, or it is truncated or damaged: its {} bytes are not a protobuf message", path, what, size);
  }
}

}  // namespace skiff
