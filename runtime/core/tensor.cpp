#include "skiff/tensor.h"

#include <cstdio>
#include <cstring>

namespace skiff {
namespace {

/// The name lies in the table: no pointer needs a relocation.
struct DTypeInfo {
  char name[8];
  uint8_t bits;
};

/// Indexed by DType.
constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"invalid", 0}, {"f32", 32}, {"f16", 16}, {"i8", 8},   {"u8", 8},   {"i16", 16}, {"u16", 16}, {"i32", 32},
    {"u32", 32},    {"i64", 64}, {"u64", 64}, {"bool", 8}, {"f64", 64}, {"i4", 4},   {"u4", 4},
};

const DTypeInfo& Info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kDTypes[index < kDTypeCount ? index : 0];
}

}  // namespace

int64_t DTypeSize(DType dtype) { return Info(dtype).bits / 8; }

int DTypeBits(DType dtype) { return Info(dtype).bits; }

const char* DTypeName(DType dtype) { return Info(dtype).name; }

DType DTypeFromName(const char* name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (std::strcmp(kDTypes[i].name, name) == 0) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kF64; }

Shape::Shape(const int64_t* extents, int rank) : rank_(rank) {
  for (int i = 0; i < rank; ++i) extents_[i] = extents[i];
}

bool Shape::operator==(const Shape& other) const {
  if (rank_ != other.rank_) return false;
  for (int i = 0; i < rank_; ++i) {
    if (extents_[i] != other.extents_[i]) return false;
  }
  return true;
}

ShapeText::ShapeText(const Shape& shape) {
  size_t length = 0;
  text_[length++] = '[';
  for (int i = 0; i < shape.rank(); ++i) {
    char* const to = text_ + length;
    const size_t left = sizeof(text_) - length;
    const char* const comma = i == 0 ? "" : ", ";
    const bool open = shape[i] == -1;  // As ports have it; its name is the model's to tell.
    length += static_cast<size_t>(
        open ? std::snprintf(to, left, "%s?", comma)
             : std::snprintf(to, left, "%s%lld", comma, static_cast<long long>(shape[i])));
  }
  text_[length++] = ']';
  text_[length] = '\0';
}

}  // namespace skiff
