// Rows times constant codes: of codes, or of f32.
#include <cmath>

#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

struct Layer {
  float min = 0;
  float max = 0;
  bool transposed = false;  ///< The weights are [inputs, outputs], else [outputs, inputs].

  uint32_t flags() const { return transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0; }
};

/// The rows on both sides, and the operator for their strides.
class WeightedRowsStep : public Step {
 public:
  WeightedRowsStep(const NodeView& node, const Environment& environment, const Layer& layer)
      : Step(node, environment), provider_(environment.weights), layer_(layer) {}

  Status Reshape() final {
    const Rows from = RowsOf(node_.in(0));
    Rows to = RowsOf(node_.out(0));
    // A product with a vector drops the axis of its one output.
    outputs_ = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
    if (to.length != outputs_) {
      if (!node_.out(0).dense()) return Refuse();
      to = {from.count, outputs_, outputs_};
    }
    if (!operator_ || from.stride != strides_[0] || to.stride != strides_[1]) {
      strides_[0] = from.stride;
      strides_[1] = to.stride;
      inputs_ = from.length;
      SKIFF_RETURN_IF_ERROR(Create());
    }
    return FromXnn(ReshapeRows(from.count));
  }

  Status Run() final { return operator_.Run(environment_.pool); }

 protected:
  virtual Status Create() = 0;
  virtual xnn_status ReshapeRows(size_t count) = 0;

  PackingKey KeyOf(PackingKind kind, const ContentHash& bias) const {
    PackingKey key;
    key.kind = kind;
    key.dtype = node_.in(1).dtype;
    key.has_bias = node_.Has(2);
    key.flags = layer_.flags();
    key.weights = node_.input(1).hash;
    key.bias = bias;
    key.parameters[0] = inputs_;
    key.parameters[1] = outputs_;
    return key;
  }

  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  const Layer layer_;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  size_t strides_[2] = {};
};

class QuantizedLinearStep final : public WeightedRowsStep {
 public:
  using WeightedRowsStep::WeightedRowsStep;

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    return FromXnn(
        is_signed_
            ? xnn_setup_fully_connected_nc_qs8_qc8w(operator_.get(), x.as<const int8_t>(), y.as<int8_t>())
            : xnn_setup_fully_connected_nc_qu8(operator_.get(), x.as<const uint8_t>(), y.as<uint8_t>()));
  }

 private:
  Status Create() override {
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, outputs_, layer_.min, layer_.max));
    const TensorView& w = node_.in(1);
    const PackingKey key = KeyOf(PackingKind::kLinear, terms.Hash());
    return provider_.Make(
        operator_, key, {inputs_, outputs_}, [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
          if (is_signed_) {
            return xnn_create_fully_connected_nc_qs8_qc8w(
                inputs_, outputs_, strides_[0], strides_[1], terms.x_zero_point<int8_t>(), terms.x_scale(),
                terms.scales(), w.as<const int8_t>(), terms.bias(), terms.y_zero_point<int8_t>(),
                terms.y_scale(), terms.low<int8_t>(), terms.high<int8_t>(), layer_.flags(), nullptr, cache,
                made);
          }
          return xnn_create_fully_connected_nc_qu8(
              inputs_, outputs_, strides_[0], strides_[1], terms.x_zero_point<uint8_t>(), terms.x_scale(),
              terms.weights_zero_point<uint8_t>(), terms.scales()[0], w.as<const uint8_t>(), terms.bias(),
              terms.y_zero_point<uint8_t>(), terms.y_scale(), terms.low<uint8_t>(), terms.high<uint8_t>(),
              layer_.flags(), nullptr, cache, made);
        });
  }

  xnn_status ReshapeRows(size_t count) override {
    return is_signed_ ? xnn_reshape_fully_connected_nc_qs8_qc8w(operator_.get(), count, environment_.pool)
                      : xnn_reshape_fully_connected_nc_qu8(operator_.get(), count, environment_.pool);
  }

  const bool is_signed_ = node_.in(0).dtype == DType::kI8;
};

/// f32 times i8 weights, which stay i8 in memory.
class QuantizedWeightsStep final : public WeightedRowsStep {
 public:
  using WeightedRowsStep::WeightedRowsStep;

  Status Bind(void*) override {
    return FromXnn(xnn_setup_fully_connected_nc_f32_qc8w(operator_.get(), node_.in(0).as<const float>(),
                                                         node_.out(0).as<float>()));
  }

 private:
  Status Create() override {
    const TensorView& w = node_.in(1);
    // XNNPACK scales the bias with the sums: it gets one that is in their units.
    FixedArray<float> scales;
    SKIFF_RETURN_IF_ERROR(scales.Allocate(2 * outputs_));
    float* const bias = node_.Has(2) ? scales.data() + outputs_ : nullptr;
    for (size_t i = 0; i < outputs_; ++i) {
      scales[i] = w.quantization->ScaleAt(w.quantization->per_tensor() ? 0 : static_cast<int64_t>(i));
      if (bias == nullptr) continue;
      const float number = node_.in(2).as<const float>()[i];
      bias[i] = number / scales[i];
      if (std::isfinite(number) && !std::isfinite(bias[i])) return Refuse();
    }
    const PackingKey key =
        KeyOf(PackingKind::kQuantizedWeights,
              HashOf({reinterpret_cast<const uint8_t*>(scales.data()), scales.size() * sizeof(float)}));
    return provider_.Make(
        operator_, key, {inputs_, outputs_}, [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
          return xnn_create_fully_connected_nc_f32_qc8w(inputs_, outputs_, strides_[0], strides_[1],
                                                        scales.data(), w.as<const int8_t>(), bias, layer_.min,
                                                        layer_.max, layer_.flags(), nullptr, cache, made);
        });
  }

  xnn_status ReshapeRows(size_t count) override {
    return xnn_reshape_fully_connected_nc_f32_qc8w(operator_.get(), count, environment_.pool);
  }
};

class QuantizedByShapeStep final : public ByShapeStep {
 public:
  QuantizedByShapeStep(const NodeView& node, const Environment& environment, const Layer& layer)
      : ByShapeStep(node, environment), layer_(layer) {}

 private:
  size_t Choose() override { return RowsOfProduct(node_) >= kLeastCodeRows ? 1 : 0; }
  Result<StepPointer> Make(size_t way) const override {
    return way == 1 ? LowerCodeDense(node_, environment_, {layer_.min, layer_.max, layer_.transposed})
                    : MakeStep<QuantizedLinearStep>(node_, environment_, layer_);
  }

  const Layer layer_;
};

Result<StepPointer> LowerLayer(const NodeView& node, const Environment& environment, const Layer& layer) {
  if (kHasOwnKernels && TakesCodeDense(node, environment))
    return MakeStep<QuantizedByShapeStep>(node, environment, layer);
  if (kHasRowCodes && RunsOnRowCodes(node, environment)) return LowerRowCodes(node, environment);
  // XNNPACK's kernels for Arm take less time for one row.
  if (kHasOwnKernels && !layer.transposed && RunsFewBits(node, environment))
    return LowerFewBits(node, environment, layer.min, layer.max);
  if (node.in(0).quantization == nullptr) return MakeStep<QuantizedWeightsStep>(node, environment, layer);
  return MakeStep<QuantizedLinearStep>(node, environment, layer);
}

}  // namespace

Result<StepPointer> LowerQuantizedFullyConnected(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<ClampAttrs>();
  return LowerLayer(node, environment, {attrs.min, attrs.max, /*transposed=*/false});
}

Result<StepPointer> LowerQuantizedMatMul(const NodeView& node, const Environment& environment) {
  const auto& attrs = node.As<MatMulAttrs>();
  const bool transposed = node.in(1).shape.rank() == 2 && !attrs.transpose_b;
  return LowerLayer(node, environment, {attrs.min, attrs.max, transposed});
}

}  // namespace skiff::xnnpack
