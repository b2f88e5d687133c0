/// Archives (ZIP): what tools append to a TensorFlow Lite file for its metadata, and NumPy's .npz.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "skiff/span.h"

namespace skiff {

/// The content of a file of the archive that `bytes` end with. Throws Error (kInvalidModel) where there is no
/// such archive or file, where it is damaged, and where it would unpack to more than `most` bytes.
std::string ReadArchived(Span<const uint8_t> bytes, const std::string& name, uint64_t most);

/// Calls visit(name, content) for each file of a .npz archive that `names` have, once for each name, and goes
/// through the archive once. Throws Error (kInvalidModel) as ReadArchived(), where all of them together would
/// unpack to more than `most` bytes.
void ForEachArchived(Span<const uint8_t> bytes, std::set<std::string> names, uint64_t most,
                     const std::function<void(const std::string& name, const std::string& content)>& visit);

/// The names of its files, in its order. Throws Error (kInvalidModel) where `bytes` end with no archive, and
/// where it is damaged.
std::vector<std::string> ArchivedNames(Span<const uint8_t> bytes);

}  // namespace skiff
