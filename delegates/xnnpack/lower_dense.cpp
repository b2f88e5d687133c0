// Rows times constant weights with kernels of our own: fully connected layers, matrix products and 1 x 1
// convolutions.
#include <algorithm>

#include "delegates/xnnpack/own_kernels.h"
#include "delegates/xnnpack/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Rows that one thread takes through all weights of a panel: they stay in its cache from panel to panel.
constexpr size_t kBlockRows = 96;

class DenseStep final : public Step {
 public:
  DenseStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment), layer_(layer), panel_(environment.kernels->dense_outputs) {}

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    args_.inputs = from.length;
    args_.outputs = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
    args_.x_stride = from.stride;
    args_.y_stride = to.stride;
    // A product with a vector drops the axis of its one output.
    if (to.length != args_.outputs) {
      if (!node_.out(0).dense()) return Refuse();
      args_.y_stride = args_.outputs;
    }
    args_.min = layer_.min;
    args_.max = layer_.max;
    rows_ = from.count;
    return args_.weights == nullptr ? Pack() : OkStatus();
  }

  Status Bind(void*) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    const size_t blocks = (rows_ + kBlockRows - 1) / kBlockRows;
    const size_t panels = (args_.outputs + panel_ - 1) / panel_;
    pthreadpool_parallelize_2d(environment_.pool, &RunPanel, this, blocks, panels, /*flags=*/0);
    return OkStatus();
  }

 private:
  static void RunPanel(void* step, size_t block, size_t panel) {
    const auto& self = *static_cast<const DenseStep*>(step);
    const size_t first = block * kBlockRows;
    self.environment_.kernels->dense(self.args_, first, std::min(first + kBlockRows, self.rows_),
                                     panel * self.panel_);
  }

  Status Pack() {
    const TensorView& w = node_.in(1);
    const size_t half = panel_ / 2;
    const size_t columns = (args_.outputs + half - 1) / half * half;  // With those that do not exist.
    PackingKey key;
    key.kind = PackingKind::kDense;
    key.dtype = w.dtype;
    key.has_bias = node_.Has(2);
    key.flags = layer_.transposed ? 1 : 0;
    key.weights = node_.input(1).hash;
    if (key.has_bias) key.bias = node_.input(2).hash;
    key.parameters[0] = args_.inputs;
    key.parameters[1] = args_.outputs;
    key.parameters[2] = panel_;
    key.packed_bytes = (1 + args_.inputs) * columns * sizeof(float);
    const void* const packed = environment_.weights->FindOrPack(
        key, [&](void* blob) { PackPanels(static_cast<float*>(blob), columns); });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const float*>(packed);
    return OkStatus();
  }

  void PackPanels(float* to, size_t columns) const {
    const auto* weights = node_.in(1).as<const float>();
    const float* const bias = node_.Has(2) ? node_.in(2).as<const float>() : nullptr;
    const size_t input_step = layer_.transposed ? args_.outputs : 1;
    const size_t output_step = layer_.transposed ? 1 : args_.inputs;
    for (size_t first = 0; first < columns; first += panel_) {
      const size_t width = std::min(panel_, columns - first);
      const size_t exist = std::min(width, args_.outputs - first);
      std::fill_n(to, width, 0.0f);
      if (bias != nullptr) std::copy_n(bias + first, exist, to);
      to += width;
      const float* from = weights + first * output_step;
      for (size_t k = 0; k < args_.inputs; ++k, from += input_step, to += width) {
        for (size_t i = 0; i < exist; ++i) to[i] = from[i * output_step];
        std::fill(to + exist, to + width, 0.0f);
      }
    }
  }

  const DenseLayer layer_;
  const size_t panel_;
  DenseArgs args_;
  size_t rows_ = 0;
};

}  // namespace

bool RunsDense(const NodeView& node, const Environment& environment) {
  return environment.kernels->dense != nullptr && node.in(0).dtype == DType::kF32;
}

Result<StepPointer> LowerDense(const NodeView& node, const Environment& environment,
                               const DenseLayer& layer) {
  return MakeStep<DenseStep>(node, environment, layer);
}

}  // namespace skiff::xnnpack
