#include "emit/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "graph/error.h"

namespace skiff {
namespace {

/// Beside the file that it is for, until it takes its place; gone where it never does.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path)
      : path_(path), temporary_(path + ".XXXXXX"), file_(mkstemp(temporary_.data())) {
    if (file_ < 0) Fail("cannot make a temporary file beside it");
  }
  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (!placed_) unlink(temporary_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& name() const { return temporary_; }

  void Write(Span<const uint8_t> bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(file_, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) Fail("cannot be written (an existing file was left as it was)");
      done += static_cast<size_t>(written);
    }
  }

  void PutInPlace() {
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(file_, 0666 & ~mask) != 0 || fsync(file_) != 0)
      Fail("cannot be completed (an existing file was left as it was)");
    placed_ = close(std::exchange(file_, -1)) == 0 && rename(temporary_.c_str(), path_.c_str()) == 0;
    if (!placed_) Fail("cannot be put in place (an existing file was left as it was)");
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    Throw(StatusCode::kIo, "{}: {}: {}", path_, what, std::strerror(errno));
  }

  const std::string& path_;
  std::string temporary_;
  int file_;
  bool placed_ = false;
};

}  // namespace

void WriteFileAtomically(const std::string& path, Span<const Span<const uint8_t>> parts,
                         const CheckWritten& check) {
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
