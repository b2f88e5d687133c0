/// The names of the TensorFlow Lite operators that are imported, for lists.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"

namespace skiff {

struct TfliteName {
  std::string name;  ///< CONV_2D.
  OpCode op{};       ///< Of the core set, where it becomes that one.
};

/// Builtin operators, sorted.
std::vector<TfliteName> AllTfliteNames();
std::vector<std::string> AllTfliteCustomNames();

}  // namespace skiff
