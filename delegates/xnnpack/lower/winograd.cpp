// Convolutions of 3 x 3 by Winograd's minimal filtering, where that takes less time than the direct way.
#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/winograd_tiles.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

class WinogradStep final : public WinogradTiles {
 public:
  WinogradStep(const NodeView& node, const Environment& environment, const WinogradKernels& kernels)
      : WinogradTiles(node, environment), kernels_(kernels) {}

  Status Reshape() override {
    args_.bias = node_.Has(2) ? node_.in(2).as<const float>() : nullptr;
    product_.run = product_.x_stride = static_cast<size_t>(node_.in(1).shape[3]);
    product_.outputs = product_.y_stride = static_cast<size_t>(node_.in(1).shape[0]);
    product_.min = -kInfinity;
    product_.max = kInfinity;
    SKIFF_RETURN_IF_ERROR(DescribeTiles(kernels_.tile, sizeof(float), sizeof(float), product_.outputs,
                                        product_, product_.run, &args_));
    return Pack();
  }

  Status Bind(void* workspace) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    SetWorkspace(workspace);
    return OkStatus();
  }

 private:
  WinogradArgs ArgsOf(size_t picture, size_t phase) const {
    WinogradArgs args = args_;
    MoveToPicture(picture, &args);
    TakePhaseOf(phase, &args);
    return args;
  }

  void MakeWindows(size_t picture, size_t first_tile, size_t end_tile, uint8_t* windows) const override {
    ForPhases(first_tile, end_tile, [&](size_t phase, size_t first, size_t end, size_t before) {
      kernels_.input(ArgsOf(picture, phase), first, end,
                     reinterpret_cast<float*>(windows) + before * args_.channels);
    });
  }

  void MakeProducts(size_t point, size_t first_panel, size_t end_panel, size_t tiles, const uint8_t* windows,
                    uint8_t* products) const override {
    DenseArgs args = product_;
    args.x = reinterpret_cast<const float*>(windows) + point * args_.point_inputs;
    args.y = reinterpret_cast<float*>(products) + point * args_.point_outputs;
    args.weights += point * point_elements_;
    environment_.kernels->dense(args, 0, tiles, first_panel, end_panel);
  }

  void MakeOutputs(size_t picture, size_t first_tile, size_t end_tile,
                   const uint8_t* products) const override {
    ForPhases(first_tile, end_tile, [&](size_t phase, size_t first, size_t end, size_t before) {
      kernels_.output(ArgsOf(picture, phase), first, end,
                      reinterpret_cast<const float*>(products) + before * args_.outputs);
    });
  }

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
    key.packed_bytes = WinogradPoints(kernels_.tile) * point_elements_ * sizeof(float);
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
  size_t point_elements_ = 0;  ///< Of packed weights.
};

/// Measured on x86-64, predicted for Arm (docs/arm_kernels.md), whose cores store and add fewer vectors at a
/// time.
#if defined(__aarch64__)
constexpr double kTransformCost = 8;
#else
constexpr double kTransformCost = 3;
#endif

Result<StepPointer> LowerDirect(const NodeView& node, const Environment& environment) {
  return kHasOwnKernels ? LowerDenseConvolution(node, environment)
                        : LowerXnnpackConvolution(node, environment);
}

class WinogradByShapeStep final : public ByShapeStep {
 public:
  using ByShapeStep::ByShapeStep;

 private:
  static_assert(kWays > kWinogradSizes);
  /// The fastest for these extents: the direct way, then by size.
  size_t Choose() override {
    const Shape& weights = node_.in(1).shape;
    const Shape& y = node_.out(0).shape;
    const Ints& dilations = node_.As<Conv2dAttrs>().dilations;
    const WinogradCosts costs = {kTransformCost, LoadCost(*environment_.kernels)};
    double least = DirectCost(y, costs) / kLeastWinogradGain;
    size_t best = 0;
    for (size_t size = 0; size < kWinogradSizes; ++size) {
      const size_t tile = environment_.kernels->winograd[size].tile;
      const double cost = WinogradCost(tile, weights, y, dilations, costs);
      if (cost >= least) continue;
      least = cost;
      best = 1 + size;
    }
    return best;
  }
  Result<StepPointer> Make(size_t way) const override {
    return way == 0 ? LowerDirect(node_, environment_)
                    : MakeStep<WinogradStep>(node_, environment_, environment_.kernels->winograd[way - 1]);
  }
};

}  // namespace

bool MayRunWinograd(const NodeView& node, const Environment& environment) {
  return !environment.exact && environment.kernels->dense != nullptr && node.in(0).dtype == DType::kF32 &&
         IsWinogradShape(node, *environment.kernels);
}

Result<StepPointer> LowerWinograd(const NodeView& node, const Environment& environment) {
  return MakeStep<WinogradByShapeStep>(node, environment);
}

}  // namespace skiff::xnnpack
