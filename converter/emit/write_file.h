/// Puts a file in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "skiff/span.h"

namespace skiff {

/// "a folder", "a pipe", "a socket" or "a device" where that is what lies at `path`, or what it leads to;
/// null where it is a regular file, or nothing.
const char* KindOfNoFile(const std::string& path);

/// Throws Error (kIo) where something is at `path` that is neither a regular file nor leads to one, as a pipe
/// or a folder: a file must not take its place.
void CheckReplaceable(const std::string& path);

/// The name that a file has at last, before it gets that of `path`.
std::string TemporaryNameOf(const std::string& path);

/// Looks at the file that is about to be put in place, under the name that it has until then.
using CheckWritten = std::function<void(const std::string& temporary)>;

/// Writes the parts, one behind the other, to a temporary file beside `path` and renames it, so that an
/// existing file is replaced whole or not at all; not at all, either, where `check` throws. Throws Error
/// (kIo) naming the path and the system's reason, and as CheckReplaceable().
void WriteFileAtomically(const std::string& path, Span<const Span<const uint8_t>> parts,
                         const CheckWritten& check = {});
void WriteFileAtomically(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace skiff
