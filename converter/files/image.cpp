#include "files/image.h"

#include <algorithm>
#include <cmath>

#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff {
namespace {

/// Where one output coordinate samples the source: between two neighbours, `fraction` of the way to the
/// second.
struct Sample {
  int first;
  int second;
  float fraction;
};

std::vector<Sample> SamplesOf(int source, int target) {
  std::vector<Sample> samples;
  const float ratio = static_cast<float>(source) / static_cast<float>(target);
  for (int i = 0; i < target; ++i) {
    const float place = std::max(0.0f, (static_cast<float>(i) + 0.5f) * ratio - 0.5f);
    const int first = std::min(static_cast<int>(place), source - 1);
    samples.push_back({first, std::min(first + 1, source - 1), place - static_cast<float>(first)});
  }
  return samples;
}

}  // namespace

std::vector<float> ResizeBilinear(const Picture& picture, int width, int height) {
  const auto channels = static_cast<size_t>(picture.channels);
  const std::vector<Sample> columns = SamplesOf(picture.width, width);
  const std::vector<Sample> rows = SamplesOf(picture.height, height);
  const auto at = [&](int y, int x, size_t c) {
    return static_cast<float>(
        picture
            .samples[(static_cast<size_t>(y) * static_cast<size_t>(picture.width) + static_cast<size_t>(x)) *
                         channels +
                     c]);
  };
  std::vector<float> result;
  result.reserve(rows.size() * columns.size() * channels);
  for (const Sample& y : rows) {
    for (const Sample& x : columns) {
      for (size_t c = 0; c < channels; ++c) {
        const float top = (1 - x.fraction) * at(y.first, x.first, c) + x.fraction * at(y.first, x.second, c);
        const float bottom =
            (1 - x.fraction) * at(y.second, x.first, c) + x.fraction * at(y.second, x.second, c);
        result.push_back((1 - y.fraction) * top + y.fraction * bottom);
      }
    }
  }
  return result;
}

TensorData PreprocessPicture(const Picture& picture, const PortInfo& port) {
  const ImageSpec& spec = port.image;
  const std::vector<float> resized =
      ResizeBilinear(picture, static_cast<int>(spec.width), static_cast<int>(spec.height));
  const size_t channels = spec.channels;
  const size_t pixels = resized.size() / channels;
  TensorData tensor(DType::kF32, port.shape);
  auto* out = static_cast<float*>(tensor.mutable_data());
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < channels; ++c) {
      // Only colours change places; a fourth channel stays last.
      const size_t from = spec.bgr && c < 3 ? 2 - c : c;
      const float value = (resized[i * channels + from] - spec.mean[c]) * spec.scale[c];
      out[spec.nhwc ? i * channels + c : c * pixels + i] = value;
    }
  }
  return port.quantization == nullptr ? tensor : QuantizedAs(port, tensor);
}

TensorData ReadImage(const std::string& path, const PortInfo& port) {
  const ImageSpec& spec = port.image;
  if (spec.width == 0) {
    Throw(StatusCode::kInvalidArgument,
          "{}: the model does not say how a picture becomes its input '{}' ({} {}); convert it with "
          "--image-size WIDTHxHEIGHT "
          "--mean R,G,B --scale R,G,B --channels rgb, or pass a .npy file",
          path, port.name, DTypeName(port.dtype), ShapeText(port.shape).c_str());
  }
  const int64_t elements = static_cast<int64_t>(spec.width) * spec.height * spec.channels;
  const bool reals = port.dtype == DType::kF32 || port.quantization != nullptr;
  if (!reals || port.shape.elements() != elements || spec.channels == 2) {
    Throw(StatusCode::kInvalidModel,
          "the image settings of input '{}' ({} {}) do not fit it: {}x{} with {} channels", port.name,
          DTypeName(port.dtype), ShapeText(port.shape).c_str(), spec.width, spec.height, spec.channels);
  }
  return PreprocessPicture(DecodePicture(ReadFile(path), static_cast<int>(spec.channels), path), port);
}

}  // namespace skiff
