/// Packed weights in a file of the application's cache folder, one per model: mapped at the next start
/// instead of packed again.
#pragma once

#include <mutex>

#include "core/cache_path.h"
#include "core/keyed_hash.h"
#include "core/platform.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {

class PackedWeightsFile {
 public:
  explicit PackedWeightsFile(const ModelStateOptions& options);
  /// What was adopted from it must be gone.
  ~PackedWeightsFile();
  PackedWeightsFile(const PackedWeightsFile&) = delete;
  PackedWeightsFile& operator=(const PackedWeightsFile&) = delete;

  /// Makes `weights` adopt what the file holds; nothing where there is no folder or no file, nor, after a
  /// warning, where the file is damaged or was made by another build of XNNPACK or for another CPU.
  void Load(PackedWeights& weights);
  /// Writes all that `weights` holds, where blobs were packed since. Thread-safe. kIo, kOutOfMemory.
  Status Save(PackedWeights& weights);

  const char* path() const { return path_.text; }

 private:
  struct Header;
  Header ExpectedHeader() const;
  bool HasSameIdentity(const Header& header) const;
  bool IsOfThisModel(const Header& header);
  const char* Adopt(PackedWeights& weights);
  Status HashContent();
  Status Write(PackedWeights& weights);

  const bool enabled_;
  const uint64_t weights_id_;
  const Span<const uint8_t> content_;
  const platform::FileIdentity identity_;
  const CachePath path_;
  platform::MappedFile mapping_;
  std::mutex mutex_;
  uint64_t saved_ = 0;  ///< Blobs packed here that the file holds.
  bool moved_ = false;  ///< The model's file is another than at the last start, with the same content.
  bool hashed_ = false;
  HashKey key_;
  uint64_t content_hash_ = 0;
};

}  // namespace skiff::xnnpack
