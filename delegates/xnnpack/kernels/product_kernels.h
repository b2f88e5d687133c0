/// Kernels of convolutions, pools and products of f32: what they are told.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::xnnpack {

/// One picture, NHWC, and the outputs of a convolution over it.
struct PictureArgs {
  const float* x = nullptr;
  float* y = nullptr;
  size_t channels = 0;
  size_t height = 0;
  size_t width = 0;
  size_t output_height = 0;
  size_t output_width = 0;
  size_t x_stride = 0;  ///< Elements from pixel to pixel.
  size_t y_stride = 0;
  size_t x_line = 0;  ///< The same from line to line.
  size_t y_line = 0;
  /// Of the picture, in memory: line i lies where line i + x_lines will.
  size_t x_lines = static_cast<size_t>(-1);
  long top = 0;  ///< Pads; negative where lines before those of the first output are left out.
  long left = 0;
  float min = 0;
  float max = 0;

  void SetDenseLines() {
    x_line = width * x_stride;
    y_line = output_width * y_stride;
  }
};

/// The windows that outputs come from: for kernels that take any.
struct WindowArgs : PictureArgs {
  size_t kernel[2] = {};
  size_t strides[2] = {};
  size_t dilations[2] = {};
};

/// A depthwise convolution, or one of small groups: what does not change from row to row of the output.
struct DepthwiseArgs : WindowArgs {
  /// For each vector of channels, of which there are Kernels::depthwise_channels: biases, then the taps
  /// column by column; row by row for the kernel of any windows. The last vector overlaps the one before
  /// where channels are left over.
  /// Of groups, as many times the taps: at turn t, channel c of a group has those for input c ^ t.
  const float* weights = nullptr;
  size_t group = 1;  ///< Channels of a group: a power of two, less than Kernels::depthwise_channels.
};
/// Outputs side by side that one input may have, 2 to the power of an index into
/// Kernels::depthwise_of_any. PictureArgs::channels are the outputs then.
constexpr size_t kDepthwiseShares = 3;
/// The rows [first_row, end_row) of the output.
using DepthwiseFn = void (*)(const DepthwiseArgs& args, size_t first_row, size_t end_row);

/// Each window of a pool meets the picture.
struct PoolArgs : WindowArgs {
  bool pads_count = false;  ///< In averages, as zeros.
};
/// The rows [first_row, end_row) of a pool's output. A NaN in a window is its result.
using PoolFn = void (*)(const PoolArgs& args, size_t first_row, size_t end_row);
/// Null where XNNPACK's let NaN through.
struct PoolKernels {
  PoolFn any[2] = {};         ///< The largest, and the average, of any windows.
  PoolFn largest[2][2] = {};  ///< Of 2 x 2 and 3 x 3, by stride - 1.
  size_t channels = 0;        ///< The fewest that these take.
};

/// Rows of inputs times weights: where the rows lie, and the outputs.
struct DenseShape {
  /// A row of x is `run` inputs side by side, and more such runs where it is the window of a convolution:
  /// runs[0] times runs[1] of them, run_strides apart.
  size_t run = 0;
  size_t runs[2] = {1, 1};
  size_t run_strides[2] = {};
  size_t outputs = 0;
  size_t x_stride =
      0;  ///< Elements from row to row, of line_rows rows; the next ones begin line_stride further on.
  size_t line_rows = static_cast<size_t>(-1);
  size_t line_stride = 0;
  size_t y_stride = 0;

  size_t inputs() const { return runs[0] * runs[1] * run; }
};

/// Plus a bias: what does not change from panel to panel.
struct DenseArgs : DenseShape {
  const float* x = nullptr;
  float* y = nullptr;
  /// Panels of Kernels::dense_outputs outputs; half a panel that would be left over is part of the last one.
  /// In a panel, a row of biases, then a row for each input. Rows are as wide as whole halves; outputs that
  /// do not exist are 0.
  const float* weights = nullptr;
  float min = 0;
  float max = 0;
};
/// The panels [first_panel, end_panel) of the rows [first_row, end_row). Some rows meet all these panels
/// before the next ones do.
using DenseFn = void (*)(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                         size_t end_panel);

/// Weights in rows that begin `distance` apart: [inputs, outputs] where `transposed`, else [outputs, inputs].
struct DenseMatrix {
  const float* weights = nullptr;
  size_t distance = 0;
  bool transposed = false;
};
/// One row where nothing is packed: outputs [first, end), of rows of one run. `weights` of args are not read.
using RowTimesMatrixFn = void (*)(const DenseArgs& args, const DenseMatrix& matrix, size_t first, size_t end);

/// Dense products by Strassen's way, of rows of one run at distances of x_stride, of at least two vectors and
/// an even number of inputs.
struct StrassenArgs : DenseArgs {
  /// For each pair of panels, from StrassenKernels::weights.
  const uint8_t* of_like_size = nullptr;
  float* sums = nullptr;     ///< Of inputs; pair_elements for each pair of rows.
  size_t pair_elements = 0;  ///< More than 2 * run.
};
/// What sums take, of the time of the direct way: those of inputs over the number of outputs, those of
/// weights over the rows, those of products over the inputs, and the rest.
struct StrassenTimes {
  double of_inputs = 0;
  double of_weights = 0;
  double of_products = 0;
  double rest = 0;
};
struct StrassenKernels {
  void (*weights)(const StrassenArgs& args, uint8_t* of_like_size) = nullptr;
  /// Sums of the rows [first_row, end_row), which begin at an even number, as all do.
  void (*inputs)(const StrassenArgs& args, size_t first_row, size_t end_row) = nullptr;
  /// What DenseFn makes; of panels an even number is first. `made` has room for two panels of weights, twice.
  void (*products)(const StrassenArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                   size_t end_panel, float* made) = nullptr;
  StrassenTimes times;
};

/// A convolution of 3 x 3 with stride 1 by Winograd's minimal filtering: what does not change from tile to
/// tile. Tiles of outputs are counted along lines, and reach over the picture's ends.
struct WinogradArgs : PictureArgs {
  const float* bias = nullptr;  ///< May be null.
  size_t outputs = 0;
  size_t line_tiles = 0;
  size_t point_inputs = 0;   ///< Elements from point to point of the transformed windows...
  size_t point_outputs = 0;  ///< ...and of the products.
};
/// Products that make tile x tile outputs of one window of pixels.
constexpr size_t WinogradPoints(size_t tile) { return (tile + 2) * (tile + 2); }
/// One size of tiles: what is around the dense products of its points.
struct WinogradKernels {
  size_t tile = 0;  ///< Outputs along an edge.
  /// To [point][tile][channel] and from [point][tile][output], tiles [first_tile, end_tile).
  void (*input)(const WinogradArgs& args, size_t first_tile, size_t end_tile, float* to) = nullptr;
  void (*output)(const WinogradArgs& args, size_t first_tile, size_t end_tile, const float* from) = nullptr;
  /// Weights [outputs, 3, 3, channels] to those of a dense product for each point, with biases of zero.
  void (*weights)(const float* weights, size_t outputs, size_t channels, float* to) = nullptr;
};
constexpr size_t kWinogradSizes = 2;

}  // namespace skiff::xnnpack
