/// What the metadata of a TensorFlow Lite file says of a subgraph's ports: pictures with their normalisation,
/// labels, thresholds of scores, and how text becomes numbers. Metadata is no part of the net: what is wrong
/// with it is a note, never an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/port_notes.h"
#include "import/tflite/file.h"

namespace skiff {

struct TfliteMetadata {
  std::vector<PortNotes> inputs, outputs;  ///< In the order of the subgraph's.
  StatedNotes stated;                      ///< Of the whole net.
  std::vector<std::string> left_out;       ///< A sentence for each thing that was, and why.
};

/// What the metadata of a file may still become, that of all signatures together.
struct TfliteMetadataLeft {
  uint64_t bytes = uint64_t{16} << 20;  ///< Of files of labels, unpacked, and of texts.
  int64_t labels = 1'000'000;
  int files = 1000;  ///< Each is looked for in the whole archive.
  int sentences = 10'000;
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
};

}  // namespace skiff
