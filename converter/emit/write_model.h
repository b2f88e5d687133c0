/// Writes the .skiff file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/plan_draft.h"
#include "skiff/model.h"

namespace skiff {

/// How pictures become an input; see ImageSpec.
struct ImageSettings {
  uint32_t width = 0;  ///< 0, and the height as well: the input's own.
  uint32_t height = 0;
  std::vector<float> mean;
  std::vector<float> scale;
  bool bgr = false;
  bool nhwc = false;
  ImageFit fit = ImageFit::kStretch;
  ImageFilter filter = ImageFilter::kLinear;
  uint8_t fill = 0;
  uint32_t resize = 0;
};

/// What is said of a signature's ports beside their types.
struct PortSettings {
  std::map<std::string, ImageSettings> images;             ///< By input name.
  std::map<std::string, std::vector<std::string>> labels;  ///< By output name.
};

struct WriteOptions {
  bool strip = false;  ///< Leave out the names of nodes and intermediate tensors.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// A named entry point. The first plan has its types; the others are for parts of its contract.
struct SignatureDraft {
  std::string name = "main";
  std::vector<const PlanDraft*> plans = {};
  /// The graph's last inputs (outputs) are these variables' values before (after) a run, by index.
  std::vector<int32_t> read_variables = {}, assigned_variables = {};
  PortSettings ports = {};
};

struct FileDraft {
  std::vector<SignatureDraft> signatures;
  std::vector<std::pair<std::string, TensorData>> variables;  ///< With their initial values.
};

/// The bytes of the file. Blobs of equal content are stored once, whichever signature uses them.
std::vector<uint8_t> SerializeModel(const FileDraft& draft, const WriteOptions& options = {});

/// Writes to a temporary file beside `path` and renames it, so that an existing file is replaced whole or not
/// at all. Throws Error (kIo) naming the path and the system's reason.
void WriteFileAtomically(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace skiff
