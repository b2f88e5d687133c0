// Rows of codes that are chosen at run time times constant codes, to f32.
#include "delegates/xnnpack/lower/quantized/row_codes.h"

namespace skiff::xnnpack {
namespace {

class RowCodesLinearStep final : public Step {
 public:
  RowCodesLinearStep(const NodeView& node, const Environment& environment, const TensorView& weights,
                     float min, float max)
      : Step(node, environment), weights_(weights), min_(min), max_(max), provider_(environment.weights) {
    wants_codes_ = true;
  }

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Rows to = RowsOf(node_.out(0));
    inputs_ = static_cast<size_t>(x.shape.last());
    const size_t rows = static_cast<size_t>(x.shape.elements()) / inputs_;
    if (!x.dense() || to.count != rows) return Refuse();
    if (!operator_ || to.stride != stride_) {
      stride_ = to.stride;
      outputs_ = to.length;
      SKIFF_RETURN_IF_ERROR(Create());
    }
    SKIFF_RETURN_IF_ERROR(params_.Reshape(rows));
    return FromXnn(xnn_reshape_fully_connected_nc_qd8_f32_qc8w(operator_.get(), rows, environment_.pool));
  }

  Status Bind(void*) override {
    return FromXnn(xnn_setup_fully_connected_nc_qd8_f32_qc8w(
        operator_.get(), codes_->codes(), node_.out(0).as<float>(), params_.Bind(*codes_)));
  }

  Status Run() override {
    params_.Fill(*codes_);
    SKIFF_RETURN_IF_ERROR(operator_.Run(environment_.pool));
    params_.KeepNan(node_.out(0).as<float>(), 1, outputs_, stride_);
    return OkStatus();
  }

 private:
  Status Create() {
    RowTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, weights_, outputs_));
    PackingKey key = terms.Key(PackingKind::kRowCodesLinear, node_);
    key.parameters[0] = inputs_;
    key.parameters[1] = outputs_;
    return provider_.Make(
        operator_, key, {inputs_, outputs_}, [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
          return xnn_create_fully_connected_nc_qd8_f32_qc8w(inputs_, outputs_, inputs_, stride_,
                                                            terms.scales(), weights_.as<const int8_t>(),
                                                            terms.bias(), min_, max_,
                                                            /*flags=*/0, nullptr, cache, made);
        });
  }

  const TensorView weights_;
  const float min_;
  const float max_;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  RowParams params_;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  size_t stride_ = 0;
};

}  // namespace

Result<StepPointer> LowerRowCodesLinear(const NodeView& node, const Environment& environment,
                                        const TensorView& weights, float min, float max) {
  return MakeStep<RowCodesLinearStep>(node, environment, weights, min, max);
}

}  // namespace skiff::xnnpack
