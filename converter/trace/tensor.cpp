#include "trace/tensor.h"

#include <cmath>

#include "core/half.h"
#include "graph/node_types.h"
#include "trace/apply.h"
#include "trace/frame.h"
#include "trace/words.h"

namespace skiff::eager {
namespace {

template <class T>
void FillWith(TensorData& data, T value) {
  std::fill_n(static_cast<T*>(data.mutable_data()), data.elements(), value);
}

template <class T>
bool Holds(double number) {
  return number == std::floor(number) && number >= static_cast<double>(std::numeric_limits<T>::min()) &&
         number < std::ldexp(1.0, std::numeric_limits<T>::digits);
}

/// False where the dtype cannot hold the number.
bool FillNumber(TensorData& data, double number) {
  const auto integer = [&]<class T>(T) {
    if (!Holds<T>(number)) return false;
    FillWith(data, static_cast<T>(number));
    return true;
  };
  switch (data.dtype()) {
    case DType::kF32:
      return FillWith(data, static_cast<float>(number)), true;
    case DType::kF64:
      return FillWith(data, number), true;
    case DType::kF16:
      return FillWith(data, FloatToHalf(static_cast<float>(number))), true;
    case DType::kI8:
      return integer(int8_t());
    case DType::kU8:
      return integer(uint8_t());
    case DType::kI16:
      return integer(int16_t());
    case DType::kU16:
      return integer(uint16_t());
    case DType::kI32:
      return integer(int32_t());
    case DType::kU32:
      return integer(uint32_t());
    case DType::kI64:
      return integer(int64_t());
    case DType::kU64:
      return integer(uint64_t());
    case DType::kBool:
      if (number != 0 && number != 1) return false;
      return FillWith(data, static_cast<uint8_t>(number)), true;
    case DType::kI4:
    case DType::kU4:
    case DType::kInvalid:
      break;
  }
  return false;
}

const Tensor::Impl& ImplOf(const Tensor& tensor) {
  if (tensor.empty())
    Throw(StatusCode::kInvalidArgument,
          "this Tensor holds nothing: it was default-constructed and never assigned");
  return *tensor.impl();
}

std::string MadeAt(const Tensor::Impl& impl) {
  if (impl.where.line() == 0) {
    const std::string name =
        impl.frame->finished() ? "a" : fmt::format("'{}', a", impl.frame->graph.value(impl.value).name);
    return fmt::format("{}n argument of '{}',", name, impl.frame->function());
  }
  return fmt::format("a tensor that the trace of '{}' made at {}", impl.frame->function(),
                     PlaceText(impl.where));
}

}  // namespace

Tensor::Tensor(TensorData data) {
  auto impl = std::make_shared<Impl>();
  impl->dtype = data.dtype();
  impl->data = std::move(data);
  impl_ = std::move(impl);
}

Tensor Tensor::OfElements(DType dtype, const Shape& shape, const void* elements, size_t count) {
  if (static_cast<int64_t>(count) != shape.elements()) {
    Throw(StatusCode::kInvalidArgument, "{} values cannot fill the shape {}, which has {} elements", count,
          ShapeText(shape).c_str(), shape.elements());
  }
  return Tensor(TensorData(dtype, shape, elements));
}

Tensor Tensor::Full(DType dtype, const Shape& shape, double value) {
  TensorData data(dtype, shape);
  if (!FillNumber(data, value))
    Throw(StatusCode::kInvalidArgument, "a tensor of dtype {} cannot hold {}", DTypeName(dtype), value);
  return Tensor(std::move(data));
}

Tensor Tensor::Zeros(DType dtype, const Shape& shape) { return Tensor(TensorData(dtype, shape)); }

bool Tensor::symbolic() const { return ImplOf(*this).frame != nullptr; }
DType Tensor::dtype() const { return ImplOf(*this).dtype; }

int Tensor::rank() const {
  const Impl& impl = ImplOf(*this);
  return impl.frame ? static_cast<int>(impl.dims.size()) : impl.data.shape().rank();
}

Shape Tensor::shape() const {
  const Impl& impl = ImplOf(*this);
  if (!impl.frame) return impl.data.shape();
  Shape shape;
  for (int axis = 0; axis < rank(); ++axis) shape.Append(dim(axis));
  return shape;
}

int64_t Tensor::dim(int axis) const {
  const Impl& impl = ImplOf(*this);
  const int counted = axis < 0 ? axis + rank() : axis;
  if (counted < 0 || counted >= rank())
    Throw(StatusCode::kInvalidArgument, "a tensor of rank {} has no axis {}", rank(), axis);
  if (!impl.frame) return impl.data.shape()[counted];
  const Dim& dim = impl.dims[static_cast<size_t>(counted)];
  if (!dim.constant()) {
    Throw(StatusCode::kInvalidArgument,
          "extent {} of {} ({}) is open in this trace, which serves many sizes; use {}, whose elements are "
          "tensors, or turn relax_shapes off",
          counted, MadeAt(impl), TypeText(), TheWords().shape_of);
  }
  return dim.value;
}

const QuantizationPtr& Tensor::quantization() const {
  const Impl& impl = ImplOf(*this);
  return impl.frame ? impl.quantization : impl.data.quantization();
}

const TensorData& Tensor::data() const {
  const Impl& impl = ImplOf(*this);
  if (impl.frame) {
    Throw(StatusCode::kInvalidArgument,
          "{} has no elements yet: the graph computes them when it runs. Return it from the function, look "
          "at it with {}, or run the function eagerly",
          MadeAt(impl), TheWords().print);
  }
  return impl.data;
}

Tensor::operator bool() const {
  const Impl& impl = ImplOf(*this);
  if (impl.frame) {
    Throw(StatusCode::kInvalidArgument,
          "{} is used as a {} bool: its elements are known only when the graph runs. Use {} for a choice, {} "
          "for a loop, {} for a choice by element, or run the function eagerly",
          MadeAt(impl), TheWords().language, TheWords().cond, TheWords().while_loop, TheWords().where);
  }
  RequireOneElement();
  return impl.data.ToDoubles()[0] != 0;
}

void Tensor::RequireDType(DType wanted) const {
  if (dtype() != wanted) {
    Throw(StatusCode::kInvalidArgument, "the elements of {} were asked for as {}", TypeText(),
          DTypeName(wanted));
  }
}

void Tensor::RequireOneElement() const {
  if (data().elements() != 1)
    Throw(StatusCode::kInvalidArgument, "{} has {} elements, where exactly one is needed", TypeText(),
          elements());
}

std::string Tensor::TypeText() const {
  if (empty()) return "an empty Tensor";
  if (!impl_->frame)
    return fmt::format("{}{}", DTypeName(impl_->dtype), ShapeText(impl_->data.shape()).c_str());
  if (impl_->frame->finished())
    return fmt::format("{} of rank {}", DTypeName(impl_->dtype), impl_->dims.size());
  return DTypeName(impl_->dtype) + DimsText(impl_->frame->graph, impl_->dims);
}

Tensor Operand::As(DType dtype) const {
  if (!is_number_) return tensor_;
  TensorData data(dtype, Shape());
  if (!FillNumber(data, number_)) {
    ThrowAt(where_, StatusCode::kInvalidArgument,
            "{} cannot be a number of dtype {}, which the other operand has; {} that one, or write another "
            "number",
            number_, DTypeName(dtype), TheWords().cast);
  }
  return Tensor(std::move(data));
}

const Tensor& Operand::tensor() const {
  if (is_number_) {
    ThrowAt(where_, StatusCode::kInvalidArgument,
            "nothing says which dtype the number {} has; write {} with a value of the type", number_,
            TheWords().scalar);
  }
  if (tensor_.empty())
    ThrowAt(where_, StatusCode::kInvalidArgument, "an operand is an empty Tensor: it was never assigned");
  return tensor_;
}

}  // namespace skiff::eager
