/// What convolutions by Winograd's minimal filtering have in common: tiles of a picture are transformed,
/// multiplied point by point, and transformed back, a block of them at a time.
#pragma once

#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {

class WinogradTiles : public Step {
 public:
  using Step::Step;
  Status Run() final;

 protected:
  /// Sets what follows from the picture, in `args` and here. A window's element and a product's have these
  /// sizes; a tile has `outputs` products at each point, which reach over its outputs where that is easier.
  /// `product`: that of one point, with weights of so many `words` of 32 bits for each output.
  Status DescribeTiles(size_t tile, size_t window_bytes, size_t product_bytes, size_t outputs,
                       const DenseShape& product, size_t words, WinogradArgs* args);

  // By several threads, for different tiles or panels. Windows and products begin with those of the first
  // tile.
  virtual void MakeWindows(size_t picture, size_t first_tile, size_t end_tile, uint8_t* windows) const = 0;
  virtual void MakeProducts(size_t point, size_t first_panel, size_t end_panel, size_t tiles,
                            const uint8_t* windows, uint8_t* products) const = 0;
  virtual void MakeOutputs(size_t picture, size_t first_tile, size_t end_tile,
                           const uint8_t* products) const = 0;

  /// Dilated windows meet every n-th pixel: tiles are of one phase of both axes after the other. Calls
  /// run(phase, first, end, tiles before them) for the tiles [first, end) of each phase among these.
  template <class Run>
  void ForPhases(size_t first_tile, size_t end_tile, const Run& run) const {
    for (size_t tile = first_tile; tile < end_tile;) {
      const size_t phase = tile / phase_tiles_;
      const size_t begin = phase * phase_tiles_;
      const size_t end = end_tile < begin + phase_tiles_ ? end_tile : begin + phase_tiles_;
      run(phase, tile - begin, end - begin, tile - first_tile);
      tile = end;
    }
  }
  /// Of a picture, in place of all of it.
  void TakePhaseOf(size_t phase, PictureArgs* args) const {
    TakePhase({phase / dilations_[1], phase % dilations_[1]}, dilations_, args);
  }

  void SetWorkspace(void* workspace) { workspace_ = static_cast<uint8_t*>(workspace); }

 private:
  void DivideWork();
  void RunBlock(size_t thread, size_t index) const;
  void FollowTiles(size_t picture, size_t first, size_t end) const;
  void RunStages();
  size_t WindowsBytes() const { return points_ * point_inputs_ * window_bytes_; }
  uint8_t* Products() const { return workspace_ + WindowsBytes(); }

  size_t tile_ = 0;
  size_t points_ = 0;
  size_t window_bytes_ = 0;
  size_t product_bytes_ = 0;
  size_t channels_ = 0;
  size_t outputs_ = 0;
  size_t output_height_ = 0;
  size_t output_width_ = 0;
  size_t line_tiles_ = 0;
  size_t point_inputs_ = 0;
  size_t point_outputs_ = 0;
  uint8_t* workspace_ = nullptr;
  size_t pictures_ = 0;
  size_t picture_ = 0;  ///< Of RunStages().
  size_t dilations_[2] = {1, 1};
  size_t phase_tiles_ = 0;
  size_t tiles_ = 0;  ///< Of a picture.
  size_t blocks_ = 0;
  size_t block_tiles_ = 0;
  size_t block_bytes_ = 0;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  bool by_stages_ = false;
};

/// What takes time beside a product, in the time of one.
struct WinogradCosts {
  double transform = 0;  ///< Of a point of a window, or of what comes out.
  double load = 0;       ///< Of a weight that comes from memory.
};
/// Of a float from memory. Where two halves of a vector take turns, memory is no slower than it is for the
/// kernels of half as many lanes.
double LoadCost(const Kernels& kernels);
/// Products of one pair of a channel and an output, of all windows of a convolution of 3 x 3 with output
/// shape `y`: the direct way, or by tiles.
double DirectCost(const Shape& y, const WinogradCosts& costs);
double WinogradCost(size_t tile, const Shape& weights, const Shape& y, const Ints& dilations,
                    const WinogradCosts& costs);
/// A smaller gain is not worth the memory.
inline constexpr double kLeastWinogradGain = 1.1;

/// A Conv2d of 3 x 3 with stride 1, any dilations and one group, and vectors full of channels and outputs.
bool IsWinogradShape(const NodeView& node, const Kernels& kernels);

}  // namespace skiff::xnnpack
