/// String attributes that name one of a few values.
#pragma once

#include <string>

#include "import/onnx/builder.h"

namespace skiff {

template <class E>
struct OnnxChoice {
  const char* name;
  E value;
};

/// The value that a string attribute names.
template <class E, size_t N>
E ChooseValue(const OnnxBuilder& b, const char* attribute, const char* fallback,
              const OnnxChoice<E> (&choices)[N]) {
  const std::string text = b.String(attribute, fallback);
  std::string names;
  for (const OnnxChoice<E>& choice : choices) {
    if (text == choice.name) return choice.value;
    names += names.empty() ? choice.name : fmt::format(", {}", choice.name);
  }
  b.Invalid("attribute '{}' is '{}'; one of {} was expected", attribute, text, names);
}

}  // namespace skiff
