/// The dictionary in the header of a .npy file, which is a Python literal.
#pragma once

#include <string>
#include <string_view>

#include "skiff/tensor.h"

namespace skiff {

struct NpyHeader {
  std::string descr;  ///< "<f4"
  bool fortran_order = false;
  Shape shape;
};

/// Accepts exactly the keys descr, fortran_order and shape, in any order. Throws Error whose message begins
/// with `name`.
NpyHeader ParseNpyHeader(std::string_view text, const std::string& name);

}  // namespace skiff
