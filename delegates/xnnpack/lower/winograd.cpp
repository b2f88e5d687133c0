// Convolutions of 3 x 3 by Winograd's minimal filtering, where that takes less time than the direct way.
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
    SKIFF_RETURN_IF_ERROR(DescribeTiles(kernels_.tile, kernels_.points, sizeof(float), sizeof(float),
                                        product_.outputs, product_, product_.run, &args_));
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
  size_t point_elements_ = 0;  ///< Of packed weights.
};

/// Where two halves of a vector take turns, memory is no slower than it is for the kernels of half as many
/// lanes.
double LoadCost(const Kernels& kernels) {
  return kernels.narrower != nullptr && WideVectorsAreTwoHalves() ? kernels.narrower->load_cost
                                                                  : kernels.load_cost;
}

/// The fastest for these extents; null for the direct way.
const WinogradKernels* Choose(const Kernels& all, const NodeView& node) {
  const Shape& weights = node.in(1).shape;
  const Shape& y = node.out(0).shape;
  const Ints& dilations = node.As<Conv2dAttrs>().dilations;
  const double load_cost = LoadCost(all);
  const WinogradKernels* best = nullptr;
  double least = DirectCost(y, load_cost) / kLeastWinogradGain;
  for (const WinogradKernels& kernels : all.winograd) {
    const double cost = WinogradCost(kernels.tile, kernels.points, weights, y, dilations, load_cost);
    if (cost >= least) continue;
    least = cost;
    best = &kernels;
  }
  return best;
}

Result<StepPointer> LowerDirect(const NodeView& node, const Environment& environment) {
  return kHasOwnKernels ? LowerDenseConvolution(node, environment)
                        : LowerXnnpackConvolution(node, environment);
}

/// Chooses the way at each new shape, so that the numbers of a shape do not depend on those that came before.
class ByShapeStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const WinogradKernels* const kernels = Choose(*environment_.kernels, node_);
    const size_t way =
        kernels == nullptr ? kWinogradSizes : static_cast<size_t>(kernels - environment_.kernels->winograd);
    if (ways_[way] == nullptr) {
      SKIFF_ASSIGN_OR_RETURN(ways_[way], kernels == nullptr
                                             ? LowerDirect(node_, environment_)
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
  return !environment.exact && environment.kernels->dense != nullptr && node.in(0).dtype == DType::kF32 &&
         IsWinogradShape(node, *environment.kernels);
}

Result<StepPointer> LowerWinograd(const NodeView& node, const Environment& environment) {
  return MakeStep<ByShapeStep>(node, environment);
}

}  // namespace skiff::xnnpack
