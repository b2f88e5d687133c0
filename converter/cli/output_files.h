/// Where tensors go: a folder with one .npy file for each.
#pragma once

#include <map>
#include <string>

#include "run/opened_model.h"

namespace skiff::cli {

/// The paths of files for tensors, without an extension; each another one.
std::map<std::string, std::string> FilesOf(const std::string& folder, const NamedTensors& tensors);

/// NAME.npy of each. Throws Error (kIo).
void WriteTensors(const std::string& folder, const NamedTensors& tensors);

}  // namespace skiff::cli
