// Convolutions of 3 x 3 by Winograd's minimal filtering, where that takes less time than the direct way.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Transformed windows and products of the tiles that are computed at once: they stay in the second-level
/// cache.
constexpr size_t kBlockBytes = 384 * 1024;
/// Fewer tiles than that would meet weights that come from far for each multiply-add.
constexpr size_t kLeastTiles = 24;
/// Keeps the points of one pixel out of one set of the first-level cache, which channels that are powers of
/// two share.
constexpr size_t kStagger = 16;

class WinogradStep final : public Step {
 public:
  WinogradStep(const NodeView& node, const Environment& environment, const WinogradKernels& kernels)
      : Step(node, environment), kernels_(kernels) {}

  Status Reshape() override {
    SKIFF_RETURN_IF_ERROR(DescribePicture(node_, &args_));
    args_.bias = node_.Has(2) ? node_.in(2).as<const float>() : nullptr;
    args_.outputs = static_cast<size_t>(node_.out(0).shape[3]);
    args_.line_tiles = DivideUp(args_.output_width, kernels_.tile);
    pictures_ = static_cast<size_t>(node_.out(0).shape[0]);
    tiles_ = args_.line_tiles * DivideUp(args_.output_height, kernels_.tile);
    product_.run = args_.channels;
    product_.outputs = args_.outputs;
    product_.x_stride = args_.channels;
    product_.y_stride = args_.outputs;
    product_.min = -kInfinity;
    product_.max = kInfinity;
    panels_ = DensePanelCount(product_, *environment_.kernels);
    DivideWork();
    return Pack();
  }

  Status Bind(void* workspace) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    workspace_ = static_cast<float*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    if (!by_stages_) {
      pthreadpool_parallelize_1d_with_thread(
          environment_.pool,
          [](void* step, size_t thread, size_t block) {
            static_cast<const WinogradStep*>(step)->RunBlock(thread, block);
          },
          this, pictures_ * blocks_, FollowedFlags());
      return OkStatus();
    }
    for (picture_ = 0; picture_ < pictures_; ++picture_) RunStages();
    return OkStatus();
  }

 private:
  /// Whole blocks are for one thread each; where these are too few, threads share the stages of a block of
  /// all tiles.
  void DivideWork() {
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    const size_t tile_bytes = kernels_.points * (args_.channels + args_.outputs) * sizeof(float);
    const size_t fit = std::max(kLeastTiles, kBlockBytes / tile_bytes);
    blocks_ = DivideUp(tiles_, fit);
    by_stages_ = threads > 1 && pictures_ * blocks_ < kTasksOfThread * threads;
    leads_ = !by_stages_;
    if (by_stages_) blocks_ = 1;
    block_tiles_ = DivideUp(tiles_, blocks_);
    args_.point_inputs = block_tiles_ * args_.channels + kStagger;
    args_.point_outputs = block_tiles_ * args_.outputs + kStagger;
    block_elements_ = kernels_.points * (args_.point_inputs + args_.point_outputs);
    workspace_bytes_ = (by_stages_ ? 1 : threads) * block_elements_ * sizeof(float);
  }

  WinogradArgs ArgsOf(size_t picture) const {
    WinogradArgs args = args_;
    MoveToPicture(picture, &args);
    return args;
  }

  void RunProduct(size_t point, float* windows, float* products, size_t tiles, size_t panel) const {
    DenseArgs args = product_;
    args.x = windows + point * args_.point_inputs;
    args.y = products + point * args_.point_outputs;
    args.weights += point * point_elements_;
    environment_.kernels->dense(args, 0, tiles, panel, panel + 1);
  }

  void RunBlock(size_t thread, size_t index) const {
    const WinogradArgs args = ArgsOf(index / blocks_);
    const size_t first = index % blocks_ * block_tiles_;
    const size_t end = std::min(first + block_tiles_, tiles_);
    float* const windows = workspace_ + thread * block_elements_;
    float* const products = windows + kernels_.points * args_.point_inputs;
    kernels_.input(args, first, end, windows);
    for (size_t point = 0; point < kernels_.points; ++point) {
      // Panel by panel: its weights stay in the first-level cache while all tiles meet them.
      for (size_t panel = 0; panel < panels_; ++panel)
        RunProduct(point, windows, products, end - first, panel);
    }
    kernels_.output(args, first, end, products);
    if (has_follower()) FollowTiles(index / blocks_, first, end);
  }

  /// Lines of the tiles [first, end) of a picture.
  void FollowTiles(size_t picture, size_t first, size_t end) const {
    for (size_t next = 0; first < end; first = next) {
      const size_t line = first / args_.line_tiles;
      next = std::min(end, (line + 1) * args_.line_tiles);
      const size_t column = first % args_.line_tiles * kernels_.tile;
      const size_t end_column = std::min(column + (next - first) * kernels_.tile, args_.output_width);
      const size_t end_row = std::min((line + 1) * kernels_.tile, args_.output_height);
      for (size_t row = line * kernels_.tile; row < end_row; ++row)
        FollowUp((picture * args_.output_height + row) * args_.output_width + column, end_column - column);
    }
  }

  void RunStages() {
    const auto input = [](void* context, size_t tile) {
      const auto& self = *static_cast<const WinogradStep*>(context);
      self.kernels_.input(self.ArgsOf(self.picture_), tile, tile + 1,
                          self.workspace_ + tile * self.args_.channels);
    };
    const auto product = [](void* context, size_t point, size_t panel) {
      const auto& self = *static_cast<const WinogradStep*>(context);
      self.RunProduct(point, self.workspace_, self.Products(), self.tiles_, panel);
    };
    const auto output = [](void* context, size_t tile) {
      const auto& self = *static_cast<const WinogradStep*>(context);
      self.kernels_.output(self.ArgsOf(self.picture_), tile, tile + 1,
                           self.Products() + tile * self.args_.outputs);
    };
    pthreadpool_parallelize_1d(environment_.pool, input, this, tiles_, /*flags=*/0);
    pthreadpool_parallelize_2d(environment_.pool, product, this, kernels_.points, panels_, /*flags=*/0);
    pthreadpool_parallelize_1d(environment_.pool, output, this, tiles_, /*flags=*/0);
  }

  float* Products() const { return workspace_ + kernels_.points * args_.point_inputs; }

  Status Pack() {
    if (product_.weights != nullptr) return OkStatus();
    point_elements_ = DenseGroupElements(product_, *environment_.kernels);
    PackingKey key;
    key.kind = PackingKind::kWinograd;
    key.dtype = DType::kF32;
    key.weights = node_.input(1).hash;
    key.parameters[0] = args_.channels;
    key.parameters[1] = args_.outputs;
    key.parameters[2] = environment_.kernels->dense_outputs;
    key.parameters[3] = kernels_.tile;
    key.packed_bytes = kernels_.points * point_elements_ * sizeof(float);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      kernels_.weights(node_.in(1).as<const float>(), args_.outputs, args_.channels,
                       static_cast<float*>(blob));
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    product_.weights = static_cast<const float*>(packed);
    return OkStatus();
  }

  const WinogradKernels& kernels_;
  WinogradArgs args_;
  DenseArgs product_;
  float* workspace_ = nullptr;
  size_t pictures_ = 0;
  size_t picture_ = 0;  ///< Of RunStages().
  size_t tiles_ = 0;    ///< Of a picture.
  size_t blocks_ = 0;
  size_t block_tiles_ = 0;
  size_t block_elements_ = 0;
  size_t panels_ = 0;
  size_t point_elements_ = 0;  ///< Of packed weights.
  bool by_stages_ = false;
};

/// A float of weights that comes from memory takes the time of nine multiply-adds, at 25 GB/s and 58 G of
/// them a second; to transform a point of a window or of a product takes that of three.
constexpr double kLoadCost = 9;
constexpr double kTransformCost = 3;
/// A smaller gain is not worth the memory.
constexpr double kLeastGain = 1.1;

/// The fastest for these extents, by multiply-adds for each pair of a channel and an output; null for the
/// direct way.
const WinogradKernels* Choose(const Kernels& all, const Shape& weights, const Shape& y) {
  const auto outputs = static_cast<double>(weights[0]);
  const auto channels = static_cast<double>(weights[3]);
  const WinogradKernels* best = nullptr;
  double least = (static_cast<double>(y[0] * y[1] * y[2]) * 9 + kLoadCost * 9) / kLeastGain;
  for (const WinogradKernels& kernels : all.winograd) {
    const auto tile = static_cast<int64_t>(kernels.tile);
    const auto points = static_cast<double>(kernels.points);
    const int64_t tiles_down = (y[1] + tile - 1) / tile;
    const int64_t tiles_across = (y[2] + tile - 1) / tile;
    const auto tiles = static_cast<double>(y[0] * tiles_down * tiles_across);
    const double cost =
        points * (tiles * (1 + kTransformCost / outputs + kTransformCost / channels) + kLoadCost);
    if (cost >= least) continue;
    least = cost;
    best = &kernels;
  }
  return best;
}

/// Chooses the way at each new shape, so that the numbers of a shape do not depend on those that came before.
class ByShapeStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const WinogradKernels* const kernels =
        Choose(*environment_.kernels, node_.in(1).shape, node_.out(0).shape);
    const size_t way =
        kernels == nullptr ? kWinogradSizes : static_cast<size_t>(kernels - environment_.kernels->winograd);
    if (ways_[way] == nullptr) {
      SKIFF_ASSIGN_OR_RETURN(ways_[way], kernels == nullptr
                                             ? LowerDenseConvolution(node_, environment_)
                                             : MakeStep<WinogradStep>(node_, environment_, *kernels));
    }
    chosen_ = ways_[way].get();
    SKIFF_RETURN_IF_ERROR(chosen_->Reshape());
    workspace_bytes_ = chosen_->workspace_bytes();
    leads_ = chosen_->leads();
    return OkStatus();
  }
  Status Bind(void* workspace) override { return chosen_->Bind(workspace); }
  Status Run() override {
    chosen_->SetFollower(follower());
    return chosen_->Run();
  }

 private:
  StepPointer ways_[kWinogradSizes + 1];
  Step* chosen_ = nullptr;
};

}  // namespace

bool MayRunWinograd(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const bool small = attrs.groups == 1 && w[1] == 3 && w[2] == 3;
  const bool plain =
      attrs.strides[0] == 1 && attrs.strides[1] == 1 && attrs.dilations[0] == 1 && attrs.dilations[1] == 1;
  const auto least = static_cast<int64_t>(environment.kernels->depthwise_channels);
  return !environment.exact && RunsDense(node, environment) && small && plain && w[0] >= least &&
         w[3] >= least;
}

Result<StepPointer> LowerWinograd(const NodeView& node, const Environment& environment) {
  return MakeStep<ByShapeStep>(node, environment);
}

}  // namespace skiff::xnnpack
