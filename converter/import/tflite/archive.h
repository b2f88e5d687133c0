/// Archives (ZIP): what tools append to a TensorFlow Lite file for its metadata, and NumPy's .npz.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skiff/span.h"

namespace skiff {

/// The archive that some bytes end with, whose list of files is gone through once: it may be long, and files
/// that are looked for many. All errors are kInvalidModel.
class Archive {
 public:
  /// The bytes outlive it. What is wrong with them is told where something is asked for.
  explicit Archive(Span<const uint8_t> bytes);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// The names of its files, in its order. Throws Error where the bytes end with no archive, and where its
  /// list is damaged.
  const std::vector<std::string>& Names() const;

  /// The content of the first file of that name, whose bytes are taken of `left`, those of a damaged one,
  /// too. Throws Error where there is no such archive or file, where it is damaged, and where it would unpack
  /// to more than are left, with `remedy` behind that.
  std::string Read(const std::string& name, uint64_t& left, const char* remedy = "") const;

 private:
  struct Opened;
  std::shared_ptr<Opened> opened_;  ///< Shared, so that a build without archives need not define it.
};

}  // namespace skiff
