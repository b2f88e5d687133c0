/// How large a TensorFlow Lite file is when nothing in it is shared.
#pragma once

#include <cstdint>

#include "import/tflite/schema.h"

namespace skiff {

/// Tables of a FlatBuffer may refer to one name or list again and again; whoever reads them has as many
/// copies. Adds up names, lists and options as often as they are referred to, constants aside. Throws Error
/// (kUnsupported) beyond four times the file and 64 MiB: real files share next to nothing.
void CheckExpandedSize(const tflite::Model& model, uint64_t file_bytes);

}  // namespace skiff
