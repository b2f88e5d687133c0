/// From a dtype known at run time to a type known at compile time: the only place where kernels branch on
/// dtypes.
#pragma once

#include "eager/kernels/element.h"
#include "ops/op.h"

namespace skiff::eager {

template <class T>
struct TypeTag {
  using Type = T;
};

inline Status UnsupportedDType(OpCode op, DType dtype) {
  const OpDef* row = FindOp(op);
  return Fail(StatusCode::kUnsupported, "%s: there is no reference kernel for dtype %s",
              row != nullptr ? row->name : "unknown operator", DTypeName(dtype));
}

inline bool IsInteger(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kU64; }

/// Calls visit(TypeTag<T>{}) with the storage type of a floating-point dtype.
template <class Visit>
Status VisitFloat(OpCode op, DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(TypeTag<float>());
    case DType::kF16:
      return visit(TypeTag<Half>());
    case DType::kF64:
      return visit(TypeTag<double>());
    default:
      return UnsupportedDType(op, dtype);
  }
}

/// Calls visit(TypeTag<U>{}) with an unsigned type of the dtype's size, for kernels that only move elements.
template <class Visit>
Status VisitSize(OpCode op, DType dtype, Visit&& visit) {
  switch (DTypeSize(dtype)) {
    case 1:
      return visit(TypeTag<uint8_t>());
    case 2:
      return visit(TypeTag<uint16_t>());
    case 4:
      return visit(TypeTag<uint32_t>());
    case 8:
      return visit(TypeTag<uint64_t>());
    default:
      return UnsupportedDType(op, dtype);
  }
}

/// Calls visit(Lane{}) with the lane type of a dtype.
template <class Visit>
Status VisitLane(OpCode op, DType dtype, Visit&& visit) {
  if (IsFloat(dtype)) return visit(double{});
  if (dtype == DType::kU64) return visit(uint64_t{});
  if (IsInteger(dtype) || dtype == DType::kBool) return visit(int64_t{});
  return UnsupportedDType(op, dtype);
}

/// How lanes of this type are loaded from a dtype: any dtype as double, integers and bool as integers; else
/// null.
template <class Lane>
LoadFn<Lane> Loader(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return LoadLanes<Lane, int8_t>;
    case DType::kU8:
      return LoadLanes<Lane, uint8_t>;
    case DType::kI16:
      return LoadLanes<Lane, int16_t>;
    case DType::kU16:
      return LoadLanes<Lane, uint16_t>;
    case DType::kI32:
      return LoadLanes<Lane, int32_t>;
    case DType::kU32:
      return LoadLanes<Lane, uint32_t>;
    case DType::kI64:
      return LoadLanes<Lane, int64_t>;
    case DType::kU64:
      return LoadLanes<Lane, uint64_t>;
    case DType::kBool:
      return LoadLanes<Lane, Bool>;
    default:
      break;
  }
  if constexpr (std::is_same_v<Lane, double>) {
    if (dtype == DType::kF32) return LoadLanes<Lane, float>;
    if (dtype == DType::kF16) return LoadLanes<Lane, Half>;
    if (dtype == DType::kF64) return LoadLanes<Lane, double>;
  }
  return nullptr;
}

/// The inverse; a double is stored in floating-point dtypes only.
template <class Lane>
StoreFn<Lane> Storer(DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    if (dtype == DType::kF32) return StoreLanes<Lane, float>;
    if (dtype == DType::kF16) return StoreLanes<Lane, Half>;
    if (dtype == DType::kF64) return StoreLanes<Lane, double>;
  } else {
    switch (dtype) {
      case DType::kI8:
        return StoreLanes<Lane, int8_t>;
      case DType::kU8:
        return StoreLanes<Lane, uint8_t>;
      case DType::kI16:
        return StoreLanes<Lane, int16_t>;
      case DType::kU16:
        return StoreLanes<Lane, uint16_t>;
      case DType::kI32:
        return StoreLanes<Lane, int32_t>;
      case DType::kU32:
        return StoreLanes<Lane, uint32_t>;
      case DType::kI64:
        return StoreLanes<Lane, int64_t>;
      case DType::kU64:
        return StoreLanes<Lane, uint64_t>;
      case DType::kBool:
        return StoreLanes<Lane, Bool>;
      default:
        break;
    }
  }
  return nullptr;
}

/// The lowest value that a dtype holds: minus infinity where there is one.
template <class Lane>
Lane LowestOf(DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    const bool is_signed =
        dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
    return is_signed ? std::numeric_limits<Lane>::lowest() >> (64 - 8 * DTypeSize(dtype)) : Lane(0);
  }
}

/// The highest one, infinity included.
template <class Lane>
Lane HighestOf(DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    return std::numeric_limits<double>::infinity();
  } else {
    if (dtype == DType::kBool) return 1;
    // Of a signed dtype the highest is the complement of the lowest; of an unsigned one all its bits are set.
    const Lane low = LowestOf<Lane>(dtype);
    if (low != Lane(0)) return static_cast<Lane>(~low);
    return static_cast<Lane>(~uint64_t{0} >> (64 - 8 * DTypeSize(dtype)));
  }
}

/// Element i of an i64 or i32 tensor, the dtypes of indices and shape inputs.
inline int64_t IntegerAt(const TensorView& view, int64_t i) {
  return view.dtype == DType::kI32 ? view.as<const int32_t>()[i] : view.as<const int64_t>()[i];
}

}  // namespace skiff::eager
