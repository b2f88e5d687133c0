/// Places where results go, checked before the long work starts.
#pragma once

#include <string>

namespace skiff {

/// Throws Error (kIo) unless a file can be made or replaced at `path`: an existing path must be a regular
/// file, and its folder must take a new file. Returns the path with a symbolic link followed, so that the
/// link stays one.
std::string CheckOutputFile(const std::string& path);

/// Makes the folder where it is missing, and throws Error (kIo) unless it takes a new file.
void PrepareOutputFolder(const std::string& path);

}  // namespace skiff
