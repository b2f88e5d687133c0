/// What a source file says of its inputs and outputs beside their types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skiff {

/// An input [1, height, width, channels] is a picture. The numbers of the net are (sample - mean) / deviation
/// of samples of 0..255, with one of each for every channel; both are empty where the source does not say.
struct PictureNotes {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// What a source says beside that, as keys and values of a file's metadata.
using StatedNotes = std::vector<std::pair<std::string, std::string>>;

/// What the labels of one source may take, those of all its ports together: so many bytes, and so many
/// labels.
inline constexpr uint64_t kMostLabelBytes = uint64_t{16} << 20;
inline constexpr int64_t kMostLabels = 1'000'000;

struct PortNotes {
  std::optional<PictureNotes> picture;    ///< Inputs.
  std::vector<std::string> labels;        ///< Outputs: of the elements along the last axis.
  std::vector<std::string> value_labels;  ///< Outputs: of what the numbers in it stand for.
  StatedNotes stated;                     ///< The keys without the port's name.
};

/// What some editors put before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// One label for each line; without the empty ones at the end, and without a byte order mark.
std::vector<std::string> LabelsFromText(std::string_view text);

}  // namespace skiff
