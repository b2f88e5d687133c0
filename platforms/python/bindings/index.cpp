#include "platforms/python/bindings/index.h"

#include <algorithm>
#include <limits>

#include "platforms/python/bindings/tensors.h"
#include "trace/apply.h"
#include "trace/frame.h"
#include "trace/ops.h"

namespace skiff::python {
namespace {

using eager::Location;
using eager::Tensor;

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// The key as an integer of Python's, where it is one, or one of NumPy's; else null.
nb::object IntegerOf(nb::handle key) {
  if (!PyIndex_Check(key.ptr()) || PyBool_Check(key.ptr()) || nb::isinstance<Tensor>(key)) return {};
  nb::object integer = nb::steal(PyNumber_Index(key.ptr()));
  if (!integer.is_valid()) PyErr_Clear();  // An array of several, or NumPy's bool.
  return integer;
}

bool IsTensor(nb::handle key) {
  return nb::isinstance<Tensor>(key) && nb::cast<const Tensor&>(key).dtype() != DType::kBool;
}

[[noreturn]] void Refuse(nb::handle key, const Location& where) {
  eager::ThrowAt(where, StatusCode::kInvalidArgument,
                 "a tensor cannot be indexed with {}; expected integers, slices, None, ... or a tensor of "
                 "integers; skiff.ops has "
                 "gather_nd and where",
                 nb::cast<std::string>(nb::str(nb::repr(key))));
}

/// One end of a slice: a number, or a tensor with one.
Tensor EndOf(nb::handle end, int64_t otherwise, const Location& where) {
  if (end.is_none()) return Tensor::Of<int64_t>({otherwise});
  if (!nb::isinstance<Tensor>(end)) {
    Tensor made = ToIntList(end, "a slice's end", where);
    if (made.elements() != 1)
      eager::ThrowAt(where, StatusCode::kInvalidArgument,
                     "an end or step of a slice has {} numbers; expected one", made.elements());
    return made;
  }
  return eager::Reshape({eager::Cast({nb::cast<const Tensor&>(end), where}, DType::kI64), where}, {1});
}

class Indexer {
 public:
  Indexer(const Tensor& tensor, const Location& where) : tensor_(tensor), where_(where) {}

  /// Each key takes the next axis of what is there by then.
  void Take(nb::handle key) {
    if (key.is_none()) {
      tensor_ = eager::Unsqueeze(Operand(), {axis_++});
    } else if (PySlice_Check(key.ptr())) {
      Slice(key);
    } else if (const nb::object integer = IntegerOf(key); integer.is_valid()) {
      Pick(As<int64_t>(integer, eager::PlaceText(where_) + ": an index"), key);
    } else if (IsTensor(key)) {
      const Tensor& indices = nb::cast<const Tensor&>(key);
      tensor_ = eager::Gather(Operand(), indices, axis_);
      axis_ += indices.rank();
    } else {
      Refuse(key, where_);
    }
  }
  void Skip(int64_t axes) { axis_ += axes; }
  const Tensor& result() const { return tensor_; }

 private:
  eager::Operand Operand() const { return {tensor_, where_}; }

  void Slice(nb::handle key) {
    const nb::object start = key.attr("start"), stop = key.attr("stop"), step = key.attr("step");
    const int64_t axis = axis_++;
    if (start.is_none() && stop.is_none() && step.is_none()) return;
    const Tensor steps = EndOf(step, 1, where_);
    const bool backwards = !steps.symbolic() && steps.data().ToInts()[0] < 0;
    tensor_ = eager::Slice(Operand(), EndOf(start, backwards ? kToTheEnd : 0, where_),
                           EndOf(stop, backwards ? std::numeric_limits<int64_t>::min() : kToTheEnd, where_),
                           {axis}, steps);
  }

  /// Where the extent is known the index is checked here, and what is left is a view.
  void Pick(int64_t index, nb::handle key) {
    const Dim dim = tensor_.symbolic() ? tensor_.impl()->dims[static_cast<size_t>(axis_)]
                                       : Dim(tensor_.dim(static_cast<int>(axis_)));
    if (!dim.constant()) {
      tensor_ = eager::Gather(Operand(), Tensor::Scalar(index), axis_);
      return;
    }
    const int64_t counted = index < 0 ? index + dim.value : index;
    if (counted < 0 || counted >= dim.value) {
      const std::string text =
          fmt::format("{}: index {} is out of range: axis {} of {} has {} elements", eager::PlaceText(where_),
                      nb::cast<std::string>(nb::str(key)), axis_, tensor_.TypeText(), dim.value);
      PyErr_SetString(PyExc_IndexError, text.c_str());
      throw nb::python_error();
    }
    tensor_ = eager::Slice(Operand(), {counted}, {counted + 1}, {axis_}, {int64_t{1}});
    tensor_ = eager::Squeeze(Operand(), {axis_});
  }

  Tensor tensor_;
  const Location where_;
  int64_t axis_ = 0;
};

}  // namespace

Tensor IndexTensor(const Tensor& tensor, nb::handle key) {
  const Location where = Here();
  const nb::tuple keys =
      nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(nb::borrow(key));
  int64_t taken = 0;
  bool dots = false;
  for (const nb::handle one : keys) {
    if (one.is(nb::handle(Py_Ellipsis))) {
      if (dots) Refuse(key, where);
      dots = true;
    } else if (!one.is_none()) {
      ++taken;
    }
  }
  if (taken > tensor.rank()) {
    eager::ThrowAt(where, StatusCode::kInvalidArgument, "{} indices are too many for {}, which has {} axes",
                   taken, tensor.TypeText(), tensor.rank());
  }
  Indexer indexer(tensor, where);
  for (const nb::handle one : keys) {
    if (one.is(nb::handle(Py_Ellipsis))) {
      indexer.Skip(tensor.rank() - taken);
    } else {
      indexer.Take(one);
    }
  }
  return indexer.result();
}

}  // namespace skiff::python
