/// A folder that lives as long as a test.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace skiff::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& bytes) const;
  /// Relative paths of everything in it.
  std::set<std::string> List() const;

 private:
  std::string path_;
};

std::string ReadWhole(const std::string& path);

}  // namespace skiff::testing
