// The C API of pictures and labels over the C++ one.
#include <algorithm>

#include "platforms/c/report.h"
#include "skiff/image.h"
#include "skiff/image_c.h"
#include "skiff/labels.h"

namespace skiff {
namespace {

template <class CEnum, class CppEnum>
constexpr bool Same(CEnum c, CppEnum cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}

static_assert(Same(SKIFF_PIXELS_GREY8, PixelFormat::kGrey8) && Same(SKIFF_PIXELS_RGB8, PixelFormat::kRgb8));
static_assert(Same(SKIFF_PIXELS_BGR8, PixelFormat::kBgr8) && Same(SKIFF_PIXELS_RGBA8, PixelFormat::kRgba8));
static_assert(Same(SKIFF_PIXELS_BGRA8, PixelFormat::kBgra8));
static_assert(sizeof(SkiffPixels) == offsetof(SkiffPixels, row_bytes) + sizeof(int64_t));

/// Beside the input's writer, what C programs ask it for.
struct Writer {
  std::unique_ptr<ImageInput> input;
  ImageSpec spec;
};
Writer* Cpp(SkiffImageInput* image) { return reinterpret_cast<Writer*>(image); }
const Writer* Cpp(const SkiffImageInput* image) { return reinterpret_cast<const Writer*>(image); }

/// A number of an enumeration of 8 bits; those that it cannot hold become one that nobody knows.
template <class Enum>
Enum ToEnum(int32_t number) {
  return static_cast<Enum>(number >= 0 && number < 255 ? number : 255);
}

Status ToSpec(const SkiffImageSpec* given, size_t size, ImageSpec* spec) {
  SkiffImageSpec known = {};
  SKIFF_RETURN_IF_ERROR(TakePrefix(given, size, offsetof(SkiffImageSpec, fit), "SkiffImageSpec", &known));
  SKIFF_RETURN_IF_ERROR(
      InRange(static_cast<int32_t>(std::min(known.fill, 256u)), 256, "SkiffImageSpec::fill"));
  *spec = {known.width, known.height, known.channels};
  std::copy(std::begin(known.mean), std::end(known.mean), spec->mean);
  std::copy(std::begin(known.scale), std::end(known.scale), spec->scale);
  spec->bgr = known.bgr != 0;
  spec->nhwc = known.nhwc != 0;
  spec->fit = ToEnum<ImageFit>(known.fit);
  spec->filter = ToEnum<ImageFilter>(known.filter);
  spec->fill = static_cast<uint8_t>(known.fill);
  spec->resize = known.resize;
  return OkStatus();
}

}  // namespace
}  // namespace skiff

using namespace skiff;  // NOLINT: everything below is global because C has no namespaces.

SkiffStatus skiff_image_input_create(const SkiffModel* model, int32_t signature, int32_t index,
                                     const SkiffImageSpec* spec, size_t size, SkiffImageInput** image,
                                     char* message, size_t message_size) {
  if (image != nullptr) *image = nullptr;
  return Report(message, message_size, [&]() -> Status {
    if (image == nullptr) return NotNull(image, "the place for the image input");
    const PortInfo* found = nullptr;
    SKIFF_RETURN_IF_ERROR(FindPort(model, signature, index, &SignatureInfo::inputs, &found));
    PortInfo port = *found;
    if (spec != nullptr) SKIFF_RETURN_IF_ERROR(ToSpec(spec, size, &port.image));
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<ImageInput> made, ImageInput::Create(port));
    auto* writer = new (std::nothrow) Writer{std::move(made), port.image};
    if (writer == nullptr) return Fail(StatusCode::kOutOfMemory, "no memory for an image input");
    *image = reinterpret_cast<SkiffImageInput*>(writer);
    return OkStatus();
  });
}

void skiff_image_input_destroy(SkiffImageInput* image) { delete Cpp(image); }

SkiffStatus skiff_image_input_write(SkiffImageInput* image, const SkiffPixels* pixels, size_t size,
                                    const SkiffTensor* to, int64_t picture, char* message,
                                    size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(image, "the image input"));
    SkiffPixels known = {};
    SKIFF_RETURN_IF_ERROR(TakePrefix(pixels, size, sizeof(SkiffPixels), "SkiffPixels", &known));
    TensorView view;
    SKIFF_RETURN_IF_ERROR(ToView(to, &view));
    const Pixels given = {static_cast<const uint8_t*>(known.data),
                          known.width,
                          known.height,
                          ToEnum<PixelFormat>(known.format),
                          known.orientation == 0 ? 1 : known.orientation,
                          known.row_bytes};
    return Cpp(image)->input->Write(given, view, picture);
  });
}

SkiffStatus skiff_image_input_place(const SkiffImageInput* image, uint32_t width, uint32_t height,
                                    SkiffImagePlacement* placement, size_t size, char* message,
                                    size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(image, "the image input"));
    SKIFF_RETURN_IF_ERROR(NotNull(placement, "the placement to fill"));
    constexpr uint32_t kMost = 65536;
    if (width < 1 || height < 1 || width > kMost || height > kMost)
      return Fail(StatusCode::kInvalidArgument, "the picture has %u x %u pixels; 1 to %u a side are possible",
                  width, height, kMost);
    const ImagePlacement place = PlaceImage(Cpp(image)->spec, width, height);
    const SkiffImagePlacement known = {place.width, place.height, place.left, place.top};
    FillPrefix(placement, size, &known, sizeof(known));
    return OkStatus();
  });
}

SkiffStatus skiff_model_best_classes(const SkiffModel* model, int32_t signature, int32_t index,
                                     const SkiffTensor* scores, int32_t softmax, int64_t row,
                                     SkiffClassScore* best, int32_t most, int32_t* count, char* message,
                                     size_t message_size) {
  if (count != nullptr) *count = 0;
  return Report(message, message_size, [&]() -> Status {
    const PortInfo* port = nullptr;
    SKIFF_RETURN_IF_ERROR(FindPort(model, signature, index, &SignatureInfo::outputs, &port));
    SKIFF_RETURN_IF_ERROR(NotNull(best, "the array for the best classes"));
    if (most < 1)
      return Fail(StatusCode::kInvalidArgument, "the array for the best classes has %d places", most);
    TensorView view;
    SKIFF_RETURN_IF_ERROR(ToView(scores, &view));
    FixedArray<ClassScore> found;
    // No more than there are, whatever the caller's array holds.
    const int64_t classes = std::clamp<int64_t>(ClassesOf(view.shape), 1, most);
    SKIFF_RETURN_IF_ERROR(found.Allocate(static_cast<uint64_t>(classes)));
    SKIFF_ASSIGN_OR_RETURN(
        const size_t got,
        BestClasses(*port, view, found, softmax != 0 ? ScoreKind::kSoftmax : ScoreKind::kAsTheyAre, row));
    for (size_t i = 0; i < got; ++i) best[i] = {found[i].index, found[i].label, found[i].score};
    if (count != nullptr) *count = static_cast<int32_t>(got);
    return OkStatus();
  });
}
