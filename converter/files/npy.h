/// NumPy's .npy files, versions 1 to 3: little-endian, the element types that Skiff has. Elements in Fortran
/// order are put in C order when they are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Throws Error: kIo (cannot be read), kInvalidModel (not .npy, malformed, truncated, trailing bytes),
/// kUnsupported (big-endian, an element type that Skiff lacks). The message begins with
/// `path`.
TensorData ReadNpy(const std::string& path);
/// The same from bytes; `name` begins the messages.
TensorData ParseNpy(std::string_view bytes, const std::string& name);

/// The bytes of a version 1.0 file. The view may have gaps between its rows.
std::vector<uint8_t> FormatNpy(const TensorView& tensor);

}  // namespace skiff
