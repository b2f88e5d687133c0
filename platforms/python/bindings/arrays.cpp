#include "platforms/python/bindings/arrays.h"

#include <nanobind/ndarray.h>

#include <cstring>

#include "core/align.h"
#include "graph/error.h"
#include "platforms/python/bindings/support.h"

namespace skiff::python {
namespace {

/// NumPy's names of the element types, by DType; null for those that no array has.
constexpr const char* kNumpyNames[kDTypeCount] = {nullptr,  "float32", "float16", "int8",   "uint8",
                                                  "int16",  "uint16",  "int32",   "uint32", "int64",
                                                  "uint64", "bool",    "float64", nullptr,  nullptr};

/// Kept for the life of the process: the interpreter may be gone before static objects are.
PyObject* numpy_empty = nullptr;
PyTypeObject* numpy_array = nullptr;
PyTypeObject* numpy_scalar = nullptr;
PyObject* as_array = nullptr;
PyObject* numpy_types[kDTypeCount] = {};

/// Smaller than any machine's pages.
constexpr uintptr_t kPage = 4096;

DType WithSize(bool is_signed, Py_ssize_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::kI8 : DType::kU8;
    case 2:
      return is_signed ? DType::kI16 : DType::kU16;
    case 4:
      return is_signed ? DType::kI32 : DType::kU32;
    case 8:
      return is_signed ? DType::kI64 : DType::kU64;
    default:
      return DType::kInvalid;
  }
}

/// Of the buffer protocol's format, which is that of the module struct. Null means bytes.
DType TypeOfFormat(const char* format, Py_ssize_t bytes) {
  if (format == nullptr) return bytes == 1 ? DType::kU8 : DType::kInvalid;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return DType::kInvalid;
  switch (*format) {
    case '?':
      return DType::kBool;
    case 'e':
      return DType::kF16;
    case 'f':
      return DType::kF32;
    case 'd':
      return DType::kF64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return WithSize(true, bytes);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return WithSize(false, bytes);
    default:
      return DType::kInvalid;
  }
}

/// Whether the object's memory is all that it says: other classes of NumPy's arrays add to it, as masks, and
/// scalars may be dates that show bytes.
bool IsItsMemory(nb::handle object) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  return type == numpy_array ||
         (!PyType_IsSubtype(type, numpy_array) && !PyType_IsSubtype(type, numpy_scalar));
}

bool IsRowMajor(const Py_buffer& buffer) {
  if (buffer.strides == nullptr) return true;  // As ctypes has it, also where strides were asked for.
  Py_ssize_t expected = buffer.itemsize;
  for (int axis = buffer.ndim - 1; axis >= 0; --axis) {
    if (buffer.shape[axis] == 0) return true;
    if (buffer.shape[axis] != 1 && buffer.strides[axis] != expected) return false;
    expected *= buffer.shape[axis];
  }
  return true;
}

void CopyElements(const TensorView& from, void* to) {
  const auto bytes = static_cast<size_t>(from.bytes());
  if (bytes == 0) return;
  if (from.dense()) {
    std::memcpy(to, from.data, bytes);
    return;
  }
  const int64_t row = from.shape.last();
  const auto row_bytes = static_cast<size_t>(ElementBytes(from.dtype, row));
  const auto stride = static_cast<size_t>(ElementBytes(from.dtype, from.row_stride));
  const auto rows = static_cast<size_t>(from.shape.elements() / row);
  for (size_t i = 0; i < rows; ++i)
    std::memcpy(static_cast<char*>(to) + i * row_bytes, static_cast<const char*>(from.data) + i * stride,
                row_bytes);
}

/// Of an array that was just made.
void* MemoryOf(nb::handle array) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE | PyBUF_STRIDES) != 0) throw nb::python_error();
  void* memory = buffer.buf;
  PyBuffer_Release(&buffer);
  return memory;
}

std::string TextOf(const nb::object& object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

nb::dlpack::dtype DlpackType(DType dtype) {
  uint8_t code = 0;
  if (dtype == DType::kBool) {
    code = static_cast<uint8_t>(nb::dlpack::dtype_code::Bool);
  } else if (IsFloat(dtype)) {
    code = static_cast<uint8_t>(nb::dlpack::dtype_code::Float);
  } else {
    const bool is_signed =
        dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
    code = static_cast<uint8_t>(is_signed ? nb::dlpack::dtype_code::Int : nb::dlpack::dtype_code::UInt);
  }
  return {code, static_cast<uint8_t>(DTypeBits(dtype)), 1};
}

}  // namespace

void ImportArrays() {
  const nb::module_ numpy = nb::module_::import_("numpy");
  numpy_empty = nb::object(numpy.attr("empty")).release().ptr();
  numpy_array = reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr("ndarray")).release().ptr());
  numpy_scalar = reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr("generic")).release().ptr());
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kNumpyNames[i] != nullptr)
      numpy_types[i] = nb::object(numpy.attr("dtype")(kNumpyNames[i])).release().ptr();
  }
  as_array = nb::object(nb::module_::import_("skiff._arrays").attr("as_array")).release().ptr();
}

nb::object NumpyType(DType dtype) { return nb::borrow(numpy_types[static_cast<size_t>(dtype)]); }

Borrowed& Borrowed::operator=(Borrowed&& other) noexcept {
  if (this == &other) return *this;
  Release();
  buffer_ = other.buffer_;
  taken_ = std::exchange(other.taken_, false);
  view_ = other.view_;
  return *this;
}

void Borrowed::Release() {
  if (std::exchange(taken_, false)) PyBuffer_Release(&buffer_);
}

/// False where the object shows no memory, or such as Skiff cannot read in place.
bool Borrowed::TakeMemory(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return false;
  }
  taken_ = true;
  const DType dtype = TypeOfFormat(buffer_.format, buffer_.itemsize);
  if (dtype == DType::kInvalid || buffer_.ndim > kMaxRank || !IsRowMajor(buffer_)) {
    Release();
    return false;
  }
  Shape shape;
  for (int axis = 0; axis < buffer_.ndim; ++axis) shape.Append(buffer_.shape[axis]);
  view_ = TensorView(buffer_.buf, dtype, shape);
  return true;
}

Borrowed::Borrowed(nb::handle object, DType wanted, const std::string& what) {
  if (IsItsMemory(object) && TakeMemory(object)) return;
  const DType type = wanted == DType::kInvalid ? DType::kF32 : wanted;
  if (kNumpyNames[static_cast<size_t>(type)] == nullptr)
    Throw(StatusCode::kInvalidArgument,
          "{} cannot be {}, which arrays do not have; expected a dtype of NumPy's", what, DTypeName(type));
  const nb::object array = nb::handle(as_array)(object, NumpyType(type), what);
  if (TakeMemory(array)) return;
  const int rank = nb::cast<int>(array.attr("ndim"));
  if (rank > kMaxRank)
    Throw(StatusCode::kInvalidArgument, "{} has {} dimensions; there are at most {}", what, rank, kMaxRank);
  Throw(StatusCode::kInvalidArgument,
        "{} has elements of type {}, which Skiff does not have; array.astype(numpy.{}) makes others", what,
        TextOf(array.attr("dtype")), kNumpyNames[static_cast<size_t>(type)]);
}

bool Borrowed::aligned() const {
  return reinterpret_cast<uintptr_t>(view_.data) % static_cast<uintptr_t>(DTypeSize(view_.dtype)) == 0;
}

bool Borrowed::may_be_bound() const {
  const auto end = reinterpret_cast<uintptr_t>(view_.data) + static_cast<uintptr_t>(view_.bytes());
  return view_.bytes() > 0 && aligned() && (end - 1) / kPage == (end - 1 + kReadableTail) / kPage;
}

nb::object ToArray(const TensorView& tensor) {
  const nb::tuple shape = ToTuple(tensor.shape);
  PyObject* arguments[] = {nullptr, shape.ptr(), numpy_types[static_cast<size_t>(tensor.dtype)]};
  nb::object array =
      nb::steal(PyObject_Vectorcall(numpy_empty, arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  CopyElements(tensor, MemoryOf(array));
  return array;
}

Borrowed BorrowAligned(nb::handle object, DType wanted, const std::string& what) {
  Borrowed borrowed(object, wanted, what);
  return borrowed.aligned() ? std::move(borrowed) : Borrowed(ToArray(borrowed.view()), wanted, what);
}

nb::object ToSharedArray(const TensorView& tensor, nb::handle owner, bool writable) {
  size_t extents[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  const int rank = tensor.shape.rank();
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    extents[axis] = static_cast<size_t>(tensor.shape[axis]);
    strides[axis] = stride;
    stride *= axis == rank - 1 ? tensor.row_stride : tensor.shape[axis];
  }
  const auto rank_size = static_cast<size_t>(rank);
  if (writable)
    return nb::cast(
        nb::ndarray<nb::numpy>(tensor.data, rank_size, extents, owner, strides, DlpackType(tensor.dtype)));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(tensor.data, rank_size, extents, owner, strides,
                                                 DlpackType(tensor.dtype)));
}

TensorData ToTensor(nb::handle object, DType wanted, const std::string& what) {
  const Borrowed borrowed(object, wanted, what);
  return TensorData(borrowed.view().dtype, borrowed.view().shape, borrowed.view().data);
}

NamedTensors ToTensors(const nb::dict& arrays, Span<const PortInfo> ports) {
  NamedTensors tensors;
  for (const auto& [key, value] : arrays) {
    const std::string name = NameOf(key);
    DType wanted = DType::kInvalid;
    QuantizationPtr quantization;
    for (const PortInfo& port : ports) {
      if (name != port.name) continue;
      wanted = port.dtype;
      quantization = CopyOf(port.quantization);
    }
    TensorData tensor = ToTensor(value, wanted, "'" + name + "'");
    tensors[name] = tensor.dtype() == wanted && quantization ? tensor.Quantized(quantization) : tensor;
  }
  return tensors;
}

nb::dict ToDict(const NamedTensors& tensors) {
  nb::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[Interned(name.c_str())] = ToArray(tensor.view());
  return arrays;
}

nb::tuple ToTuple(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(shape.rank()));
  if (!tuple.is_valid()) throw nb::python_error();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    PyObject* extent = PyLong_FromLongLong(shape[axis]);
    if (extent == nullptr) throw nb::python_error();
    PyTuple_SetItem(tuple.ptr(), axis, extent);
  }
  return nb::borrow<nb::tuple>(tuple);
}

Shape ToShape(nb::handle extents) {
  Shape shape;
  for (const nb::handle extent : nb::iter(extents)) {
    const auto value = nb::cast<int64_t>(extent);
    if (value < 0)
      Throw(StatusCode::kInvalidArgument, "a shape has the extent {}; extents are not negative", value);
    if (shape.rank() == kMaxRank)
      Throw(StatusCode::kInvalidArgument, "a shape has more than {} extents, which is the most there is",
            kMaxRank);
    shape.Append(value);
  }
  return shape;
}

}  // namespace skiff::python
