#include "tests/support/temp_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace skiff::testing {

namespace fs = std::filesystem;

TempFolder::TempFolder() : path_((fs::temp_directory_path() / "skiff_test_XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr)
    throw std::runtime_error("cannot make a folder for the test: " + path_);
}

TempFolder::~TempFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TempFolder::Write(const std::string& name, const std::string& bytes) const {
  const fs::path file = fs::path(path_) / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file.string();
}

std::set<std::string> TempFolder::List() const {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    names.insert(fs::relative(entry.path(), path_).string());
  return names;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace skiff::testing
