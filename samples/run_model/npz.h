/// The arrays of a .npz file as numpy.savez writes it: a ZIP archive of .npy files that are stored as they
/// are.
#pragma once

#include <cstdint>
#include <cstdio>

struct NpzArray {
  char name[256] = "";  ///< Without .npy.
  long begin = 0;       ///< Where the .npy file lies in the archive, and where it ends.
  long end = 0;
};

/// Walks the archive's directory. The file stays the caller's.
class NpzReader {
 public:
  /// False, after a message that names `path`, for what is no archive.
  bool Open(std::FILE* file, const char* path);
  /// The next array; false behind the last one, and, after a message, where it cannot be read: see failed().
  bool Next(NpzArray* array);
  bool failed() const { return failed_; }

 private:
  bool Fail(const char* what);
  /// `bytes` from that offset on.
  bool Read(long offset, unsigned char* to, size_t bytes);

  std::FILE* file_ = nullptr;
  const char* path_ = "";
  long size_ = 0;
  long at_ = 0;           ///< Of the directory's next entry.
  uint32_t entries_ = 0;  ///< Those that are left.
  bool failed_ = false;
};
