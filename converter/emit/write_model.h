/// Writes the .skiff file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/blob_table.h"
#include "emit/plan_draft.h"
#include "emit/write_file.h"
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

/// A file whose weights still lie where they were made, which must outlive it.
class ModelFile {
 public:
  /// `head`: all in front of the weights.
  ModelFile(std::vector<uint8_t> head, BlobTable blobs, uint64_t size)
      : head_(std::move(head)), blobs_(std::move(blobs)), size_(size) {}

  uint64_t size() const { return size_; }
  /// The whole file, one behind the other.
  std::vector<Span<const uint8_t>> parts() const;
  std::vector<uint8_t> ToBytes() const;

 private:
  std::vector<uint8_t> head_;
  BlobTable blobs_;
  uint64_t size_;
};

/// Blobs of equal content are stored once, whichever signature uses them. Points into the draft. Throws Error
/// (kUnsupported) where the file would be more than a loader takes, and for names with a zero byte.
ModelFile SerializeModel(const FileDraft& draft, const WriteOptions& options = {});

}  // namespace skiff
