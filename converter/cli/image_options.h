/// How pictures become inputs, as options of `skiff convert`, and as text.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "convert.h"

namespace skiff::cli {

struct ImageArguments {
  std::string size;
  std::string mean;
  std::string deviation;
  std::string scale;
  std::string channels;
  std::string fit;
  std::string filter;
  uint32_t resize = 0;
  uint32_t fill = 0;

  bool any() const {
    return resize != 0 || fill != 0 || !(size + mean + deviation + scale + channels + fit + filter).empty();
  }
};

/// --image-size, --mean, --std, --scale, --channels, --fit, --resize, --filter, --fill.
void AddImageOptions(CLI::App& command, ImageArguments& arguments);

/// None without any of them. Throws CLI::ValidationError where the text of an option is malformed, or where
/// mean, std and scale cannot belong together.
std::optional<ImageSettings> ToImageSettings(const ImageArguments& arguments);

/// How --mean and --std were understood; empty without --std.
std::string NormalisationText(const ImageArguments& arguments);

/// ", pictures as 224x224 rgb ...", or nothing.
std::string ImageText(const ImageSpec& image);

/// As the options have them.
const char* FitName(ImageFit fit);
const char* FilterName(ImageFilter filter);

}  // namespace skiff::cli
