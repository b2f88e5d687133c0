/// NumPy's file format for one array (numpy.lib.format, versions 1 to 3): little-endian.
#pragma once

#include <cstdio>

#include "skiff/tensor.h"

struct NpyHeader {
  skiff::DType dtype = skiff::DType::kInvalid;
  skiff::Shape shape;
  bool columns = false;  ///< The first index changes fastest (Fortran order).
};

/// Reads the header and leaves `file` at the first element. False, after a message that names `path`, for
/// anything else than an array that a TensorView can say.
bool ReadNpyHeader(std::FILE* file, const char* path, NpyHeader* header);
/// False when it cannot be written whole.
bool WriteNpyHeader(std::FILE* file, const NpyHeader& header);
