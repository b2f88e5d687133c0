/// NumPy's .npz files: an archive with one .npy file for each array (numpy.savez, savez_compressed).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

bool IsNpz(const std::string& path);

/// Which of these arrays are read.
using ChooseArrays = std::function<std::set<std::string>(const std::vector<std::string>& names)>;

/// The arrays that `choose` names, by their names. Throws Error that begins with `path`: kIo (cannot be
/// read), kInvalidModel (no archive, damaged, or packed so tightly that a small file would take much memory),
/// and as ReadNpy() for an array.
std::map<std::string, TensorData> ReadNpz(const std::string& path, const ChooseArrays& choose);

}  // namespace skiff
