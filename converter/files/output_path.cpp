#include "files/output_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "emit/write_file.h"
#include "graph/error.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // As Linux follows.

/// The file gets its name when it is complete, by way of a longer one.
void CheckTakesName(const fs::path& target, const std::string& path) {
  std::error_code error;
  static_cast<void>(fs::symlink_status(TemporaryNameOf(target.string()), error));
  if (error == std::errc::filename_too_long)
    Throw(StatusCode::kIo, "{}: cannot be written: its name is too long", path);
}

/// Tries it, because permissions alone say nothing about read-only mounts, quotas and network folders.
void CheckTakesFiles(const fs::path& folder, const std::string& path) {
  // Where the file system can do so without a name: a process that is killed here leaves nothing behind.
  const int nameless = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    close(nameless);
    return;
  }
  std::string probe = (folder / ".skiff.XXXXXX").string();
  const int file = mkstemp(probe.data());
  if (file < 0) {
    Throw(StatusCode::kIo, "{}: cannot be written: no file can be made in the folder '{}': {}", path,
          folder.string(), std::strerror(errno));
  }
  close(file);
  unlink(probe.c_str());
}

}  // namespace

std::string CheckOutputFile(const std::string& path) {
  CheckReplaceable(path);
  std::error_code error;
  fs::path target(path);
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks)
      Throw(StatusCode::kIo, "{}: cannot be written: it is a link that leads nowhere", path);
    // A relative one begins at the link's folder. What it leads to need not be there yet.
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  if (!target.has_filename()) Throw(StatusCode::kIo, "'{}' cannot be written: it names no file", path);
  CheckTakesName(target, path);
  CheckTakesFiles(target.has_parent_path() ? target.parent_path() : fs::path("."), path);
  return target.string();
}

void PrepareOutputFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    Throw(StatusCode::kIo, "{}: the folder cannot be made: {}", path,
          error ? error.message() : "it is a file");
  }
  CheckTakesFiles(path, path);
}

}  // namespace skiff
