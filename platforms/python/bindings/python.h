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
                                         : sizeof(T) == 4            ? "a whole number of 32 bits"
                                                                     : "a whole number of 64 bits";
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

/// A value of this type. Throws Error (kInvalidArgument), which `what` begins, where it is of another, or is
/// too large for it.
template <class T>
T As(nb::handle value, const std::string& what) {
  try {
    return nb::cast<T>(value);
  } catch (const nb::cast_error&) {
    Throw(StatusCode::kInvalidArgument, "{} is {}; expected {}", what, nb::cast<std::string>(nb::repr(value)),
          kExpected<T>);
  }
}

/// A name of an input or a variable. Throws Error (kInvalidArgument) where it is none, or has what no name
/// can: zeros, and what UTF-8 has no bytes for.
inline std::string NameOf(nb::handle key) {
  std::string name;
  if (nb::isinstance<nb::str>(key) && nb::try_cast(key, name) && name.find('\0') == std::string::npos)
    return name;
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
    return As<T>(value, name);
  }
}

}  // namespace skiff::python
