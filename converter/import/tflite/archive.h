/// Archives (ZIP): what tools append to a TensorFlow Lite file for its metadata, and NumPy's .npz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skiff/span.h"

namespace skiff {

/// The content of a file of the archive that `bytes` end with. Throws Error (kInvalidModel) where there is no
/// such archive or file, where it is damaged, and where it would unpack to more than `most` bytes.
std::string ReadArchived(Span<const uint8_t> bytes, const std::string& name, uint64_t most);

/// The names of its files, in its order. Throws Error (kInvalidModel) where `bytes` end with no archive, and
/// where it is damaged.
std::vector<std::string> ArchivedNames(Span<const uint8_t> bytes);

}  // namespace skiff
