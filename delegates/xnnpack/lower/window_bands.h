/// The windows of a convolution as rows of a product: along a line of the output they lie at equal distances.
/// Lines of the picture are gone through in bands, which are copied where there are pads or other elements
/// are wanted.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

struct WindowBands {
  size_t pictures = 1;
  size_t channels = 0;
  size_t groups = 1;
  size_t group_channels = 0;
  size_t x_stride = 0;  ///< Elements from pixel to pixel of the picture.
  // Of both axes.
  size_t extents[2] = {1, 1};
  size_t outputs[2] = {1, 1};
  size_t strides[2] = {1, 1};
  size_t pads[2] = {};
  size_t reach[2] = {1, 1};  ///< Pixels from a window's first to its last.
  bool copies = false;
  size_t band_width = 0;
  size_t band_lines = 0;  ///< Of the output.
  size_t picture_bands = 0;
  size_t band_elements = 0;  ///< Of a copy.
  size_t parts = 0;
  size_t part_panels = 0;

  /// Of a Conv2d, and where its windows lie in bands. `always_copies`: also without pads.
  Status Describe(const NodeView& node, bool always_copies, DenseShape* shape);
  /// Of rows that lie `stride` elements apart: windows of one pixel, which are copied.
  void DescribeRows(size_t count, size_t length, size_t stride, DenseShape* shape);

  /// Into bands of the output's lines; where these are too few for the threads, also into parts of the
  /// panels, each of which makes its band for itself.
  void Divide(size_t threads, size_t panels, size_t element_bytes, size_t weight_bytes);

  /// Lines of the output of one picture, and of the picture what their windows reach.
  struct Band {
    size_t pixel;         ///< Of the input's first picture: where this one begins.
    size_t output_pixel;  ///< Of the output's: where the band begins.
    size_t output_pixels;
    size_t first_line;  ///< Of the output.
    long line;          ///< Of the picture; pads come before its first one.
    size_t lines;
  };
  size_t bands() const { return pictures * picture_bands; }
  Band BandAt(size_t index) const;
  /// Of lines [first, first + count) of the first picture's output.
  Band BandOf(size_t first, size_t count) const;

  /// Pixels that `windows` windows reach over.
  size_t Reach(int axis, size_t windows) const { return (windows - 1) * strides[axis] + reach[axis]; }
  bool Inside(int axis) const { return pads[axis] == 0 && Reach(axis, outputs[axis]) <= extents[axis]; }

  /// Lines of the picture from `line` on, with `pad` around them. copy(pixel, count, to) copies pixels of the
  /// picture.
  template <class Element, class Copy>
  void Make(long line, size_t lines, Element pad, Element* to, const Copy& copy) const {
    const size_t left = pads[1] < band_width ? pads[1] : band_width;
    const size_t inside = extents[1] < band_width - left ? extents[1] : band_width - left;
    const size_t right = band_width - left - inside;
    const bool whole = inside == band_width && inside == extents[1];
    if (whole && line >= 0 && static_cast<size_t>(line) + lines <= extents[0])
      return copy(static_cast<size_t>(line) * inside, lines * inside, to);
    for (size_t i = 0; i < lines; ++i, ++line, to += band_width * channels) {
      if (line < 0 || line >= static_cast<long>(extents[0])) {
        Fill(to, band_width, pad);
        continue;
      }
      Fill(to, left, pad);
      copy(static_cast<size_t>(line) * extents[1], inside, to + left * channels);
      Fill(to + (left + inside) * channels, right, pad);
    }
  }

  /// Calls run(group, first panel, end panel) for the panels of part `part`.
  template <class Run>
  void ForPart(size_t part, size_t group_panels, size_t at_once, const Run& run) const {
    const size_t all = groups * group_panels;
    const size_t end = (part + 1) * part_panels < all ? (part + 1) * part_panels : all;
    for (size_t panel = part * part_panels; panel < end;) {
      const size_t in_group = panel % group_panels;
      size_t panels = group_panels - in_group;
      if (panels > at_once) panels = at_once;
      if (panels > end - panel) panels = end - panel;
      run(panel / group_panels, in_group, in_group + panels);
      panel += panels;
    }
  }

 private:
  template <class Element>
  void Fill(Element* to, size_t pixels, Element value) const {
    for (size_t i = 0; i < pixels * channels; ++i) to[i] = value;
  }
};

}  // namespace skiff::xnnpack
