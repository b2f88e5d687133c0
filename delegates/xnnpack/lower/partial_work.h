/// Parts of what a step computes, for those who run several steps over one part before they go on to the
/// next: rows for what follows a product (Step::FollowUp), lines of pictures for a Strip.
#pragma once

#include <cstddef>

namespace skiff::xnnpack {

class MatrixProductStep;
class Step;

/// Lines [first, end).
struct LineRange {
  size_t first = 0;
  size_t end = 0;
  bool empty() const { return first >= end; }
};

/// The lines of a picture, NHWC, in memory that may hold fewer than there are: line i lies where line
/// i + count will.
struct Lines {
  float* at = nullptr;
  size_t count = static_cast<size_t>(-1);  ///< That the memory holds.
  size_t line = 0;                         ///< Elements from line to line.
  size_t pixel = 0;                        ///< The same from pixel to pixel.

  float* operator[](size_t i) const { return at + i % count * line; }
  size_t width() const { return line / pixel; }
  /// Of those from line `first` on: how many lie one behind the other.
  size_t Together(const LineRange& of) const {
    const size_t until_wrap = count - of.first % count;
    return of.end - of.first < until_wrap ? of.end - of.first : until_wrap;
  }
};

/// Which lines of input 0 the lines of the output need, and how these are made.
struct LineWindows {
  size_t stride = 1;
  size_t reach = 1;             ///< Lines from a window's first to its last.
  size_t pad = 0;               ///< Lines before the first one.
  size_t at_once = 1;           ///< Multiples of so many are made fastest.
  size_t scratch_bytes = 0;     ///< For each thread, aligned to 64 bytes.
  bool takes_few_lines = true;  ///< Input 0 may be Lines that hold few.

  /// Of `lines` windows.
  size_t Reach(size_t lines) const { return (lines - 1) * stride + reach; }
  /// Of `height` lines.
  LineRange Needs(const LineRange& outputs, size_t height) const {
    if (outputs.empty()) return {};
    const size_t first = outputs.first * stride;
    const size_t end = first + Reach(outputs.end - outputs.first);
    const auto inside = [&](size_t line) {
      const size_t moved = line > pad ? line - pad : 0;
      return moved < height ? moved : height;
    };
    return {inside(first), inside(end)};
  }
};

/// Null: what the step cannot do. Called by several threads, for different parts.
struct PartialWork {
  /// Rows of the innermost axis: each is computed from the same rows of the inputs, one by one.
  void (*run_rows)(const Step& step, size_t first_row, size_t rows) = nullptr;
  /// The same rows of input 0 and the output, both f32, one behind the other in `rows_at`: they are changed
  /// in place. Other inputs are where they are. The caller sees to subnormal numbers (Flushing).
  void (*change_rows)(const Step& step, size_t first_row, size_t rows, float* rows_at) = nullptr;
  /// Elements of its one input, both f32, wherever they lie; y may be x.
  void (*run_elements)(const Step& step, size_t n, const float* x, float* y) = nullptr;
  /// f32 as well. From Reshape() on.
  LineWindows (*windows)(const Step& step) = nullptr;
  /// Lines of one picture's output, from x, which has those that they need. Followers are not run.
  void (*run_lines)(const Step& step, const Lines& x, const Lines& y, const LineRange& lines,
                    void* scratch) = nullptr;
  /// The step, where it is a product of computed matrices.
  const MatrixProductStep* (*as_product)(const Step& step) = nullptr;
};

}  // namespace skiff::xnnpack
