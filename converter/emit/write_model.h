/// Writes the .skiff file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/plan_draft.h"

namespace skiff {

/// How pictures become an input; see ImageSpec.
struct ImageSettings {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<float> mean;
  std::vector<float> scale;
  bool bgr = false;
  bool nhwc = false;
};

struct WriteOptions {
  bool strip = false;                           ///< Leave out the names of nodes and intermediate tensors.
  std::map<std::string, ImageSettings> images;  ///< By input name.
  std::map<std::string, std::vector<std::string>> labels;  ///< By output name.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// The bytes of a file with one signature and these plans, the first of which has the signature's types: the
/// others are for parts of its contract. Blobs of equal content are stored once.
std::vector<uint8_t> SerializeModel(const std::vector<const PlanDraft*>& drafts,
                                    const WriteOptions& options = {});

/// Writes to a temporary file beside `path` and renames it, so that an existing file is replaced whole or not
/// at all. Throws Error (kIo) naming the path and the system's reason.
void WriteFileAtomically(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace skiff
