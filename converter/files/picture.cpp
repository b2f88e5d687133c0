#include "files/picture.h"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_FAILURE_USERMSG
#include <stb/stb_image.h>

#include <climits>
#include <memory>

#include "graph/error.h"

namespace skiff {

Picture DecodePicture(std::string_view bytes, int channels, const std::string& name) {
  if (bytes.size() > INT_MAX)
    Throw(StatusCode::kInvalidModel, "{}: the picture's file is larger than 2 GiB", name);
  Picture picture;
  picture.channels = channels;
  int stored_channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> samples(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()),
                            &picture.width, &picture.height, &stored_channels, channels),
      stbi_image_free);
  if (!samples) {
    Throw(StatusCode::kInvalidModel, "{}: cannot be decoded as a PNG, JPEG or BMP picture: {}", name,
          stbi_failure_reason());
  }
  const size_t count = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) *
                       static_cast<size_t>(channels);
  picture.samples.assign(samples.get(), samples.get() + count);
  return picture;
}

}  // namespace skiff
