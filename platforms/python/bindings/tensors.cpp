#include "platforms/python/bindings/tensors.h"

#include <fmt/format.h>

#include <unordered_set>

#include "graph/error.h"
#include "platforms/python/bindings/index.h"
#include "platforms/python/bindings/support.h"
#include "trace/apply.h"
#include "trace/frame.h"
#include "trace/ops.h"
#include "trace/variable.h"

namespace skiff::python {
namespace {

using eager::Location;
using eager::Operand;
using eager::Tensor;
using eager::Tensors;
using eager::Variable;

/// Kept for the life of the process, as in arrays.cpp.
std::string* package_folder = nullptr;
PyObject* open_shape = nullptr;

/// Tensors remember where they were made, so names of files live as long as the process.
const char* Kept(std::string_view name) {
  static auto* names = new std::unordered_set<std::string>();
  return names->emplace(name).first->c_str();
}

std::string_view FileOf(PyFrameObject* frame) {
  const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const nb::object file = nb::steal(PyObject_GetAttrString(code.ptr(), "co_filename"));
  if (!file.is_valid()) throw nb::python_error();
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(file.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return Kept({text, static_cast<size_t>(size)});
}

bool IsNumber(nb::handle object) {
  return PyBool_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr());
}

DType TypeNamed(const std::string& name) {
  const DType own = DTypeFromName(name.c_str());
  if (own != DType::kInvalid) return own;
  const nb::object wanted =
      nb::steal(PyObject_CallMethod(nb::module_::import_("numpy").ptr(), "dtype", "s", name.c_str()));
  if (!wanted.is_valid()) {
    PyErr_Clear();
    return DType::kInvalid;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    const nb::object type = NumpyType(static_cast<DType>(i));
    if (type.is_valid() && PyObject_RichCompareBool(type.ptr(), wanted.ptr(), Py_EQ) == 1)
      return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

nb::object Shape(const Tensor& tensor) {
  const bool open = tensor.symbolic() && std::any_of(tensor.impl()->dims.begin(), tensor.impl()->dims.end(),
                                                     [](const Dim& dim) { return !dim.constant(); });
  if (!open) return ToTuple(tensor.shape());
  return nb::handle(open_shape)(nb::cast(tensor), tensor.TypeText());
}

nb::object Numpy(const Tensor& tensor) {
  auto* owner = new TensorData(tensor.data());
  const nb::capsule capsule(owner, [](void* data) noexcept { delete static_cast<TensorData*>(data); });
  return ToSharedArray(owner->view(), capsule, false);
}

nb::object Array(const Tensor& tensor, nb::handle dtype, nb::handle copy) {
  nb::object array = Numpy(tensor);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  return copy.is_none() || !nb::cast<bool>(copy) ? array : nb::object(array.attr("copy")());
}

nb::object Item(const Tensor& tensor) {
  if (tensor.data().elements() != 1)
    Throw(StatusCode::kInvalidArgument, "{} has {} elements, where exactly one is needed", tensor.TypeText(),
          tensor.elements());
  return Numpy(tensor).attr("item")();
}

std::string Repr(const Tensor& tensor) {
  if (tensor.empty() || tensor.symbolic()) return fmt::format("<skiff.Tensor {}, traced>", tensor.TypeText());
  const std::string elements = nb::cast<std::string>(nb::str(Numpy(tensor)));
  const char* between = elements.find('\n') == std::string::npos ? " " : "\n";
  return fmt::format("<skiff.Tensor {}:{}{}>", tensor.TypeText(), between, elements);
}

Tensor Make(nb::handle value, nb::handle dtype) {
  const DType wanted = dtype.is_none() ? OwnType(value) : ToDType(dtype);
  DType type = wanted;
  if (type == DType::kInvalid) {
    // Python's numbers: true is bool, 1 is i64 (as indices are), 1.0 is f32.
    const nb::object array =
        nb::steal(PyObject_CallMethod(nb::module_::import_("numpy").ptr(), "asarray", "O", value.ptr()));
    if (!array.is_valid()) {
      nb::python_error error;
      if (!error.matches(PyExc_ValueError)) throw error;
      Throw(StatusCode::kInvalidArgument, "the value is no array that NumPy can read: {}",
            nb::cast<std::string>(nb::str(error.value())));
    }
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    type = kind == "b" ? DType::kBool : kind == "i" || kind == "u" ? DType::kI64 : DType::kF32;
  }
  const Location where = Here();
  const Tensor made = ToOperand(value, type, "the value", where);
  return made.dtype() == type ? made : eager::Cast({made, where}, type);
}

using Binary = Tensor (*)(const Operand&, const Operand&);

/// What no operator takes is left to Python, which says so (or, for ==, that they differ).
nb::object ApplyBinary(Binary function, nb::handle first, nb::handle second) {
  if (!IsOperand(first) || !IsOperand(second)) return nb::borrow(Py_NotImplemented);
  const Location where = Here();
  const DType own = OwnType(first);
  const DType type = own == DType::kInvalid ? OwnType(second) : own;
  const Tensor a = ToOperand(first, type, "the left operand", where);
  const Tensor b = ToOperand(second, type, "the right operand", where);
  Tensor result;
  {
    const MaybeUnlocked unlocked(TakesTime({a, b}));
    result = function({a, where}, {b, where});
  }
  return nb::cast(result);
}

struct BinaryMethod {
  const char* name;
  const char* swapped;  ///< Where the tensor is the right operand; null: Python finds the mirrored one.
  Binary function;
};
constexpr BinaryMethod kBinaryMethods[] = {
    {"__add__", "__radd__", &eager::Add},
    {"__sub__", "__rsub__", &eager::Sub},
    {"__mul__", "__rmul__", &eager::Mul},
    {"__truediv__", "__rtruediv__", &eager::Div},
    {"__mod__", "__rmod__", [](const Operand& a, const Operand& b) { return eager::Mod(a, b); }},
    {"__pow__", "__rpow__", &eager::Pow},
    {"__matmul__", "__rmatmul__",
     [](const Operand& a, const Operand& b) { return eager::MatMul(a, b.tensor()); }},
    {"__and__", "__rand__", &eager::And},
    {"__or__", "__ror__", &eager::Or},
    {"__xor__", "__rxor__", &eager::Xor},
    {"__lt__", nullptr, &eager::Less},
    {"__le__", nullptr, &eager::LessOrEqual},
    {"__gt__", nullptr, &eager::Greater},
    {"__ge__", nullptr, &eager::GreaterOrEqual},
    {"__eq__", nullptr, &eager::Equal},
    {"__ne__", nullptr,
     [](const Operand& a, const Operand& b) {
       return eager::Not({eager::Equal(a, b), a.where()});
     }},
};

/// Of Tensor, and of Variable, which stands for its value.
template <class T>
void BindArithmetic(nb::class_<T>& type) {
  for (const BinaryMethod& method : kBinaryMethods) {
    type.def(
        method.name,
        [&method](nb::handle self, nb::handle other) { return ApplyBinary(method.function, self, other); },
        nb::arg("other").none(),
        nb::sig(fmt::format("def {}(self, other: typing.Any, /) -> Tensor", method.name).c_str()));
    if (method.swapped == nullptr) continue;
    type.def(
        method.swapped,
        [&method](nb::handle self, nb::handle other) { return ApplyBinary(method.function, other, self); },
        nb::arg("other").none(),
        nb::sig(fmt::format("def {}(self, other: typing.Any, /) -> Tensor", method.swapped).c_str()));
  }
  const auto value = [](nb::handle self) {
    return Operand(ToOperand(self, DType::kInvalid, "", Here()), Here());
  };
  type.def("__neg__", [value](nb::handle self) { return eager::Neg(value(self)); })
      .def("__abs__", [value](nb::handle self) { return eager::Abs(value(self)); })
      .def("__invert__", [value](nb::handle self) { return eager::Not(value(self)); })
      .def(
          "__getitem__",
          [](nb::handle self, nb::handle key) {
            return IndexTensor(ToOperand(self, DType::kInvalid, "", Here()), key);
          },
          nb::arg("key").none(), nb::sig("def __getitem__(self, key: typing.Any, /) -> Tensor"),
          "Integers, slices, None and ... as in NumPy; a tensor of integers takes rows.");
  // NumPy leaves arithmetic between an array and one of these to it; == is by element, so none has a hash.
  type.attr("__array_ufunc__") = nb::none();
  type.attr("__hash__") = nb::none();
}

nb::list Rows(const Tensor& tensor) {
  if (tensor.rank() == 0)
    Throw(StatusCode::kInvalidArgument, "a tensor of rank 0 has no rows to iterate over");
  nb::list rows;
  for (int64_t i = 0; i < tensor.dim(0); ++i) rows.append(IndexTensor(tensor, nb::int_(i)));
  return rows;
}

}  // namespace

Location Here() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) return {"?", 0};
  nb::object held = nb::borrow(reinterpret_cast<PyObject*>(frame));
  for (;;) {
    frame = reinterpret_cast<PyFrameObject*>(held.ptr());
    const std::string_view file = FileOf(frame);
    nb::object back = nb::steal(PyObject_GetAttrString(held.ptr(), "f_back"));
    if (!back.is_valid()) throw nb::python_error();
    if (back.is_none() || !file.starts_with(*package_folder))
      return {file.data(), static_cast<uint32_t>(PyFrame_GetLineNumber(frame))};
    held = std::move(back);
  }
}

bool IsOperand(nb::handle object) {
  return nb::isinstance<Tensor>(object) || nb::isinstance<Variable>(object) || IsNumber(object) ||
         nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) ||
         PyObject_CheckBuffer(object.ptr()) != 0 || nb::hasattr(object, "__array__") ||
         nb::hasattr(object, "__dlpack__");
}

DType OwnType(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<const Tensor&>(object).dtype();
  if (nb::isinstance<Variable>(object)) return nb::cast<const Variable&>(object).state()->Get().dtype();
  if (IsNumber(object) || nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    return DType::kInvalid;
  return Borrowed(object, DType::kInvalid, "an operand").view().dtype;
}

Tensor ToOperand(nb::handle object, DType wanted, const std::string& what, const Location& where) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<const Tensor&>(object);
  if (nb::isinstance<Variable>(object)) return nb::cast<const Variable&>(object).Read(where);
  if (IsNumber(object)) {
    // A double holds the integers up to here.
    constexpr double kExact = 9007199254740992.0;
    const double number = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      eager::ThrowAt(where, StatusCode::kInvalidArgument, "{}: {} is too large a number", what,
                     nb::cast<std::string>(nb::str(object)));
    }
    const Operand operand(number, where);
    if (wanted == DType::kInvalid) return operand.tensor();
    if (PyFloat_Check(object.ptr()) || (number > -kExact && number < kExact)) return operand.As(wanted);
  }
  return Tensor(ToTensor(object, wanted, eager::PlaceText(where) + ": " + what));
}

Tensor ToIntList(nb::handle object, const std::string& what, const Location& where) {
  const bool single = PyLong_Check(object.ptr()) != 0;
  const nb::object list = single ? nb::object(nb::make_tuple(nb::borrow(object))) : nb::borrow(object);
  return ToOperand(list, DType::kI64, what, where);
}

DType ToDType(nb::handle object) {
  const bool is_text = nb::isinstance<nb::str>(object);
  nb::object name = nb::borrow(object);
  if (!is_text) {
    const nb::object type =
        nb::steal(PyObject_CallMethod(nb::module_::import_("numpy").ptr(), "dtype", "O", object.ptr()));
    if (type.is_valid())
      name = type.attr("name");
    else
      PyErr_Clear();
  }
  const std::string text = nb::cast<std::string>(nb::str(name));
  const DType dtype = TypeNamed(text);
  if (dtype == DType::kInvalid)
    Throw(StatusCode::kInvalidArgument,
          "there is no dtype '{}'; expected one of NumPy's, or a name such as f32, i64, bool", text);
  return dtype;
}

nb::list ToList(const Tensors& tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors) list.append(nb::cast(tensor));
  return list;
}

Tensors FromList(const nb::list& list) {
  Tensors tensors;
  tensors.reserve(nb::len(list));
  for (const nb::handle one : list) tensors.push_back(nb::cast<const Tensor&>(one));
  return tensors;
}

bool TakesTime(const Tensors& operands) {
  constexpr int64_t kMany = 4096;
  if (eager::Frame::Current() != nullptr) return false;
  return std::any_of(operands.begin(), operands.end(), [](const Tensor& operand) {
    return !operand.empty() && !operand.symbolic() && operand.data().elements() >= kMany;
  });
}

void BindTensors(nb::module_& module) {
  const auto file = nb::cast<std::string>(nb::module_::import_("skiff._errors").attr("__file__"));
  package_folder = new std::string(file.substr(0, file.rfind('/') + 1));
  open_shape = nb::object(nb::module_::import_("skiff._open_shape").attr("OpenShape")).release().ptr();

  nb::class_<Tensor> tensor(module, "Tensor",
                            "Elements, or a value of the graph that is being traced: what a "
                            ":class:`skiff.Function` is written in.\n\n"
                            "Outside of a function every operator computes at once, with the reference "
                            "kernels; while one is traced the "
                            "same line adds a node to its graph. Immutable, and shared by threads.\n\n"
                            "Binary operators broadcast as NumPy's do, but nothing is promoted: both "
                            "operands have one dtype, and a Python "
                            "number takes the other operand's (an error where that cannot hold it).");
  tensor
      .def(
          "__init__",
          [](Tensor* self, nb::handle value, nb::handle dtype) { new (self) Tensor(Make(value, dtype)); },
          nb::arg("value"), nb::arg("dtype").none() = nb::none(),
          nb::sig("def __init__(self, value: typing.Any, dtype: typing.Any = None) -> None"),
          "A copy of an array, a list or a number. dtype: NumPy's, or a name such as ``\"f32\"``; by default "
          "the array's, "
          "and of Python's numbers bool, int64 and float32.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return NumpyType(self.dtype()); }, "numpy.dtype of the elements.",
          nb::sig("def dtype(self) -> numpy.dtype"))
      .def_prop_ro("rank", &Tensor::rank, "How many axes it has.")
      .def_prop_ro("ndim", &Tensor::rank, "As ``rank``.")
      .def_prop_ro("shape", &Shape, nb::sig("def shape(self) -> collections.abc.Sequence[int]"),
                   "The extents. Asking for one that is open in a trace is an error; "
                   "``skiff.ops.shape_of(x)`` works at every size.")
      .def("dim", &Tensor::dim, nb::arg("axis"), "One extent; negative axes count from the end.")
      .def_prop_ro("symbolic", &Tensor::symbolic,
                   "Whether it is a value of a graph that is being traced, and has no elements.")
      .def_prop_ro("type_text", &Tensor::TypeText, "As input_signature has it: ``f32[batch, 20]``.")
      .def("numpy", &Numpy, nb::sig("def numpy(self) -> numpy.ndarray"),
           "The elements as an array that cannot be written to, without a copy.")
      .def("__array__", &Array, nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: typing.Any = None) -> numpy.ndarray"))
      .def("item", &Item, nb::sig("def item(self) -> typing.Any"), "The only element, as a Python number.")
      .def("__bool__", [](const Tensor& self) { return static_cast<bool>(self); })
      .def("__float__", [](const Tensor& self) { return nb::float_(Item(self)); })
      .def("__int__", [](const Tensor& self) { return nb::int_(Item(self)); })
      .def(
          "__index__", [](const Tensor& self) { return Item(self).attr("__index__")(); },
          nb::sig("def __index__(self) -> int"))
      .def("__len__", [](const Tensor& self) { return self.dim(0); })
      .def(
          "__iter__", [](const Tensor& self) { return nb::iter(Rows(self)); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Tensor]"))
      .def("__repr__", &Repr);
  BindArithmetic(tensor);

  nb::class_<Variable> variable(
      module, "Variable",
      "State that outlives calls, shared by all Functions that read or assign it, saved with them, and kept "
      "by a Session between runs.\n\n"
      "Created outside of the functions that use it. Its dtype and shape are those of the first value. It "
      "stands for its value in arithmetic and as an operand.");
  variable
      .def(
          "__init__",
          [](Variable* self, const std::string& name, nb::handle initial, nb::handle dtype) {
            const Location where = Here();
            new (self) Variable(name, Make(initial, dtype), where);
          },
          nb::arg("name"), nb::arg("initial"), nb::arg("dtype").none() = nb::none(),
          nb::sig("def __init__(self, name: str, initial: typing.Any, dtype: typing.Any = None) -> None"))
      .def_prop_ro("name", &Variable::name, "What files call it.")
      .def_prop_ro(
          "dtype", [](const Variable& self) { return NumpyType(self.state()->Get().dtype()); },
          "numpy.dtype of the elements.", nb::sig("def dtype(self) -> numpy.dtype"))
      .def_prop_ro(
          "shape", [](const Variable& self) { return ToTuple(self.state()->Get().shape()); }, "The extents.",
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def(
          "read", [](const Variable& self) { return self.Read(Here()); },
          "The value at this point of the program.")
      .def(
          "numpy", [](const Variable& self) { return Numpy(self.state()->Get()); },
          nb::sig("def numpy(self) -> numpy.ndarray"), "The value outside of traces.")
      .def(
          "assign",
          [](Variable& self, nb::handle value) {
            const Location where = Here();
            self.Assign(ToOperand(value, self.state()->Get().dtype(), "the value", where), where);
          },
          nb::arg("value"), nb::sig("def assign(self, value: typing.Any) -> None"),
          "Raises :class:`InvalidArgument` where dtype or shape are others.")
      .def(
          "assign_add",
          [](Variable& self, nb::handle more) {
            const Location where = Here();
            self.AssignAdd({ToOperand(more, self.state()->Get().dtype(), "the value", where), where});
          },
          nb::arg("more"), nb::sig("def assign_add(self, more: typing.Any) -> None"))
      .def("__repr__", [](const Variable& self) {
        return fmt::format("<skiff.Variable '{}' {}>", self.name(), self.state()->Get().TypeText());
      });
  BindArithmetic(variable);
}

}  // namespace skiff::python
