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

#include "graph/error.h"

namespace skiff::python {

namespace nb = nanobind;

/// What a keyword takes, in words.
template <class T>
inline constexpr const char* kExpected = std::is_floating_point_v<T> ? "a number"
                                         : std::is_unsigned_v<T>     ? "a whole number that is not negative"
                                                                     : "a whole number";
template <>
inline constexpr const char* kExpected<bool> = "True or False";
template <>
inline constexpr const char* kExpected<std::string> = "a str";
template <>
inline constexpr const char* kExpected<std::vector<std::string>> = "a list of str";
template <class T>
inline constexpr const char* kExpected<std::optional<T>> = kExpected<T>;
template <class K, class V>
inline constexpr const char* kExpected<std::map<K, V>> = "a dict by name";

/// A key of a dictionary by name. Throws Error (kInvalidArgument) where it is none.
inline std::string NameOf(nb::handle key) {
  if (nb::isinstance<nb::str>(key)) return nb::cast<std::string>(key);
  Throw(StatusCode::kInvalidArgument, "{} is no name; expected a str, as {{\"x\": array}}",
        nb::cast<std::string>(nb::repr(key)));
}

/// An entry that is there: a keyword of a function. Throws Error (kInvalidArgument) where it is of another
/// type.
template <class T>
T Get(nb::handle dictionary, const char* name) {
  PyObject* value = PyDict_GetItemString(dictionary.ptr(), name);
  if (value == nullptr) throw nb::key_error(name);
  if constexpr (std::is_base_of_v<nb::object, T>) {
    return nb::cast<T>(nb::handle(value));
  } else {
    try {
      return nb::cast<T>(nb::handle(value));
    } catch (const nb::cast_error&) {
      Throw(StatusCode::kInvalidArgument, "{} is {}; expected {}", name,
            nb::cast<std::string>(nb::repr(nb::handle(value))), kExpected<T>);
    }
  }
}

}  // namespace skiff::python
