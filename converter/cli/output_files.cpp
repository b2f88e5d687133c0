#include "cli/output_files.h"

#include <fmt/format.h>

#include <set>

#include "files/tensor_files.h"

namespace skiff::cli {

std::map<std::string, std::string> FilesOf(const std::string& folder, const NamedTensors& tensors) {
  std::map<std::string, std::string> files;
  std::set<std::string> taken;
  for (const auto& [name, tensor] : tensors) {
    std::string file = FileNameOf(name);
    for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("{}_{}", FileNameOf(name), i);
    files[name] = fmt::format("{}/{}", folder, file);
  }
  return files;
}

void WriteTensors(const std::string& folder, const NamedTensors& tensors) {
  for (const auto& [name, file] : FilesOf(folder, tensors)) WriteNpy(file + ".npy", tensors.at(name).view());
}

}  // namespace skiff::cli
