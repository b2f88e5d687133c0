/// From the pixels of a picture to an input, as the model was trained: what the file's settings (ImageSpec)
/// say, the same on every device and in every language. Link skiff_image for it; nothing else of Skiff does.
///
///   SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<ImageInput> image,
///   ImageInput::Create(model->signature(0).inputs[0])); SKIFF_ASSIGN_OR_RETURN(TensorView input,
///   session->InputBuffer(0)); SKIFF_RETURN_IF_ERROR(image->Write({pixels, 640, 480, PixelFormat::kRgba8},
///   input));
#pragma once

#include <memory>

#include "skiff/model.h"

namespace skiff {

/// The bytes of one pixel, in the order of memory.
enum class PixelFormat : uint8_t {
  kGrey8 = 1,
  kRgb8 = 2,
  kBgr8 = 3,
  kRgba8 = 4,  ///< Alpha is dropped, not blended, where the input has no fourth channel.
  kBgra8 = 5,  ///< Java's int[] of ARGB, on every machine that Skiff runs on.
};

/// A picture in memory, borrowed.
struct Pixels {
  const uint8_t* data = nullptr;
  uint32_t width = 0;
  uint32_t height = 0;
  PixelFormat format = PixelFormat::kRgb8;
  /// How a camera was held: EXIF's number, 1 to 8. Width and height are those of the memory, and the settings
  /// apply to the picture as it is looked at.
  int orientation = 1;
  int64_t row_bytes = 0;  ///< From one row to the next; 0: rows follow each other.
};

/// Where a picture lies in an input: resized to width x height, its left upper corner at (left, top), which
/// is negative where a part is cropped. What a net found at (x, y) of its input was at
/// ((x - left) * source_width / width, (y - top) * source_height / height) of the picture.
struct ImagePlacement {
  int64_t width = 0;
  int64_t height = 0;
  int64_t left = 0;
  int64_t top = 0;
};

/// Of a picture of that many pixels, at least 1 by 1, after its orientation is undone.
ImagePlacement PlaceImage(const ImageSpec& spec, uint32_t width, uint32_t height);

/// Writes pictures to one input. It keeps its buffers: a stream of pictures of one size allocates at the
/// first only. For one thread at a time.
class ImageInput {
 public:
  /// What `port` points to must outlive the result. Pictures have 1 channel (grey), 3, or 4 with alpha; the
  /// input has a batch of any size, f32 or f16, integers that stand for real numbers (one scale, or one for
  /// each channel), or plain i8 or u8 where mean and scale make such integers of all samples. Give a copy of
  /// the port with other settings where the file has none. kInvalidArgument names what does not fit, and
  /// what to do.
  static Result<std::unique_ptr<ImageInput>> Create(const PortInfo& port);
  ~ImageInput();
  ImageInput(const ImageInput&) = delete;
  ImageInput& operator=(const ImageInput&) = delete;

  /// Fills picture `index` of the batch in `to`, a tensor of the input's type such as Session::InputBuffer().
  /// kInvalidArgument where the picture or the tensor is unusable, with the tensor as it was; kOutOfMemory.
  Status Write(const Pixels& picture, const TensorView& to, int64_t index = 0);

 private:
  struct Internals;
  explicit ImageInput(std::unique_ptr<Internals> internals);

  std::unique_ptr<Internals> internals_;
};

}  // namespace skiff
