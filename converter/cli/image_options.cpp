#include "cli/image_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "cli/number_checks.h"
#include "cli/option_text.h"

namespace skiff::cli {
namespace {

constexpr const char* kFits[] = {"stretch", "crop", "letterbox"};
constexpr const char* kFilters[] = {"linear", "bilinear", "bicubic", "nearest"};
constexpr uint32_t kMostSide = 65536;

/// One value for all channels, or one for each.
std::vector<float> ParsePerChannel(const std::string& option, const std::string& text, size_t channels,
                                   float fallback) {
  if (text.empty()) return std::vector<float>(channels, fallback);
  std::vector<float> values;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    float value = 0;
    if (!ParseNumber(part, value) || !std::isfinite(value))
      Malformed(option, text, "numbers separated by commas, for example 127.5,127.5,127.5");
    values.push_back(value);
  }
  if (values.size() == 1) return std::vector<float>(channels, values[0]);
  if (values.size() != channels || text.back() == ',')
    Malformed(option, text, fmt::format("1 or {} numbers, got {}", channels, values.size()));
  return values;
}

template <class Predicate>
bool All(const std::vector<float>& values, const Predicate& predicate) {
  return std::all_of(values.begin(), values.end(), predicate);
}
template <class Predicate>
bool Any(const std::vector<float>& values, const Predicate& predicate) {
  return std::any_of(values.begin(), values.end(), predicate);
}

/// Both of 0..1, as torchvision states them, where none is above 1; both of 0..255 where no std is 1 or less.
bool OfZeroToOne(const ImageArguments& arguments, const std::vector<float>& mean,
                 const std::vector<float>& deviation) {
  // Those of photographs are between 0.2 and 0.3, and half of the range is the most that there is.
  constexpr float kLeast = 0.02f;
  const bool small = All(deviation, [](float value) { return value <= 1; });
  if (Any(deviation, [](float value) { return value <= 0; }))
    Malformed("--std", arguments.deviation, "positive numbers");
  if (!small && Any(deviation, [](float value) { return value <= 1; }))
    Malformed("--std", arguments.deviation,
              "numbers that are all of samples of 0..1 (none above 1) or all of 0..255 (all above 1)");
  if (small && Any(deviation, [](float value) { return value < kLeast; }))
    Malformed(
        "--std", arguments.deviation,
        fmt::format("standard deviations; these look like factors, 1 / std: say --scale {} with a --mean "
                    "of 0..255",
                    arguments.deviation));
  const bool small_mean = All(mean, [](float value) { return std::abs(value) <= 1; });
  if (small && !small_mean)
    Malformed("--std", arguments.deviation,
              fmt::format("numbers of 0..255 as --mean {} has, {:.4g} times these; or a mean of 0..1",
                          arguments.mean, 255.0));
  const bool no_mean = All(mean, [](float value) { return value == 0; });
  if (!small && small_mean && !no_mean)
    Malformed("--mean", arguments.mean,
              fmt::format("numbers of 0..255 as --std {} has, 255 times these; or a std of 0..1",
                          arguments.deviation));
  return small;
}

/// Factors, and a mean of 0..255; what looks like a std, or like a mean of 0..1, is a mistake.
void CheckScale(const ImageArguments& arguments, const std::vector<float>& mean,
                const std::vector<float>& scale) {
  if (Any(mean, [](float value) { return value != 0 && std::abs(value) < 1; }))
    Malformed("--mean", arguments.mean,
              fmt::format("numbers of 0..255; these look like those of 0..1: {}",
                          arguments.scale.empty() ? "add --std, as torchvision states both"
                                                  : "give --std in place of --scale"));
  const bool above_1 = Any(mean, [](float value) { return std::abs(value) > 1; });
  if (Any(scale, [&](float value) {
        const float size = std::abs(value);
        return size > 1 || (above_1 && size > 0.1f && size < 1);
      }))
    Malformed(
        "--scale", arguments.scale,
        fmt::format("factors that samples less their mean are multiplied by, as 0.0171; these look like "
                    "standard deviations: say --std {}",
                    arguments.scale));
}

void SetNormalisation(const ImageArguments& arguments, size_t channels, ImageSettings& image) {
  image.mean = ParsePerChannel("--mean", arguments.mean, channels, 0);
  image.scale = ParsePerChannel("--scale", arguments.scale, channels, 1);
  if (arguments.deviation.empty()) {
    CheckScale(arguments, image.mean, image.scale);
    return;
  }
  const std::vector<float> deviation = ParsePerChannel("--std", arguments.deviation, channels, 1);
  const double range = OfZeroToOne(arguments, image.mean, deviation) ? 255 : 1;
  for (size_t c = 0; c < channels; ++c) {
    image.mean[c] = static_cast<float>(range * static_cast<double>(image.mean[c]));
    image.scale[c] = static_cast<float>(1 / (range * static_cast<double>(deviation[c])));
  }
}

template <size_t kCount>
uint8_t IndexOf(const char* const (&names)[kCount], const std::string& name, uint8_t fallback) {
  for (size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<uint8_t>(i);
  }
  return fallback;
}

/// 0 x 0 where it is left to the input.
void SetSize(std::string_view text, ImageSettings& image) {
  if (text.empty()) return;
  const size_t x = text.find('x');
  const auto usable = [](uint32_t extent) { return extent > 0 && extent <= kMostSide; };
  if (x == std::string::npos || !ParseNumber(text.substr(0, x), image.width) ||
      !ParseNumber(text.substr(x + 1), image.height) || !usable(image.width) || !usable(image.height))
    Malformed("--image-size", std::string(text), "WIDTHxHEIGHT in pixels, for example 224x224");
}

}  // namespace

const char* FitName(ImageFit fit) { return kFits[static_cast<size_t>(fit)]; }
const char* FilterName(ImageFilter filter) { return kFilters[static_cast<size_t>(filter)]; }

void AddImageOptions(CLI::App& command, ImageArguments& arguments) {
  const auto add = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type);
  };
  add("--image-size", arguments.size, "WxH",
      "Pictures become inputs of this many pixels: 4-D ones of that size (default, where one of the next "
      "options is given: the input's own)");
  add("--mean", arguments.mean, "A,B,C",
      "Subtracted from samples, per channel of the input (default 0): of 0..1 where --std is, else of "
      "0..255");
  CLI::Option* deviation =
      add("--std", arguments.deviation, "A,B,C",
          "Divides samples less their mean. With none above 1 both are of samples of 0..1, "
          "as torchvision states them; else of 0..255");
  add("--scale", arguments.scale, "A,B,C",
      "Multiplies samples of 0..255 less their mean, in place of --std (default 1)")
      ->excludes(deviation);
  add("--channels", arguments.channels, "ORDER", "Order of the input's channels: rgb (default), bgr or gray")
      ->check(CLI::IsMember({"rgb", "bgr", "gray", "grey"}));
  add("--fit", arguments.fit, "HOW",
      "What becomes of other proportions: stretch (default), crop (the centre), or letterbox")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kFits), std::end(kFits))));
  add("--resize", arguments.resize, "N",
      "With --fit crop: pixels of the shorter side before the centre is taken, as torchvision's Resize(N) "
      "(default: as few as cover the input)")
      ->check(WholeBetween(1, kMostSide));
  add("--filter", arguments.filter, "NAME",
      "bilinear (default), bicubic or nearest, as Pillow has them; linear: between four neighbours, without "
      "antialiasing")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kFilters), std::end(kFilters))));
  add("--fill", arguments.fill, "N",
      "With --fit letterbox: the sample, 0..255, beside the picture (default 0)")
      ->check(WholeBetween(0, 255));
}

std::optional<ImageSettings> ToImageSettings(const ImageArguments& arguments) {
  if (!arguments.any()) return std::nullopt;
  ImageSettings image;
  SetSize(arguments.size, image);
  const bool grey = arguments.channels == "gray" || arguments.channels == "grey";
  image.bgr = arguments.channels == "bgr";
  image.fit = static_cast<ImageFit>(IndexOf(kFits, arguments.fit, 0));
  image.filter = static_cast<ImageFilter>(
      IndexOf(kFilters, arguments.filter, static_cast<uint8_t>(ImageFilter::kBilinear)));
  image.resize = arguments.resize;
  image.fill = static_cast<uint8_t>(arguments.fill);
  if (image.resize != 0 && image.fit != ImageFit::kCrop)
    Malformed("--resize", std::to_string(image.resize), "--fit crop with it");
  if (image.resize != 0 && image.resize < std::max(image.width, image.height))
    Malformed("--resize", std::to_string(image.resize),
              fmt::format("at least {}: the crop would be larger than the picture",
                          std::max(image.width, image.height)));
  if (image.fill != 0 && image.fit != ImageFit::kLetterbox)
    Malformed("--fill", std::to_string(image.fill), "--fit letterbox with it");
  SetNormalisation(arguments, grey ? 1 : 3, image);
  return image;
}

std::string NormalisationText(const ImageArguments& arguments) {
  if (arguments.deviation.empty()) return "";
  const size_t channels = arguments.channels == "gray" || arguments.channels == "grey" ? 1 : 3;
  const bool of_1 = OfZeroToOne(arguments, ParsePerChannel("--mean", arguments.mean, channels, 0),
                                ParsePerChannel("--std", arguments.deviation, channels, 1));
  return of_1 ? "--mean and --std are of samples of 0..1, as torchvision states them"
              : "--mean and --std are of samples of 0..255";
}

std::string ImageText(const ImageSpec& image) {
  if (image.width == 0) return "";
  const std::vector<float> mean(image.mean, image.mean + image.channels);
  const std::vector<float> scale(image.scale, image.scale + image.channels);
  std::string fit = FitName(image.fit);
  if (image.resize != 0) fit += fmt::format(" of {}", image.resize);
  if (image.fit == ImageFit::kLetterbox) fit += fmt::format(" on {}", image.fill);
  return fmt::format(", pictures as {}x{} {} {}, {}, {}, mean [{}], scale [{}]", image.width, image.height,
                     image.channels == 1 ? "gray"
                     : image.bgr         ? "bgr"
                                         : "rgb",
                     image.nhwc ? "nhwc" : "nchw", fit, FilterName(image.filter), fmt::join(mean, ", "),
                     fmt::join(scale, ", "));
}

}  // namespace skiff::cli
