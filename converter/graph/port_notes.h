/// What a source file says of its inputs and outputs beside their types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skiff {

/// An input [1, height, width, channels] is a picture. The numbers of the net are (sample - mean) / deviation
/// of samples of 0..255, with one of each for every channel; both are empty where the source does not say.
struct PictureNotes {
  std::vector<float> mean;
  std::vector<float> deviation;
};

struct PortNotes {
  std::optional<PictureNotes> picture;    ///< Inputs.
  std::vector<std::string> labels;        ///< Outputs: of the elements along the last axis.
  std::vector<std::string> value_labels;  ///< Outputs: of what the numbers in it stand for.
};

/// One label for each line; without the empty ones at the end.
std::vector<std::string> LabelsFromText(std::string_view text);

}  // namespace skiff
