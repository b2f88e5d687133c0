/// NumPy's .npz files: an archive with one .npy file for each array (numpy.savez, savez_compressed).
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace skiff {

bool IsNpz(const std::string& path);

/// The arrays by their names. Throws Error that begins with `path`: kIo (cannot be read), kInvalidModel (no
/// archive, damaged), and as ReadNpy() for an array.
std::map<std::string, TensorData> ReadNpz(const std::string& path);

}  // namespace skiff
