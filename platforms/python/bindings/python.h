/// nanobind with the same converters in every file: a file that sees fewer of them gives one template another
/// meaning, and the linker keeps either.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace skiff::python {

namespace nb = nanobind;

/// An entry that is there. Throws nb::cast_error where it is of another type.
template <class T>
T Get(nb::handle dictionary, const char* name) {
  PyObject* value = PyDict_GetItemString(dictionary.ptr(), name);
  if (value == nullptr) throw nb::key_error(name);
  return nb::cast<T>(nb::handle(value));
}

}  // namespace skiff::python
