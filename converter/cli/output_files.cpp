#include "cli/output_files.h"

#include <fmt/format.h>

#include "files/tensor_files.h"

namespace skiff::cli {

std::map<std::string, std::string> FilesOf(const std::string& folder, const std::set<std::string>& names) {
  std::map<std::string, std::string> files;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    std::string file = FileNameOf(name);
    for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("{}_{}", FileNameOf(name), i);
    files[name] = fmt::format("{}/{}", folder, file);
  }
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
