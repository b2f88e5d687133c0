#include "files/image.h"

#include <algorithm>
#include <cmath>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/must.h"

namespace skiff {

TensorData PreprocessPicture(const Picture& picture, const PortInfo& port) {
  const std::unique_ptr<ImageInput> image = Must([&] { return ImageInput::Create(port); });
  const ImageSpec& spec = port.image;
  Shape shape = port.shape;
  if (shape[0] < 0) shape[0] = 1;
  shape[spec.nhwc ? 1 : 2] = spec.height;
  shape[spec.nhwc ? 2 : 3] = spec.width;
  TensorData tensor = TensorData(port.dtype, shape).Quantized(CopyOf(port.quantization));
  Must([&] {
    return image->Write(picture.pixels(),
                        TensorView(tensor.mutable_data(), port.dtype, shape, port.quantization));
  });
  return tensor;
}

TensorData ReadImage(const std::string& path, const PortInfo& port) {
  // What the settings are is said before a file is looked at.
  try {
    Must([&] { return ImageInput::Create(port).status(); });
  } catch (const Error& error) {
    Throw(error.code(), "{}: {}; or pass a .npy file", path, error.what());
  }
  if (port.shape[0] >= 0 && port.shape[0] != 1) {
    Throw(
        StatusCode::kInvalidArgument,
        "{}: input '{}' takes {} pictures at a time; pass a .npy file with all of them (--dump-input writes "
        "one of each), or convert a source whose batch is 1 or open",
        path, port.name, port.shape[0]);
  }
  return PreprocessPicture(DecodePicture(ReadFile(path), path), port);
}

Picture PictureOf(const TensorData& input, const PortInfo& port, int64_t index) {
  const ImageSpec& spec = port.image;
  const size_t plane = size_t{spec.width} * spec.height;
  const auto elements = static_cast<int64_t>(plane * spec.channels);
  const std::vector<double> values = input.ToDoubles(index * elements, (index + 1) * elements);
  Picture picture{spec.width, spec.height, spec.channels, std::vector<uint8_t>(plane * spec.channels), 1};
  for (size_t pixel = 0; pixel < plane; ++pixel) {
    for (uint32_t c = 0; c < spec.channels; ++c) {
      const double value = values[spec.nhwc ? pixel * spec.channels + c : c * plane + pixel];
      const double sample = value / static_cast<double>(spec.scale[c]) + static_cast<double>(spec.mean[c]);
      const uint32_t to = spec.bgr && spec.channels >= 3 && c < 3 ? 2 - c : c;
      picture.samples[pixel * spec.channels + to] =
          static_cast<uint8_t>(std::isnan(sample) ? 0 : std::clamp(std::nearbyint(sample), 0.0, 255.0));
    }
  }
  return picture;
}

}  // namespace skiff
