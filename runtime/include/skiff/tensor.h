/// Element types, shapes and views: the vocabulary that every part of Skiff shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "skiff/status.h"

namespace skiff {

/// Element types. The numbers are file format: never reuse one.
enum class DType : uint8_t {
  kInvalid = 0,
  kF32 = 1,
  kF16 = 2,
  kI8 = 3,
  kU8 = 4,
  kI16 = 5,
  kU16 = 6,
  kI32 = 7,
  kU32 = 8,
  kI64 = 9,
  kU64 = 10,
  kBool = 11,  ///< One byte, 0 or 1.
  kF64 = 12,
  kI4 = 13,  ///< Constants only. Two to a byte, the first in the low half, in the tensor's row-major order.
  kU4 = 14,
};
inline constexpr int kDTypeCount = 15;

/// Bytes of one element; 0 for those smaller than a byte, for kInvalid and for values outside the
/// enumeration.
int64_t DTypeSize(DType dtype);
/// Bits of one element; 0 for kInvalid and for values outside the enumeration.
int DTypeBits(DType dtype);
/// Bytes of so many elements one after the other.
inline int64_t ElementBytes(DType dtype, int64_t elements) {
  return DTypeBits(dtype) == 4 ? elements / 2 + elements % 2 : elements * DTypeSize(dtype);
}
/// "f32", "i64", ...; "invalid" for anything else.
const char* DTypeName(DType dtype);
/// The inverse of DTypeName; kInvalid when the name is unknown.
DType DTypeFromName(const char* name);
bool IsFloat(DType dtype);

/// No tensor has more dimensions than this.
inline constexpr int kMaxRank = 8;

/// Up to kMaxRank extents by value. An extent may be 0; a negative one is a defect of the caller.
class Shape {
 public:
  constexpr Shape() = default;
  Shape(const int64_t* extents, int rank);
  Shape(std::initializer_list<int64_t> extents) : Shape(extents.begin(), static_cast<int>(extents.size())) {}

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t& operator[](int axis) { return extents_[axis]; }
  const int64_t* begin() const { return extents_; }
  const int64_t* end() const { return extents_ + rank_; }
  void Append(int64_t extent) { extents_[rank_++] = extent; }

  /// The product of all extents; 1 for rank 0.
  int64_t elements() const { return ElementsBetween(0, rank_); }
  /// The product of the extents of axes [begin, end).
  int64_t ElementsBetween(int begin, int end) const {
    int64_t product = 1;
    for (int i = begin; i < end; ++i) product *= extents_[i];
    return product;
  }
  /// The innermost extent; 1 for rank 0.
  int64_t last() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
  bool operator==(const Shape& other) const;

 private:
  int64_t extents_[kMaxRank] = {};
  int rank_ = 0;
};

/// Renders "[1, 3, 224, 224]" into a caller's buffer and returns the buffer.
struct ShapeText {
  explicit ShapeText(const Shape& shape);
  const char* c_str() const { return text_; }

 private:
  char text_[kMaxRank * 22 + 4];
};

struct Quantization;

/// Borrowed elements with their type. Row-major; the innermost rows (runs of shape.last() elements) lie
/// `row_stride` elements apart, which is shape.last() for a dense tensor and more for a channel view into a
/// wider tensor.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t row_stride = 0;
  const Quantization* quantization = nullptr;  ///< Borrowed; null: its integers are plain numbers.

  TensorView() = default;
  TensorView(void* elements, DType type, const Shape& extents, const Quantization* quants = nullptr)
      : data(elements), dtype(type), shape(extents), row_stride(extents.last()), quantization(quants) {}

  bool dense() const { return row_stride == shape.last() || shape.elements() <= shape.last(); }
  /// Bytes of the elements, without gaps.
  int64_t bytes() const { return ElementBytes(dtype, shape.elements()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// The same of elements that are only read: what takes one takes a TensorView, too, and memory of the
/// application that is constant.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t row_stride = 0;
  const Quantization* quantization = nullptr;

  ConstTensorView() = default;
  ConstTensorView(const void* elements, DType type, const Shape& extents,
                  const Quantization* quants = nullptr)
      : data(elements), dtype(type), shape(extents), row_stride(extents.last()), quantization(quants) {}
  /// Not explicit: a promise not to write can always be given.
  ConstTensorView(const TensorView& view)
      : data(view.data),
        dtype(view.dtype),
        shape(view.shape),
        row_stride(view.row_stride),
        quantization(view.quantization) {}

  bool dense() const { return row_stride == shape.last() || shape.elements() <= shape.last(); }
  int64_t bytes() const { return ElementBytes(dtype, shape.elements()); }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

}  // namespace skiff
