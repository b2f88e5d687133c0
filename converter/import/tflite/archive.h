/// The archive (ZIP) that tools append to a TensorFlow Lite file: what its metadata refers to.
#pragma once

#include <cstdint>
#include <string>

#include "skiff/span.h"

namespace skiff {

/// The content of a file of the archive that `bytes` end with. Throws Error (kInvalidModel) where there is no
/// such archive or file, where it is damaged, and where it would unpack to more than `most` bytes.
std::string ReadArchived(Span<const uint8_t> bytes, const std::string& name, uint64_t most);

}  // namespace skiff
