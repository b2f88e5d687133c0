#include "delegates/xnnpack/lower/winograd_tiles.h"

#include <algorithm>

namespace skiff::xnnpack {
namespace {

/// Transformed windows and products of the tiles that are computed at once: they stay in the second-level
/// cache.
constexpr size_t kBlockBytes = 384 * 1024;
/// Fewer tiles than that would meet weights that come from far for each multiply-add.
constexpr size_t kLeastTiles = 24;
/// Keeps the points of one pixel out of one set of the first-level cache, which channels that are powers of
/// two share: a cache line.
constexpr size_t kStaggerBytes = 64;

}  // namespace

Status WinogradTiles::DescribeTiles(size_t tile, size_t window_bytes, size_t product_bytes, size_t outputs,
                                    const DenseShape& product, size_t words, WinogradArgs* args) {
  SKIFF_RETURN_IF_ERROR(DescribePicture(node_, args));
  tile_ = tile;
  points_ = WinogradPoints(tile);
  window_bytes_ = window_bytes;
  product_bytes_ = product_bytes;
  channels_ = args->channels;
  outputs_ = outputs;
  panels_ = DensePanelCount(product, *environment_.kernels);
  at_once_ = DensePanelsAtOnce(product, words, *environment_.kernels, /*parts=*/1);
  output_height_ = args->output_height;
  output_width_ = args->output_width;
  for (int axis = 0; axis < 2; ++axis)
    dilations_[axis] = static_cast<size_t>(node_.As<Conv2dAttrs>().dilations[axis]);
  line_tiles_ = args->line_tiles = DivideUp(DivideUp(output_width_, dilations_[1]), tile);
  args->outputs = static_cast<size_t>(node_.out(0).shape[3]);
  pictures_ = static_cast<size_t>(node_.out(0).shape[0]);
  phase_tiles_ = line_tiles_ * DivideUp(DivideUp(output_height_, dilations_[0]), tile);
  tiles_ = phase_tiles_ * dilations_[0] * dilations_[1];
  DivideWork();
  args->point_inputs = point_inputs_;
  args->point_outputs = point_outputs_;
  return OkStatus();
}

/// Whole blocks are for one thread each; where these are too few, threads share the stages of a block of all
/// tiles.
void WinogradTiles::DivideWork() {
  const size_t threads = pthreadpool_get_threads_count(environment_.pool);
  const size_t tile_bytes = points_ * (channels_ * window_bytes_ + outputs_ * product_bytes_);
  const size_t fit = std::max(kLeastTiles, kBlockBytes / tile_bytes);
  blocks_ = DivideUp(tiles_, fit);
  by_stages_ = threads > 1 && pictures_ * blocks_ < kTasksOfThread * threads;
  leads_ = !by_stages_ && phase_tiles_ == tiles_;  // Others leave gaps in a line.
  if (by_stages_) blocks_ = 1;
  block_tiles_ = DivideUp(tiles_, blocks_);
  point_inputs_ = block_tiles_ * channels_ + kStaggerBytes / window_bytes_;
  point_outputs_ = block_tiles_ * outputs_ + kStaggerBytes / product_bytes_;
  block_bytes_ = WindowsBytes() + points_ * point_outputs_ * product_bytes_;
  workspace_bytes_ = (by_stages_ ? 1 : threads) * block_bytes_;
}

Status WinogradTiles::Run() {
  if (!by_stages_) {
    pthreadpool_parallelize_1d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t block) {
          static_cast<const WinogradTiles*>(step)->RunBlock(thread, block);
        },
        this, pictures_ * blocks_, /*flags=*/0);
    return OkStatus();
  }
  for (picture_ = 0; picture_ < pictures_; ++picture_) RunStages();
  return OkStatus();
}

void WinogradTiles::RunBlock(size_t thread, size_t index) const {
  const size_t picture = index / blocks_;
  const size_t first = index % blocks_ * block_tiles_;
  const size_t end = std::min(first + block_tiles_, tiles_);
  uint8_t* const windows = workspace_ + thread * block_bytes_;
  uint8_t* const products = windows + WindowsBytes();
  MakeWindows(picture, first, end, windows);
  for (size_t point = 0; point < points_; ++point) {
    // Weights of some panels stay in the first-level cache while all tiles meet them.
    for (size_t panel = 0; panel < panels_; panel += at_once_)
      MakeProducts(point, panel, std::min(panel + at_once_, panels_), end - first, windows, products);
  }
  MakeOutputs(picture, first, end, products);
  if (has_follower()) FollowTiles(picture, first, end);
}

/// Lines of the tiles [first, end) of a picture.
void WinogradTiles::FollowTiles(size_t picture, size_t first, size_t end) const {
  for (size_t next = 0; first < end; first = next) {
    const size_t line = first / line_tiles_;
    next = std::min(end, (line + 1) * line_tiles_);
    const size_t column = first % line_tiles_ * tile_;
    const size_t end_column = std::min(column + (next - first) * tile_, output_width_);
    const size_t end_row = std::min((line + 1) * tile_, output_height_);
    for (size_t row = line * tile_; row < end_row; ++row)
      FollowUp((picture * output_height_ + row) * output_width_ + column, end_column - column);
  }
}

void WinogradTiles::RunStages() {
  const auto input = [](void* context, size_t tile) {
    const auto& self = *static_cast<const WinogradTiles*>(context);
    self.MakeWindows(self.picture_, tile, tile + 1,
                     self.workspace_ + tile * self.channels_ * self.window_bytes_);
  };
  const auto product = [](void* context, size_t point, size_t panel, size_t panels) {
    const auto& self = *static_cast<const WinogradTiles*>(context);
    self.MakeProducts(point, panel, panel + panels, self.tiles_, self.workspace_, self.Products());
  };
  const auto output = [](void* context, size_t tile) {
    const auto& self = *static_cast<const WinogradTiles*>(context);
    self.MakeOutputs(self.picture_, tile, tile + 1,
                     self.Products() + tile * self.outputs_ * self.product_bytes_);
  };
  pthreadpool_parallelize_1d(environment_.pool, input, this, tiles_, /*flags=*/0);
  pthreadpool_parallelize_2d_tile_1d(environment_.pool, product, this, points_, panels_, at_once_,
                                     /*flags=*/0);
  pthreadpool_parallelize_1d(environment_.pool, output, this, tiles_, /*flags=*/0);
}

double LoadCost(const Kernels& kernels) {
  return kernels.narrower != nullptr && WideVectorsAreTwoHalves() ? kernels.narrower->load_cost
                                                                  : kernels.load_cost;
}

double DirectCost(const Shape& y, const WinogradCosts& costs) {
  return (static_cast<double>(y[0] * y[1] * y[2]) + costs.load) * 9;
}

double WinogradCost(size_t tile, const Shape& weights, const Shape& y, const Ints& dilations,
                    const WinogradCosts& costs) {
  const auto outputs = static_cast<double>(weights[0]);
  const auto channels = static_cast<double>(weights[3]);
  auto tiles = static_cast<double>(y[0]);
  for (int axis = 0; axis < 2; ++axis) {
    const auto phases = static_cast<size_t>(dilations[axis]);
    tiles *= static_cast<double>(DivideUp(DivideUp(static_cast<size_t>(y[1 + axis]), phases), tile) * phases);
  }
  return static_cast<double>(WinogradPoints(tile)) *
         (tiles * (1 + costs.transform / outputs + costs.transform / channels) + costs.load);
}

bool IsWinogradShape(const NodeView& node, const Kernels& kernels) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const bool small = attrs.groups == 1 && w[1] == 3 && w[2] == 3;
  const bool plain = attrs.strides[0] == 1 && attrs.strides[1] == 1;
  const auto least = static_cast<int64_t>(kernels.depthwise_channels);
  return small && plain && w[0] >= least && w[3] >= least;
}

}  // namespace skiff::xnnpack
