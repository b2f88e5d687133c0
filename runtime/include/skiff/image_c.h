/// Pictures and labels for C (skiff/image.h and skiff/labels.h for C++): what skiff/skiff.h says of errors,
/// threads, sizes of structs and stability holds here.
#pragma once

#include "skiff/skiff.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The bytes of one pixel, in the order of memory: the numbers of skiff::PixelFormat.
typedef enum SkiffPixelFormat {
  SKIFF_PIXELS_GREY8 = 1,
  SKIFF_PIXELS_RGB8 = 2,
  SKIFF_PIXELS_BGR8 = 3,
  SKIFF_PIXELS_RGBA8 = 4,  ///< Alpha is dropped, not blended, where the input has no fourth channel.
  SKIFF_PIXELS_BGRA8 = 5
} SkiffPixelFormat;

/// A picture in memory, borrowed.
typedef struct SkiffPixels {
  const void* data;
  uint32_t width;
  uint32_t height;
  int32_t format;       ///< A SkiffPixelFormat.
  int32_t orientation;  ///< How a camera was held: EXIF's number, 1 to 8; 0 counts as 1, upright.
  int64_t row_bytes;    ///< From one row to the next; 0: rows follow each other.
} SkiffPixels;

/// Where a picture lies in an input: resized to width x height, its left upper corner at (left, top), which
/// is negative where a part is cropped. What a net found at (x, y) of its input was at
/// ((x - left) * source_width / width, (y - top) * source_height / height) of the picture.
typedef struct SkiffImagePlacement {
  int64_t width;
  int64_t height;
  int64_t left;
  int64_t top;
} SkiffImagePlacement;

/// One of a classifier's answers. This struct never changes.
typedef struct SkiffClassScore {
  int64_t index;      ///< Along the axis of the classes: the last, but for those of 1 behind the second.
  const char* label;  ///< Of the model, or empty; lives as long as the model.
  double score;
} SkiffClassScore;

/// Writes pictures to one input; it keeps its buffers from one picture to the next. For one thread at a time.
typedef struct SkiffImageInput SkiffImageInput;

/// For an input of `model`, which must outlive the result. `spec` are the settings, `size` is
/// sizeof(SkiffImageSpec); null: those of the file (skiff_model_input_image()). SKIFF_INVALID_ARGUMENT says
/// why pictures cannot become this input, and what to do. Hand the result back with
/// skiff_image_input_destroy().
SKIFF_API SkiffStatus skiff_image_input_create(const SkiffModel* model, int32_t signature, int32_t index,
                                               const SkiffImageSpec* spec, size_t size,
                                               SkiffImageInput** image, char* message, size_t message_size);
/// Does nothing for null.
SKIFF_API void skiff_image_input_destroy(SkiffImageInput* image);
/// Fills picture number `picture` of the batch in `to`, a tensor of the input's type such as
/// skiff_session_input_buffer() gives. `size` is sizeof(SkiffPixels). Pictures of one size allocate at the
/// first only. SKIFF_INVALID_ARGUMENT: the picture or the tensor is unusable; the tensor is as it was.
SKIFF_API SkiffStatus skiff_image_input_write(SkiffImageInput* image, const SkiffPixels* pixels, size_t size,
                                              const SkiffTensor* to, int64_t picture, char* message,
                                              size_t message_size);
/// Fills the first `size` bytes of `placement`, of a picture of that many pixels after its orientation is
/// undone; pass sizeof(SkiffImagePlacement). SKIFF_INVALID_ARGUMENT: a side is 0 or above 65536.
SKIFF_API SkiffStatus skiff_image_input_place(const SkiffImageInput* image, uint32_t width, uint32_t height,
                                              SkiffImagePlacement* placement, size_t size, char* message,
                                              size_t message_size);

/// Fills `best`, an array of `most`, with the classes of the highest scores of an output, the highest first,
/// of equal ones that with the lower index; `count`, where it is not null, with how many these are. `softmax`
/// not 0: the scores are logits, and become probabilities. `row` counts all axes but the last: of scores
/// [8, 1000] there are 8. Integers of a quantised output count as the numbers that they stand for.
/// SKIFF_INVALID_ARGUMENT: there is no such output or row, or the tensor has no elements.
SKIFF_API SkiffStatus skiff_model_best_classes(const SkiffModel* model, int32_t signature, int32_t index,
                                               const SkiffTensor* scores, int32_t softmax, int64_t row,
                                               SkiffClassScore* best, int32_t most, int32_t* count,
                                               char* message, size_t message_size);

#ifdef __cplusplus
}
#endif
