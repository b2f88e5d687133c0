#include "import/tflite/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/code_range.h"
#include "core/half.h"
#include "graph/error.h"
#include "import/tflite/sparse.h"

namespace skiff {
namespace {

using tflite::TensorType;

struct TypeRow {
  TensorType type;
  DType dtype;
  int bits;  ///< Of an element in the file.
};

constexpr TypeRow kTypes[] = {
    {TensorType::FLOAT32, DType::kF32, 32}, {TensorType::FLOAT16, DType::kF16, 16},
    {TensorType::FLOAT64, DType::kF64, 64}, {TensorType::INT8, DType::kI8, 8},
    {TensorType::UINT8, DType::kU8, 8},     {TensorType::INT16, DType::kI16, 16},
    {TensorType::UINT16, DType::kU16, 16},  {TensorType::INT32, DType::kI32, 32},
    {TensorType::UINT32, DType::kU32, 32},  {TensorType::INT64, DType::kI64, 64},
    {TensorType::UINT64, DType::kU64, 64},  {TensorType::BOOL, DType::kBool, 8},
    {TensorType::INT4, DType::kI4, 4},      {TensorType::UINT4, DType::kU4, 4},
    {TensorType::INT2, DType::kI8, 2},
};

const TypeRow* FindType(TensorType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

template <class... Args>
[[noreturn]] void Bad(const tflite::Tensor& tensor, fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInvalidModel, "tensor '{}': {}", TextOf(tensor.name()),
        fmt::format(format, std::forward<Args>(args)...));
}

Shape ShapeOf(const tflite::Tensor& tensor) {
  Shape shape;
  const uint32_t rank = tensor.shape() == nullptr ? 0 : tensor.shape()->size();
  if (rank > kMaxRank)
    Throw(StatusCode::kUnsupported, "tensor '{}' has rank {}; at most {} dimensions are supported",
          TextOf(tensor.name()), rank, kMaxRank);
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t extent = tensor.shape()->Get(i);
    if (extent < 0) Bad(tensor, "it is a constant with the extent {}", extent);
    // A zero hides no overflow of the others: strides are products of them.
    if (__builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements) ||
        elements > INT64_MAX / 64)
      Bad(tensor, "the product of its extents overflows");
    shape.Append(extent);
  }
  return shape;
}

/// Two bits to an element, the lowest first, signed.
std::vector<uint8_t> WidenPairsOfBits(Span<const uint8_t> packed, int64_t elements) {
  std::vector<uint8_t> codes(static_cast<size_t>(elements));
  for (size_t i = 0; i < codes.size(); ++i) {
    const int two = packed.data()[i / 4] >> (i % 4 * 2) & 3;
    codes[i] = static_cast<uint8_t>(two < 2 ? two : two - 4);
  }
  return codes;
}

/// A scale of 0 says that all of the numbers are 0, whatever the integers are.
float UsableScale(const tflite::Tensor& tensor, float scale) {
  if (!std::isfinite(scale) || scale < 0) Bad(tensor, "one of its scales is {}", scale);
  return scale == 0 ? std::numeric_limits<float>::min() : scale;
}

int32_t UsableZeroPoint(const tflite::Tensor& tensor, int64_t zero_point) {
  const CodeRange* range = CodeRangeOf(DTypeOfConstant(tensor.type()));
  if (range == nullptr || zero_point < range->low || zero_point > range->high)
    Bad(tensor, "a zero point is {}, which {} does not hold", zero_point, TfliteTypeName(tensor.type()));
  return static_cast<int32_t>(zero_point);
}

std::vector<float> FloatsOf(const TensorData& data) {
  std::vector<float> floats;
  for (const double number : data.ToDoubles()) floats.push_back(static_cast<float>(number));
  return floats;
}

/// A constant of the same subgraph.
const tflite::Tensor& ScalesAt(const tflite::SubGraph& graph, const tflite::Tensor& tensor, int32_t index) {
  if (index < 0 || static_cast<uint32_t>(index) >= graph.tensors()->size())
    Bad(tensor, "its scales are tensor {}, which is not there", index);
  const tflite::Tensor& scales = *graph.tensors()->Get(static_cast<uint32_t>(index));
  if (scales.quantization() != nullptr && scales.quantization()->details() != nullptr)
    Bad(tensor, "its scales have scales of their own");
  if (scales.sparsity() != nullptr) Bad(tensor, "its scales are sparse");
  return scales;
}

/// Elements of four bits keep their packing, two to a byte and the first in the lower half, as Skiff has it.
TensorData Plain(const tflite::Tensor& tensor, const TypeRow& type, const Shape& shape,
                 Span<const uint8_t> bytes) {
  const int64_t wanted = (shape.elements() * type.bits + 7) / 8;
  if (static_cast<uint64_t>(wanted) != bytes.size())
    Bad(tensor, "its {} elements of {} take {} bytes, the file holds {}", shape.elements(),
        TfliteTypeName(tensor.type()), wanted, bytes.size());
  if (type.bits == 2) {
    const std::vector<uint8_t> codes = WidenPairsOfBits(bytes, shape.elements());
    return TensorData(type.dtype, shape, codes.data());
  }
  TensorData data(type.dtype, shape);
  if (!bytes.empty()) std::memcpy(data.mutable_data(), bytes.data(), bytes.size());
  if (type.dtype != DType::kBool) return data;
  auto* truths = static_cast<uint8_t*>(data.mutable_data());
  for (int64_t i = 0; i < shape.elements(); ++i) truths[i] = truths[i] != 0 ? 1 : 0;
  return data;
}

uint64_t Bytes(const Shape& shape, int bits) {
  return static_cast<uint64_t>(shape.elements()) * static_cast<uint64_t>(bits / 8);
}

/// Of a tensor whose elements are not all in the file.
void TakeZeros(const tflite::Tensor& tensor, uint64_t bytes, uint64_t& bytes_left) {
  if (bytes > bytes_left)
    Throw(StatusCode::kUnsupported,
          "tensor '{}' has {} MiB that are not in the file, and {} MiB are left of what a file of this size "
          "may ask for",
          TextOf(tensor.name()), bytes >> 20, bytes_left >> 20);
  bytes_left -= bytes;
}

}  // namespace

DType DTypeOfTflite(TensorType type) {
  return type == TensorType::INT2 ? DType::kInvalid : DTypeOfConstant(type);
}

DType DTypeOfConstant(TensorType type) {
  const TypeRow* row = FindType(type);
  return row == nullptr ? DType::kInvalid : row->dtype;
}

std::string TfliteTypeName(TensorType type) {
  const char* name = tflite::EnumNameTensorType(type);
  return name != nullptr && *name != '\0' ? name : fmt::format("type {}", static_cast<int>(type));
}

TfliteElements ElementsOf(const tflite::Tensor& tensor) {
  TfliteElements elements{tensor.buffer(), tensor.type(), {}, tensor.sparsity()};
  if (tensor.shape() != nullptr) std::get<2>(elements).assign(tensor.shape()->begin(), tensor.shape()->end());
  return elements;
}

QuantizationPtr TfliteQuantizations::Of(const tflite::SubGraph& graph, const tflite::Tensor& tensor) {
  if (tensor.quantization() == nullptr) return nullptr;
  if (const auto found = read_.find({&graph, &tensor}); found != read_.end()) return found->second;
  return read_[{&graph, &tensor}] = Read(graph, tensor);
}

QuantizationPtr TfliteQuantizations::InBlocks(const tflite::SubGraph& graph, const tflite::Tensor& tensor,
                                              const tflite::BlockwiseQuantization& blocks) {
  const uint32_t rank = SizeOf(tensor.shape());
  if (rank == 0 || blocks.block_size() < 1) Bad(tensor, "its blocks have {} elements", blocks.block_size());
  const tflite::Tensor& scale = ScalesAt(graph, tensor, blocks.scales());
  const tflite::Tensor* zero =
      blocks.zero_points() > 0 ? &ScalesAt(graph, tensor, blocks.zero_points()) : nullptr;
  const DType dtype = DTypeOfConstant(tensor.type());
  BlocksKey key{ElementsOf(scale), {}, blocks.block_size(), rank, dtype};
  if (zero != nullptr) std::get<1>(key) = ElementsOf(*zero);
  if (const auto found = blocks_.find(key); found != blocks_.end()) return found->second;
  uint64_t none_left_out = 0;
  const auto read = [&](const tflite::Tensor& part) {
    return ReadTfliteTensor(file_, part, Of(graph, part), none_left_out);
  };
  std::vector<float> scales = FloatsOf(read(scale));
  if (scales.empty()) Bad(tensor, "its blocks have no scales");
  for (float& one : scales) one = UsableScale(tensor, one);
  std::vector<int32_t> zero_points;
  if (zero != nullptr) {
    for (const int64_t one : read(*zero).ToInts()) zero_points.push_back(UsableZeroPoint(tensor, one));
  }
  if (!zero_points.empty() && zero_points.size() != scales.size())
    Bad(tensor, "it has {} scales and {} zero points", scales.size(), zero_points.size());
  return blocks_[key] = PerAxis(static_cast<int>(rank) - 1, std::move(scales), std::move(zero_points),
                                blocks.block_size());
}

QuantizationPtr TfliteQuantizations::Read(const tflite::SubGraph& graph, const tflite::Tensor& tensor) {
  const tflite::Quantization* stated = tensor.quantization();
  const DType dtype = DTypeOfConstant(tensor.type());
  if (!CanBeQuantized(dtype) || dtype == DType::kI32) return nullptr;
  if (const auto* blocks = stated->details_as_BlockwiseQuantization())
    return InBlocks(graph, tensor, *blocks);
  if (stated->details_type() != tflite::QuantizationDetails::NONE)
    Throw(StatusCode::kUnsupported, "tensor '{}' is quantised in a way of its own, which Skiff does not know",
          TextOf(tensor.name()));
  const uint32_t count = stated->scale() == nullptr ? 0 : stated->scale()->size();
  if (count == 0) return nullptr;
  const uint32_t zeros = stated->zero_point() == nullptr ? 0 : stated->zero_point()->size();
  if (zeros > 1 && zeros != count) Bad(tensor, "it has {} scales and {} zero points", count, zeros);
  const auto zero_point = [&](uint32_t i) {
    return zeros == 0 ? 0 : UsableZeroPoint(tensor, stated->zero_point()->Get(zeros == 1 ? 0 : i));
  };
  if (count == 1) return PerTensor(UsableScale(tensor, stated->scale()->Get(0)), zero_point(0));
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (uint32_t i = 0; i < count; ++i) {
    scales.push_back(UsableScale(tensor, stated->scale()->Get(i)));
    zero_points.push_back(zero_point(i));
  }
  const Shape shape = ShapeOf(tensor);
  if (stated->axis() < 0 || stated->axis() >= shape.rank() || shape[stated->axis()] != count)
    Bad(tensor, "it has {} scales along axis {} of its {} axes", count, stated->axis(), shape.rank());
  return PerAxis(stated->axis(), std::move(scales), std::move(zero_points));
}

bool IsTfliteConstant(const TfliteFile& file, const tflite::Tensor& tensor) {
  return !file.Buffer(tensor.buffer()).empty();
}

TensorData ReadTfliteTensor(const TfliteFile& file, const tflite::Tensor& tensor,
                            const QuantizationPtr& quantization, uint64_t& bytes_left) {
  const TypeRow* type = FindType(tensor.type());
  if (type == nullptr)
    Throw(StatusCode::kUnsupported, "tensor '{}' is of {}, which Skiff does not have", TextOf(tensor.name()),
          TfliteTypeName(tensor.type()));
  const Shape shape = ShapeOf(tensor);
  Span<const uint8_t> bytes = file.Buffer(tensor.buffer());
  std::vector<uint8_t> dense;
  if (tensor.sparsity() != nullptr) {
    if (type->bits < 8) Bad(tensor, "it is sparse and of {}", TfliteTypeName(tensor.type()));
    TakeZeros(tensor, Bytes(shape, type->bits), bytes_left);
    try {
      dense = Densified(*tensor.sparsity(), shape, static_cast<size_t>(type->bits / 8), bytes);
    } catch (const Error& error) {
      Bad(tensor, "{}", error.what());
    }
    bytes = {dense.data(), dense.size()};
  }
  TensorData data = Plain(tensor, *type, shape, bytes);
  if (!quantization) return data;
  if (const char* defect = QuantizationDefect(*quantization, data.dtype(), shape))
    Bad(tensor, "its quantisation is not usable: {}", defect);
  return data.Quantized(quantization);
}

TensorData FirstValueOfTflite(const tflite::Tensor& tensor, const QuantizationPtr& quantization,
                              uint64_t& bytes_left) {
  const DType dtype = DTypeOfTflite(tensor.type());
  if (dtype == DType::kInvalid || DTypeBits(dtype) < 8)
    Throw(StatusCode::kUnsupported, "variable '{}' is of {}, which Skiff does not have",
          TextOf(tensor.name()), TfliteTypeName(tensor.type()));
  const Shape shape = ShapeOf(tensor);
  TakeZeros(tensor, Bytes(shape, DTypeBits(dtype)), bytes_left);
  TensorData data(dtype, shape);
  if (!quantization) return data;
  if (!quantization->per_tensor()) Bad(tensor, "it is a variable with several scales");
  if (DTypeBits(dtype) == 8)
    std::memset(data.mutable_data(), quantization->zero_point & 0xff, data.size_bytes());
  return data.Quantized(quantization);
}

}  // namespace skiff
