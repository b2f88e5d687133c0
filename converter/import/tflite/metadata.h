/// What the metadata of a TensorFlow Lite file says of a subgraph's ports: pictures with their normalisation,
/// labels, thresholds of scores, and how text becomes numbers. Metadata is no part of the net: what is wrong
/// with it is a note, never an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/port_notes.h"
#include "import/tflite/archive.h"
#include "import/tflite/file.h"

namespace skiff {

struct TfliteMetadata {
  std::vector<PortNotes> inputs, outputs;  ///< In the order of the subgraph's.
  StatedNotes stated;                      ///< Of the whole net.
  std::vector<std::string> left_out;       ///< A sentence for each thing that was, and why.
};

/// What the metadata of a file may still become, that of all signatures together.
struct TfliteMetadataLeft {
  uint64_t bytes = kMostLabelBytes;  ///< Of files of labels, unpacked, and of texts.
  int64_t labels = kMostLabels;
  int files = 1000;  ///< Uses of them.
  int sentences = 10'000;
};

/// The archive behind a file, once it was asked for, and what was read of it. All signatures may refer to the
/// same files, which are unpacked once.
struct TfliteArchive {
  struct File {
    std::string content;
    std::string defect;  ///< Instead of the content.
  };
  std::optional<Archive> opened;
  std::map<std::string, File> files;
};

class TfliteMetadataReader {
 public:
  /// The file outlives it.
  explicit TfliteMetadataReader(const TfliteFile& file) : file_(file) {}

  TfliteMetadata Read(uint32_t subgraph);

 private:
  void Open();

  const TfliteFile& file_;
  bool opened_ = false;
  std::vector<uint8_t> bytes_;  ///< Verified; empty where there are none.
  std::string defect_;
  TfliteMetadataLeft left_;
  TfliteArchive archive_;
};

}  // namespace skiff
