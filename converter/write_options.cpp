#include "write_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error_capture.h"
#include "graph/counted.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "skiff/image.h"
#include "skiff/labels.h"

namespace skiff {
namespace {

/// Open extents are -1.
Shape ShapeOf(const Value& value) {
  Shape shape;
  for (const Dim& dim : value.dims) shape.Append(dim.constant() ? dim.value : -1);
  return shape;
}

/// What the file will say of an input; what is open is -1.
PortInfo PortOf(const GraphPort& port, const Value& value, const ImageSettings& image) {
  PortInfo info;
  info.name = port.name.c_str();
  info.dtype = value.dtype;
  info.shape = ShapeOf(value);
  info.quantization = value.quantization.get();
  ImageSpec& spec = info.image;
  spec.width = image.width;
  spec.height = image.height;
  spec.channels = static_cast<uint32_t>(image.mean.size());
  std::copy(image.mean.begin(), image.mean.end(), spec.mean);
  std::copy(image.scale.begin(), image.scale.end(), spec.scale);
  spec.bgr = image.bgr;
  spec.nhwc = image.nhwc;
  spec.fit = image.fit;
  spec.filter = image.filter;
  spec.fill = image.fill;
  spec.resize = image.resize;
  return info;
}

bool IsSide(int64_t extent) { return extent > 0 && extent <= 65536; }

/// An input whose size the settings have, or any where they have none, becomes a picture, channels first or
/// last; of others, why not.
void AddStatedImages(const Graph& graph, const ImageSettings& image, PortSettings& ports,
                     std::vector<std::string>& reasons) {
  for (const GraphPort& port : graph.caller_inputs()) {
    const Value& value = graph.value(port.value);
    const auto refuse = [&](const std::string& reason) {
      reasons.push_back(fmt::format("'{}' {}", port.name, reason));
    };
    if (value.dims.size() != 4) {
      refuse(fmt::format("has {}, and pictures have 4", Counted(value.dims.size(), "dimension")));
      continue;
    }
    ImageSettings settings = image;
    const auto is = [&](size_t axis, uint32_t& side) {
      const Dim& dim = value.dims[axis];
      if (side == 0 && dim.constant() && IsSide(dim.value)) side = static_cast<uint32_t>(dim.value);
      return side != 0 && (!dim.constant() || dim.value == side);
    };
    const auto channels = static_cast<int64_t>(image.mean.size());
    const auto has = [&](size_t channel, size_t height, size_t width) {
      settings.height = image.height;
      settings.width = image.width;
      return value.dims[channel].constant() && value.dims[channel].value == channels &&
             is(height, settings.height) && is(width, settings.width);
    };
    settings.nhwc = !has(1, 2, 3);
    const bool fits = !settings.nhwc || has(3, 1, 2);
    const PortInfo info = PortOf(port, value, settings);
    if (!fits) {
      refuse(
          fmt::format("is {}, of which neither axes 1, 2, 3 nor axes 3, 1, 2 are {} channels of that "
                      "height and width{}",
                      DimsText(graph, value.dims), channels,
                      image.width == 0 ? "; where these are open, say --image-size" : ""));
      continue;
    }
    const ErrorCapture capture;
    if (ImageInput::Create(info).ok()) {
      ports.images[port.name] = settings;
    } else {
      reasons.push_back(capture.message());
    }
  }
}

/// Axes before that of the classes count pictures, and may be open.
bool LabelsFit(const std::vector<std::string>& labels, const Value& value) {
  return !labels.empty() && value.has_shape &&
         ClassesOf(ShapeOf(value)) == static_cast<int64_t>(labels.size());
}

/// `others`: gets "'y' f32 [batch, 10]" of the outputs that these labels do not fit.
void AddStatedLabels(const Graph& graph, const std::vector<std::string>& labels, PortSettings& ports,
                     std::vector<std::string>& others) {
  for (const GraphPort& port : graph.outputs()) {
    const Value& value = graph.value(port.value);
    if (LabelsFit(labels, value)) {
      ports.labels[port.name] = labels;
    } else {
      others.push_back(fmt::format("'{}' {} {}", port.name, DTypeName(value.dtype),
                                   value.has_shape ? DimsText(graph, value.dims) : "of an unknown shape"));
    }
  }
}

void AddStated(const std::vector<const Graph*>& graphs, const ConvertOptions& options,
               std::vector<PortSettings>& all) {
  bool images = false;
  bool labels = false;
  std::vector<std::string> reasons;
  std::vector<std::string> unlabelled;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (options.image) AddStatedImages(*graphs[i], *options.image, all[i], reasons);
    if (!options.labels.empty()) AddStatedLabels(*graphs[i], options.labels, all[i], unlabelled);
    images |= !all[i].images.empty();
    labels |= !all[i].labels.empty();
  }
  if (options.image && !images) {
    const ImageSettings& image = *options.image;
    const std::string size =
        image.width == 0 ? "a picture" : fmt::format("--image-size {}x{}", image.width, image.height);
    Throw(StatusCode::kInvalidArgument, "{} with {} fits no input of the model: {}", size,
          Counted(image.mean.size(), "channel"), fmt::join(reasons, "; "));
  }
  if (!options.labels.empty() && !labels) {
    Throw(StatusCode::kInvalidArgument, "--labels: the file has {}, and no output as many classes: {}",
          Counted(options.labels.size(), "name"), fmt::join(unlabelled, ", "));
  }
}

/// Of 0..255, as the source normalises them. Where it does not say how, and the input is of bytes that stand
/// for real numbers, the bytes are the samples.
std::optional<ImageSettings> ImageOf(const PictureNotes& picture, const Value& value) {
  if (value.dims.size() != 4 || !value.has_static_shape()) return std::nullopt;
  if (value.dtype != DType::kF32 && value.quantization == nullptr) return std::nullopt;
  const Shape shape = value.shape();
  if (shape[0] != 1 || !IsSide(shape[1]) || !IsSide(shape[2])) return std::nullopt;
  if (shape[3] != 1 && shape[3] != 3 && shape[3] != 4) return std::nullopt;
  ImageSettings image;
  image.height = static_cast<uint32_t>(shape[1]);
  image.width = static_cast<uint32_t>(shape[2]);
  image.nhwc = true;
  image.mean = picture.mean;
  for (const float deviation : picture.deviation) image.scale.push_back(1 / deviation);
  if (picture.mean.empty()) {
    const bool samples = value.dtype == DType::kU8 && value.quantization->per_tensor();
    if (!samples) return std::nullopt;
    image.mean.assign(static_cast<size_t>(shape[3]), static_cast<float>(value.quantization->zero_point));
    image.scale.assign(static_cast<size_t>(shape[3]), value.quantization->scale);
  }
  if (static_cast<int64_t>(image.mean.size()) != shape[3]) return std::nullopt;
  return image;
}

}  // namespace

std::vector<PortSettings> PortSettingsFor(const std::vector<const Graph*>& graphs,
                                          const ConvertOptions& options) {
  std::vector<PortSettings> all(graphs.size());
  AddStated(graphs, options, all);
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = *graphs[i];
    for (const GraphPort& port : graph.inputs()) {
      if (!port.notes.picture) continue;
      const std::optional<ImageSettings> image = ImageOf(*port.notes.picture, graph.value(port.value));
      if (image) all[i].images.emplace(port.name, *image);
    }
    for (const GraphPort& port : graph.outputs()) {
      if (LabelsFit(port.notes.labels, graph.value(port.value)))
        all[i].labels.emplace(port.name, port.notes.labels);
    }
  }
  return all;
}

std::vector<std::string> LabelsLeftOut(const Graph& graph) {
  std::vector<std::string> sentences;
  for (const GraphPort& port : graph.outputs()) {
    const std::vector<std::string>& labels = port.notes.labels;
    const Value& value = graph.value(port.value);
    if (labels.empty() || LabelsFit(labels, value)) continue;
    const std::string last =
        value.dims.empty() ? "it has no axis"
        : value.dims.back().constant()
            ? fmt::format("its last axis has {}",
                          Counted(static_cast<uint64_t>(value.dims.back().value), "element"))
            : "its last axis is open";
    sentences.push_back(fmt::format("left out {} of output '{}': {} (--labels FILE gives others)",
                                    Counted(labels.size(), "label"), port.name, last));
  }
  return sentences;
}

std::vector<std::pair<std::string, std::string>> StatedMetadata(const std::vector<const Graph*>& graphs) {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::set<std::string> keys;
  // Text of a source may be anything; in a value, a zero byte would end it.
  const auto add = [&](const std::string& key, std::string value) {
    std::replace(value.begin(), value.end(), '\0', ' ');
    if (keys.insert(key).second) metadata.emplace_back(key, std::move(value));
  };
  for (const Graph* graph : graphs) {
    for (const auto& [key, value] : graph->stated) add(key, value);
    for (const auto* ports : {&graph->inputs(), &graph->outputs()}) {
      for (const GraphPort& port : *ports) {
        for (const auto& [key, value] : port.notes.stated) add(key + ":" + port.name, value);
        if (!port.notes.value_labels.empty())
          add("value_labels:" + port.name, fmt::format("{}", fmt::join(port.notes.value_labels, "\n")));
      }
    }
  }
  return metadata;
}

}  // namespace skiff
