#include "write_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/error.h"

namespace skiff {
namespace {

void AddStatedImages(const Graph& graph, const ImageSettings& image, PortSettings& ports) {
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    const bool reals = value.dtype == DType::kF32 || value.quantization != nullptr;
    if (value.dims.size() != 4 || !reals || !value.has_static_shape()) continue;
    const Shape shape = value.shape();
    ImageSettings settings = image;
    const auto channels = static_cast<int64_t>(settings.mean.size());
    const bool nchw =
        shape[0] == 1 && shape[1] == channels && shape[2] == settings.height && shape[3] == settings.width;
    settings.nhwc = !nchw && shape[0] == 1 && shape[3] == channels && shape[1] == settings.height &&
                    shape[2] == settings.width;
    if (nchw || settings.nhwc) ports.images[port.name] = settings;
  }
}

void AddStatedLabels(const Graph& graph, const std::vector<std::string>& labels, PortSettings& ports) {
  for (const GraphPort& port : graph.outputs()) {
    const Value& value = graph.value(port.value);
    const bool fits = !value.dims.empty() && value.has_static_shape() &&
                      value.shape().elements() == static_cast<int64_t>(labels.size());
    if (fits) ports.labels[port.name] = labels;
  }
}

void AddStated(const std::vector<const Graph*>& graphs, const ConvertOptions& options,
               std::vector<PortSettings>& all) {
  bool images = false;
  bool labels = false;
  std::set<std::string> names;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (options.image) AddStatedImages(*graphs[i], *options.image, all[i]);
    if (!options.labels.empty()) AddStatedLabels(*graphs[i], options.labels, all[i]);
    images |= !all[i].images.empty();
    labels |= !all[i].labels.empty();
    for (const GraphPort& port : graphs[i]->caller_inputs()) names.insert(port.name);
  }
  if (options.image && !images) {
    Throw(StatusCode::kInvalidArgument,
          "--image-size {}x{} with {} channels fits no input of the model; its inputs are {}",
          options.image->width, options.image->height, options.image->mean.size(),
          graphs.size() == 1 ? InputNames(*graphs[0]) : fmt::format("'{}'", fmt::join(names, "', '")));
  }
  if (!options.labels.empty() && !labels) {
    Throw(StatusCode::kInvalidArgument, "--labels: no output of the model has {} elements",
          options.labels.size());
  }
}

/// Of 0..255, as the source normalises them. Where it does not say how, and the input is of bytes that stand
/// for real numbers, the bytes are the samples.
std::optional<ImageSettings> ImageOf(const PictureNotes& picture, const Value& value) {
  if (value.dims.size() != 4 || !value.has_static_shape()) return std::nullopt;
  if (value.dtype != DType::kF32 && value.quantization == nullptr) return std::nullopt;
  const Shape shape = value.shape();
  const auto usable = [](int64_t extent) { return extent > 0 && extent <= 65536; };
  if (shape[0] != 1 || !usable(shape[1]) || !usable(shape[2])) return std::nullopt;
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

/// The labels are those of the last axis, whatever the others are.
bool LabelsFit(const std::vector<std::string>& labels, const Value& value) {
  if (labels.empty() || value.dims.empty()) return false;
  const Dim& last = value.dims.back();
  return last.constant() && last.value == static_cast<int64_t>(labels.size());
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
    const std::string last = value.dims.empty() ? "it has no axis"
                             : value.dims.back().constant()
                                 ? fmt::format("its last axis has {} elements", value.dims.back().value)
                                 : "its last axis is open";
    sentences.push_back(fmt::format("left out {} labels of output '{}': {} (--labels FILE gives others)",
                                    labels.size(), port.name, last));
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
