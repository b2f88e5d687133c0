/// NumPy's arrays, and whatever else shows its memory, as Skiff's tensors; and back.
#pragma once

#include "platforms/python/bindings/python.h"

#include <string>

#include "run/opened_model.h"

namespace skiff::python {

/// The memory of a Python object for as long as this lives. Made, moved and destroyed with the GIL held.
class Borrowed {
 public:
  Borrowed() = default;
  /// `what` begins messages: "input 'x'". Row-major memory of a known element type is taken as it is;
  /// anything else (other strides, lists, numbers, tensors of other libraries) passes through NumPy, lists
  /// and numbers as `wanted`. Throws Error (kInvalidArgument) for elements that Skiff does not have.
  Borrowed(nb::handle object, DType wanted, const std::string& what);
  ~Borrowed() { Release(); }
  Borrowed(Borrowed&& other) noexcept { *this = std::move(other); }
  Borrowed& operator=(Borrowed&& other) noexcept;
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  void Release();
  const TensorView& view() const { return view_; }
  bool writable() const { return buffer_.readonly == 0; }
  bool aligned() const;
  /// Whether it is aligned and a kernel may read 16 bytes behind the elements, whoever made them: memory is
  /// mapped in whole pages.
  bool may_be_bound() const;

 private:
  bool TakeMemory(nb::handle object);

  Py_buffer buffer_ = {};
  bool taken_ = false;
  TensorView view_;
};

/// An array of its own with the elements of `tensor`, which may have gaps between its rows.
nb::object ToArray(const TensorView& tensor);
/// The memory of the object, or of a copy where its elements are not aligned, for code that takes this for
/// granted.
Borrowed BorrowAligned(nb::handle object, DType wanted, const std::string& what);
/// An array over the memory of `tensor`, which `owner` keeps alive.
nb::object ToSharedArray(const TensorView& tensor, nb::handle owner, bool writable);
/// A copy of the elements.
TensorData ToTensor(nb::handle object, DType wanted, const std::string& what);

/// By name; `ports`, where given, say which type lists and numbers mean.
NamedTensors ToTensors(const nb::dict& arrays, Span<const PortInfo> ports = {});
nb::dict ToDict(const NamedTensors& tensors);

nb::tuple ToTuple(const Shape& shape);
/// Throws Error (kInvalidArgument) where it has too many extents, or negative ones.
Shape ToShape(nb::handle extents);
/// numpy.dtype of an element type that tensors in memory have.
nb::object NumpyType(DType dtype);

/// Finds what is used of NumPy and of the package. For the module's beginning.
void ImportArrays();

}  // namespace skiff::python
