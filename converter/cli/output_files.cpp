#include "cli/output_files.h"

#include <fmt/format.h>

#include "files/tensor_files.h"

namespace skiff::cli {

std::map<std::string, std::string> FilesOf(const std::string& folder, const std::set<std::string>& names) {
  std::map<std::string, std::string> files = DistinctFileNames(names);
  for (auto& [name, file] : files) file = fmt::format("{}/{}", folder, file);
  return files;
}

std::map<std::string, std::string> FilesOf(const std::string& folder, const NamedTensors& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) names.insert(name);
  return FilesOf(folder, names);
}

std::vector<std::string> NpyFilesOf(const std::string& folder, Span<const PortInfo> ports) {
  std::set<std::string> names;
  for (const PortInfo& port : ports) names.insert(port.name);
  std::vector<std::string> files;
  for (const auto& [name, file] : FilesOf(folder, names)) files.push_back(file + ".npy");
  return files;
}

void WriteTensors(const std::string& folder, const NamedTensors& tensors) {
  for (const auto& [name, file] : FilesOf(folder, tensors)) WriteNpy(file + ".npy", tensors.at(name).view());
}

}  // namespace skiff::cli
