// libpng's errors jump; here they end in the functions that call it, which own nothing.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "files/exif.h"
#include "files/picture.h"
#include "graph/error.h"

namespace skiff {
namespace {

/// One direction of a PNG file, with what its errors need.
struct Png {
  png_structp file = nullptr;
  png_infop info = nullptr;
  bool reads = false;
  std::string_view rest;  ///< What is not read yet.
  std::vector<uint8_t>* written = nullptr;
  char message[200] = "";

  explicit Png(bool reads) : reads(reads) {
    const auto create = reads ? png_create_read_struct : png_create_write_struct;
    file = create(PNG_LIBPNG_VER_STRING, this, &Exit, [](png_structp, png_const_charp) {});
    if (file != nullptr) info = png_create_info_struct(file);
    if (info == nullptr) {
      Destroy();
      throw std::bad_alloc();
    }
  }
  ~Png() { Destroy(); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  void Destroy() {
    if (reads) png_destroy_read_struct(&file, &info, nullptr);
    if (!reads) png_destroy_write_struct(&file, &info);
  }
  [[noreturn]] static void Exit(png_structp file, png_const_charp message) {
    Png& my = *static_cast<Png*>(png_get_error_ptr(file));
    std::snprintf(my.message, sizeof(my.message), "%s", message);
    png_longjmp(file, 1);
  }
  static void Read(png_structp file, png_bytep to, size_t size) {
    Png& my = *static_cast<Png*>(png_get_io_ptr(file));
    if (my.rest.size() < size) png_error(file, "the file is cut off");
    std::memcpy(to, my.rest.data(), size);
    my.rest.remove_prefix(size);
  }

  /// Up to the samples; they will have 8 bits, and 1, 3 or 4 channels.
  bool ReadHeader() {
    if (setjmp(png_jmpbuf(file)) != 0) return false;
    png_set_read_fn(file, this, &Read);
    png_read_info(file, info);
    const bool grey_with_alpha = png_get_color_type(file, info) == PNG_COLOR_TYPE_GRAY_ALPHA ||
                                 (png_get_color_type(file, info) == PNG_COLOR_TYPE_GRAY &&
                                  png_get_valid(file, info, PNG_INFO_tRNS) != 0);
    png_set_expand(file);
    png_set_strip_16(file);
    if (grey_with_alpha) png_set_gray_to_rgb(file);
    png_set_interlace_handling(file);
    png_read_update_info(file, info);
    return true;
  }
  /// Rows of such pointers.
  bool ReadRows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(file)) != 0) return false;
    png_read_image(file, rows);
    png_read_end(file, info);
    return true;
  }
  bool Write(const Picture& picture, png_bytepp rows) {
    if (setjmp(png_jmpbuf(file)) != 0) return false;
    const int colours = picture.channels == 1   ? PNG_COLOR_TYPE_GRAY
                        : picture.channels == 3 ? PNG_COLOR_TYPE_RGB
                                                : PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_write_fn(
        file, this,
        [](png_structp to, png_bytep bytes, size_t size) {
          std::vector<uint8_t>& all = *static_cast<Png*>(png_get_io_ptr(to))->written;
          all.insert(all.end(), bytes, bytes + size);
        },
        nullptr);
    png_set_IHDR(file, info, picture.width, picture.height, 8, colours, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_rows(file, info, rows);
    png_write_png(file, info, PNG_TRANSFORM_IDENTITY, nullptr);
    return true;
  }
};

std::vector<png_bytep> RowsOf(const Picture& picture) {
  std::vector<png_bytep> rows;
  for (uint32_t y = 0; y < picture.height; ++y) {
    rows.push_back(const_cast<png_bytep>(picture.samples.data()) +
                   size_t{y} * picture.width * picture.channels);
  }
  return rows;
}

}  // namespace

Picture DecodePng(std::string_view bytes, const std::string& name) {
  Png png(true);
  png.rest = bytes;
  if (!png.ReadHeader()) ThrowDamaged(name, "PNG", png.message);
  Picture picture;
  AllocateSamples(png_get_image_width(png.file, png.info), png_get_image_height(png.file, png.info),
                  png_get_channels(png.file, png.info), name, picture);
  std::vector<png_bytep> rows = RowsOf(picture);
  if (!png.ReadRows(rows.data())) ThrowDamaged(name, "PNG", png.message);
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png.file, png.info, &size, &exif) != 0)
    picture.orientation = ExifOrientation({exif, size});
  return picture;
}

std::vector<uint8_t> EncodePng(const Picture& picture) {
  Png png(false);
  std::vector<uint8_t> written;
  png.written = &written;
  std::vector<png_bytep> rows = RowsOf(picture);
  if (!png.Write(picture, rows.data()))
    Throw(StatusCode::kInternal, "a PNG cannot be written: {}", png.message);
  return written;
}

}  // namespace skiff
