#include "emit/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "graph/error.h"

namespace skiff {
namespace {

/// Where a process names its open files.
std::string OpenFile(int file) { return fmt::format("/proc/self/fd/{}", file); }

/// Beside the file that it is for, until it takes its place; gone where it never does. Where the file system
/// can do so it has no name until then, and a killed process leaves nothing behind.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    file_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ >= 0 && access(OpenFile(file_).c_str(), F_OK) == 0) return;
    if (file_ >= 0) close(file_);
    name_ = path + ".XXXXXX";
    file_ = mkstemp(name_.data());
    if (file_ < 0) Fail("cannot make a temporary file beside it");
  }
  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (!placed_ && !name_.empty()) unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// To read it by.
  std::string name() const { return name_.empty() ? OpenFile(file_) : name_; }

  void Write(Span<const uint8_t> bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(file_, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) Fail("cannot be written (an existing file was left as it was)");
      done += static_cast<size_t>(written);
    }
  }

  void PutInPlace() {
    const bool named = !name_.empty();
    if ((named && !OpenToOthers()) || fsync(file_) != 0)
      Fail("cannot be completed (an existing file was left as it was)");
    placed_ = (named || TakeName()) && close(std::exchange(file_, -1)) == 0 &&
              rename(name_.c_str(), path_.c_str()) == 0;
    if (!placed_) Fail("cannot be put in place (an existing file was left as it was)");
  }

 private:
  /// As open() makes a file; mkstemp() makes its for the user alone.
  bool OpenToOthers() const {
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(file_, 0666 & ~mask) == 0;
  }

  /// Only a file with a name can replace another one.
  bool TakeName() {
    const std::string name = TemporaryNameOf(path_);
    unlink(name.c_str());  // Of a process of the same number that was killed here.
    if (linkat(AT_FDCWD, OpenFile(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return false;
    name_ = name;
    return true;
  }

  [[noreturn]] void Fail(const char* what) const {
    Throw(StatusCode::kIo, "{}: {}: {}", path_, what, std::strerror(errno));
  }

  const std::string& path_;
  std::string name_;
  int file_ = -1;
  bool placed_ = false;
};

struct Kind {
  mode_t bits;
  const char* text;
};

constexpr Kind kNoFiles[] = {{S_IFDIR, "a folder"}, {S_IFIFO, "a pipe"}, {S_IFSOCK, "a socket"}};

}  // namespace

std::string TemporaryNameOf(const std::string& path) { return fmt::format("{}.{}.new", path, getpid()); }

const char* KindOfNoFile(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode)) return nullptr;
  for (const Kind& kind : kNoFiles) {
    if ((file.st_mode & S_IFMT) == kind.bits) return kind.text;
  }
  return "a device";
}

void CheckReplaceable(const std::string& path) {
  if (const char* kind = KindOfNoFile(path))
    Throw(StatusCode::kIo, "{}: cannot be written: it is {}; the path of a file was expected", path, kind);
}

void WriteFileAtomically(const std::string& path, Span<const Span<const uint8_t>> parts,
                         const CheckWritten& check) {
  CheckReplaceable(path);
  TemporaryFile file(path);
  for (const Span<const uint8_t>& part : parts) file.Write(part);
  if (check) check(file.name());
  file.PutInPlace();
}

void WriteFileAtomically(const std::string& path, const std::vector<uint8_t>& bytes) {
  const Span<const uint8_t> part{bytes.data(), bytes.size()};
  WriteFileAtomically(path, {&part, 1});
}

}  // namespace skiff
