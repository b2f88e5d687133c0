/// Where tensors go: a folder with one .npy file for each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "run/opened_model.h"

namespace skiff::cli {

/// The paths of files for tensors of these names, without an extension; each another one.
std::map<std::string, std::string> FilesOf(const std::string& folder, const std::set<std::string>& names);
std::map<std::string, std::string> FilesOf(const std::string& folder, const NamedTensors& tensors);
/// What WriteTensors() writes of ports.
std::vector<std::string> NpyFilesOf(const std::string& folder, Span<const PortInfo> ports);

/// NAME.npy of each. Throws Error (kIo).
void WriteTensors(const std::string& folder, const NamedTensors& tensors);

}  // namespace skiff::cli
