/// What the metadata of a TensorFlow Lite file says of a subgraph's ports: pictures with their normalisation,
/// labels, thresholds of scores, and how text becomes numbers. Metadata is no part of the net: what is wrong
/// with it is a note, never an error.
#pragma once

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

/// What was read of the files in the archive, by all signatures of a file together.
struct TfliteMetadataRead {
  uint64_t unpacked = 0;
  int64_t lines = 0;
};

TfliteMetadata ReadTfliteMetadata(const TfliteFile& file, uint32_t subgraph, TfliteMetadataRead& read);

}  // namespace skiff
