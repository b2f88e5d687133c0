// libjpeg-turbo's errors jump; here they end in the three functions that call it, which own nothing.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "files/exif.h"
#include "files/picture.h"
#include "graph/error.h"

namespace skiff {
namespace {

/// Progressive pictures have about ten; each one of a hostile file would cost a pass over all pixels.
constexpr int kMostScans = 100;
/// Pixels times scans.
constexpr int64_t kMostScanned = int64_t{1} << 31;

class JpegReader {
 public:
  JpegReader() {
    decoder_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &Exit;
    errors_.emit_message = &Notice;
    decoder_.client_data = this;
  }
  ~JpegReader() { jpeg_destroy_decompress(&decoder_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  const jpeg_decompress_struct& decoder() const { return decoder_; }
  /// Why the last step failed.
  const char* message() const { return message_; }

  bool ReadHeader(std::string_view bytes) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&decoder_);
    decoder_.client_data = this;
    monitor_.progress_monitor = &CountScans;
    decoder_.progress = &monitor_;
    jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&decoder_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&decoder_, TRUE);
    decoder_.out_color_space = decoder_.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }
  bool ReadRows(uint8_t* to) {
    if (setjmp(jump_) != 0) return false;
    jpeg_start_decompress(&decoder_);
    const size_t row_bytes = size_t{decoder_.output_width} * static_cast<size_t>(decoder_.output_components);
    while (decoder_.output_scanline < decoder_.output_height) {
      JSAMPROW row = to + decoder_.output_scanline * row_bytes;
      jpeg_read_scanlines(&decoder_, &row, 1);
    }
    jpeg_finish_decompress(&decoder_);
    return true;
  }

 private:
  static JpegReader& Of(j_common_ptr decoder) { return *static_cast<JpegReader*>(decoder->client_data); }

  [[noreturn]] static void Exit(j_common_ptr decoder) {
    JpegReader& my = Of(decoder);
    my.errors_.format_message(decoder, my.message_);
    std::longjmp(my.jump_, 1);
  }
  /// A warning says that samples were made up, but for these.
  static void Notice(j_common_ptr decoder, int level) {
    const int code = decoder->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                          code == JWRN_JFIF_MAJOR || code == JWRN_BOGUS_PROGRESSION;
    if (level < 0 && !harmless) Exit(decoder);
  }
  static void CountScans(j_common_ptr decoder) {
    JpegReader& my = Of(decoder);
    const JDIMENSION width = my.decoder_.image_width;
    const JDIMENSION height = my.decoder_.image_height;
    const int64_t most = std::min<int64_t>(kMostScans, kMostScanned / (int64_t{width} * height));
    if (my.decoder_.input_scan_number <= most) return;
    std::snprintf(my.message_, sizeof(my.message_),
                  "it has more than %d scans, the most of a picture of %u x %u pixels",
                  static_cast<int>(most), width, height);
    std::longjmp(my.jump_, 1);
  }

  jpeg_decompress_struct decoder_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr monitor_ = {};
  std::jmp_buf jump_ = {};
  char message_[JMSG_LENGTH_MAX] = "";
};

int OrientationOf(const jpeg_decompress_struct& decoder) {
  constexpr char kExif[] = "Exif\0";  // And the zero that ends the literal.
  for (const jpeg_marker_struct* marker = decoder.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->marker == JPEG_APP0 + 1 && marker->data_length > sizeof(kExif) &&
        std::memcmp(marker->data, kExif, sizeof(kExif)) == 0)
      return ExifOrientation({marker->data + sizeof(kExif), marker->data_length - sizeof(kExif)});
  }
  return 1;
}

}  // namespace

Picture DecodeJpeg(std::string_view bytes, const std::string& name) {
  JpegReader reader;
  if (!reader.ReadHeader(bytes)) ThrowDamaged(name, "JPEG", reader.message());
  const jpeg_decompress_struct& decoder = reader.decoder();
  if (decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK) {
    Throw(StatusCode::kUnsupported, "{}: is a JPEG picture in CMYK, which is for print; save it in RGB",
          name);
  }
  Picture picture;
  AllocateSamples(decoder.image_width, decoder.image_height, decoder.out_color_space == JCS_GRAYSCALE ? 1 : 3,
                  name, picture);
  picture.orientation = OrientationOf(decoder);
  if (!reader.ReadRows(picture.samples.data())) ThrowDamaged(name, "JPEG", reader.message());
  return picture;
}

}  // namespace skiff
