// TensorData: constant tensors of the host.
#include <cstring>
#include <new>

#include "core/extents.h"
#include "core/half.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "graph/quantization.h"

namespace skiff {
namespace {

/// Calls visit(const T*) with the element type of a number-like dtype; false for others.
template <class Visitor>
bool VisitElements(const TensorData& data, Visitor&& visit) {
  switch (data.dtype()) {
    case DType::kF32:
      visit(data.as<float>());
      return true;
    case DType::kF16:
      visit(data.as<Half>());
      return true;
    case DType::kF64:
      visit(data.as<double>());
      return true;
    case DType::kI8:
      visit(data.as<int8_t>());
      return true;
    case DType::kU8:
      visit(data.as<uint8_t>());
      return true;
    case DType::kI16:
      visit(data.as<int16_t>());
      return true;
    case DType::kU16:
      visit(data.as<uint16_t>());
      return true;
    case DType::kI32:
      visit(data.as<int32_t>());
      return true;
    case DType::kU32:
      visit(data.as<uint32_t>());
      return true;
    case DType::kI64:
      visit(data.as<int64_t>());
      return true;
    case DType::kU64:
      visit(data.as<uint64_t>());
      return true;
    case DType::kBool:
      visit(data.as<uint8_t>());
      return true;
    case DType::kI4:
    case DType::kU4:
    case DType::kInvalid:
      return false;
  }
  return false;
}

int64_t Nibble(DType dtype, uint8_t byte, bool high) {
  const int code = high ? byte >> 4 : byte & 15;
  return dtype == DType::kI4 && code > 7 ? code - 16 : code;
}

// One spare element block, so that a zero-sized tensor still has an address.
constexpr size_t kSpareBytes = 16;

/// Whoever reads shapes from files has checked them; this is the last to see a product that wraps around.
Shape Checked(DType dtype, const Shape& shape) {
  if (const char* why = WhyNoTensor(dtype, shape))
    Throw(StatusCode::kInvalidModel, "a tensor of {} {} {}", DTypeName(dtype), ShapeText(shape).c_str(), why);
  return shape;
}

std::shared_ptr<std::byte[]> MemoryFor(const TensorData& tensor) {
  const size_t bytes = tensor.size_bytes();
  std::byte* const memory =
      IsAddressable(bytes) ? new (std::nothrow) std::byte[bytes + kSpareBytes] : nullptr;
  if (memory == nullptr)
    Throw(StatusCode::kOutOfMemory, "there is no memory for a tensor of {} {}: {} bytes",
          DTypeName(tensor.dtype()), ShapeText(tensor.shape()).c_str(), bytes);
  return std::shared_ptr<std::byte[]>(memory);
}

}  // namespace

TensorData::TensorData(DType dtype, const Shape& shape) : dtype_(dtype), shape_(Checked(dtype, shape)) {
  storage_ = MemoryFor(*this);
  std::memset(storage_.get(), 0, size_bytes() + kSpareBytes);
}

TensorData::TensorData(DType dtype, const Shape& shape, const void* elements)
    : dtype_(dtype), shape_(Checked(dtype, shape)) {
  storage_ = MemoryFor(*this);
  if (size_bytes() > 0) std::memcpy(storage_.get(), elements, size_bytes());
}

TensorData::TensorData(DType dtype, const Shape& shape, std::unique_ptr<std::string> elements)
    : dtype_(dtype), shape_(Checked(dtype, shape)) {
  const std::shared_ptr<std::string> owner = std::move(elements);
  storage_ = std::shared_ptr<std::byte[]>(owner, reinterpret_cast<std::byte*>(owner->data()));
}

TensorData TensorData::Borrowed(const TensorView& view) {
  TensorData result;
  result.dtype_ = view.dtype;
  result.shape_ = Checked(view.dtype, view.shape);
  result.quantization_ = CopyOf(view.quantization);
  result.storage_ = std::shared_ptr<std::byte[]>(std::shared_ptr<void>(), static_cast<std::byte*>(view.data));
  return result;
}

TensorData TensorData::OfInts(const std::vector<int64_t>& values) {
  return TensorData(DType::kI64, Shape{static_cast<int64_t>(values.size())}, values.data());
}

TensorData TensorData::OfFloats(const std::vector<float>& values) {
  return TensorData(DType::kF32, Shape{static_cast<int64_t>(values.size())}, values.data());
}

TensorData TensorData::ScalarF32(float value) { return TensorData(DType::kF32, Shape{}, &value); }

TensorData TensorData::Quantized(QuantizationPtr quantization) const {
  TensorData result = *this;
  result.quantization_ = std::move(quantization);
  return result;
}

TensorView TensorData::view() const {
  return TensorView(storage_.get(), dtype_, shape_, quantization_.get());
}

TensorData TensorData::Reshaped(const Shape& shape) const {
  if (shape.elements() != elements()) {
    Throw(StatusCode::kInternal, "a constant of shape {} cannot take the shape {}", ShapeText(shape_).c_str(),
          ShapeText(shape).c_str());
  }
  TensorData result = *this;
  result.shape_ = shape;
  return result;
}

std::vector<int64_t> TensorData::ToInts() const {
  if (IsFloat(dtype_))
    Throw(StatusCode::kInvalidModel, "integers were expected, got a tensor of {}", DTypeName(dtype_));
  std::vector<int64_t> result(static_cast<size_t>(elements()));
  if (DTypeBits(dtype_) == 4) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = Nibble(dtype_, as<uint8_t>()[i / 2], i % 2 != 0);
    return result;
  }
  VisitElements(*this, [&](const auto* data) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*data)>>) {
      for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(data[i]);
    }
  });
  return result;
}

std::vector<double> TensorData::ToDoubles(int64_t begin, int64_t end) const {
  std::vector<double> result(static_cast<size_t>(end - begin));
  const auto fill = [&](const auto& at) {
    for (int64_t i = begin; i < end; ++i) result[static_cast<size_t>(i - begin)] = at(i);
  };
  if (DTypeBits(dtype_) == 4)
    fill([&](int64_t i) { return static_cast<double>(Nibble(dtype_, as<uint8_t>()[i / 2], i % 2 != 0)); });
  VisitElements(*this, [&](const auto* data) {
    fill([&](int64_t i) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*data)>, Half>) {
        return static_cast<double>(static_cast<float>(data[i]));
      } else {
        return static_cast<double>(data[i]);
      }
    });
  });
  if (!quantization_) return result;
  const ScaleIndex scale_of(*quantization_, shape_);
  fill([&](int64_t i) {
    const int64_t at = scale_of(i);
    return (result[static_cast<size_t>(i - begin)] - quantization_->ZeroPointAt(at)) *
           static_cast<double>(quantization_->ScaleAt(at));
  });
  return result;
}

}  // namespace skiff
