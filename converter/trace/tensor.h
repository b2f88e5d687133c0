/// Tensors of the C++ host: what a Function is written in. Outside of a Function every operator computes at
/// once with the reference kernels; while a Function is traced the same call adds a node to its graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "graph/graph.h"

namespace skiff::eager {

/// Where in the caller's program an operator was called; every error begins with it. As std::source_location,
/// but it can speak of programs in other languages, too.
class Location {
 public:
  constexpr Location() = default;
  /// `file` outlives all tensors.
  constexpr Location(const char* file, uint32_t line) : file_(file), line_(line) {}
  static constexpr Location current(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file_name() const { return file_; }
  uint32_t line() const { return line_; }

 private:
  const char* file_ = "";
  uint32_t line_ = 0;
};

/// The DType of a C++ element type. bool is kBool, one byte.
template <class T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kI16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kU64;
  return DType::kInvalid;
}

/// A handle, cheap to copy: either elements (shared, immutable), or a value of the graph that is being
/// traced. Handles of finished traces only report an error when they are used. Thread-safe as a shared_ptr
/// is.
class Tensor {
 public:
  /// Holds nothing; to be assigned to.
  Tensor() = default;
  explicit Tensor(TensorData data);

  /// Row-major `values`; throws Error (kInvalidArgument) where their number is not that of the shape. Without
  /// a shape: a vector.
  template <class T>
  static Tensor Of(const std::vector<T>& values, const Shape& shape) {
    return OfElements(DTypeOf<T>(), shape, std::vector<T>(values).data(), values.size());
  }
  template <class T>
  static Tensor Of(const std::vector<T>& values) {
    return Of(values, Shape{static_cast<int64_t>(values.size())});
  }
  /// Rank 0.
  template <class T>
  static Tensor Scalar(T value) {
    return OfElements(DTypeOf<T>(), Shape(), &value, 1);
  }
  static Tensor Zeros(DType dtype, const Shape& shape);
  static Tensor Full(DType dtype, const Shape& shape, double value);

  bool empty() const { return impl_ == nullptr; }
  /// True for a value of a graph that is being traced (or was): it has a type but no elements.
  bool symbolic() const;
  DType dtype() const;
  int rank() const;
  /// Throws Error where an extent is open in this trace; ShapeOf() gives it as a tensor.
  Shape shape() const;
  int64_t dim(int axis) const;
  int64_t elements() const { return shape().elements(); }

  /// Of a tensor that stands for real numbers; null: its elements are plain numbers.
  const QuantizationPtr& quantization() const;

  /// The elements; throws Error for a symbolic tensor, saying what to do instead.
  const TensorData& data() const;
  template <class T>
  const T* as() const {
    RequireDType(DTypeOf<T>());
    return data().as<T>();
  }
  template <class T>
  std::vector<T> ToVector() const {
    return std::vector<T>(as<T>(), as<T>() + elements());
  }
  /// The only element.
  template <class T>
  T item() const {
    RequireOneElement();
    return *as<T>();
  }
  /// Whether the only element is not zero. While tracing this is an error that says to use Cond.
  explicit operator bool() const;

  /// "f32[2, seq]", and where symbolic, that it is.
  std::string TypeText() const;

  struct Impl;
  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  static Tensor OfElements(DType dtype, const Shape& shape, const void* elements, size_t count);
  void RequireDType(DType dtype) const;
  void RequireOneElement() const;

  std::shared_ptr<const Impl> impl_;
};

using Tensors = std::vector<Tensor>;

/// An operand of an operator, with the place of the call: a Tensor, or a C++ number that takes the dtype of
/// the other operand (an error where it cannot hold the number: 0.5 in i32, 300 in u8).
class Operand {
 public:
  Operand(const Tensor& tensor,
          Location where = Location::current())  // NOLINT: conversion captures the place
      : tensor_(tensor), where_(where) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T number, Location where = Location::current())  // NOLINT
      : number_(static_cast<double>(number)), is_number_(true), where_(where) {}

  Operand(const class Variable& variable, Location where = Location::current());  // NOLINT

  bool is_number() const { return is_number_; }
  const Location& where() const { return where_; }
  /// The tensor itself, or the number as rank 0 of this dtype.
  Tensor As(DType dtype) const;
  /// The tensor; throws Error for a number: nothing says its dtype.
  const Tensor& tensor() const;

 private:
  Tensor tensor_;
  double number_ = 0.0;
  bool is_number_ = false;
  Location where_;
};

}  // namespace skiff::eager
