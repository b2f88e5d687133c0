// Rows of codes that are chosen at run time times constant codes, to f32, by XNNPACK. Its weights have no
// zero points: where the node's have, a row's sum of codes, times what the weights are more by, is added
// behind it.
#include <algorithm>

#include "delegates/xnnpack/lower/quantized/row_codes.h"

namespace skiff::xnnpack {
namespace {

class RowCodesLinearStep final : public Step {
 public:
  RowCodesLinearStep(const NodeView& node, const Environment& environment, const TensorView& weights,
                     float min, float max)
      : Step(node, environment), weights_(weights), min_(min), max_(max), provider_(environment.weights) {
    wants_codes_ = true;
    packs_stored_ = true;
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
    rows_ = rows;
    SKIFF_RETURN_IF_ERROR(params_.Reshape(rows));
    return FromXnn(xnn_reshape_fully_connected_nc_qd8_f32_qc8w(operator_.get(), rows, environment_.pool));
  }

  Status Bind(void*) override {
    bound_ = params_.Bind(*codes_);
    return FromXnn(xnn_setup_fully_connected_nc_qd8_f32_qc8w(operator_.get(), codes_->codes(),
                                                             node_.out(0).as<float>(), bound_));
  }

  Status Run() override {
    params_.Fill(*codes_);
    SKIFF_RETURN_IF_ERROR(operator_.Run(environment_.pool));
    if (terms_.excess() != nullptr) {
      pthreadpool_parallelize_1d(
          environment_.pool,
          [](void* self, size_t row) { static_cast<const RowCodesLinearStep*>(self)->AddExcess(row); }, this,
          rows_, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    }
    params_.KeepNan(node_.out(0).as<float>(), 1, outputs_, stride_);
    return OkStatus();
  }

 private:
  void AddExcess(size_t row) const {
    const xnn_quantization_params& params = bound_[row];
    const int32_t sum = environment_.kernels->codes.sum[0](inputs_, codes_->codes() + row * inputs_) -
                        static_cast<int32_t>(inputs_) * params.zero_point;
    float* const y = node_.out(0).as<float>() + row * stride_;
    const float* const runs[] = {y, terms_.excess()};
    const float factors[] = {1, params.scale * static_cast<float>(sum)};
    environment_.kernels->mix(outputs_, 2, runs, factors, y);
    if (min_ > -kInfinity || max_ < kInfinity)
      std::transform(y, y + outputs_, y, [&](float x) { return std::min(std::max(x, min_), max_); });
  }

  /// As codes of i8.
  Status CentreWeights(FixedArray<int8_t>* to) const {
    const size_t count = inputs_ * outputs_;
    const auto* const from = weights_.as<const uint8_t>();
    SKIFF_RETURN_IF_ERROR(to->Allocate(count));
    std::transform(from, from + count, to->data(),
                   [](uint8_t code) { return static_cast<int8_t>(code ^ 0x80); });
    return OkStatus();
  }

  Status Create() {
    SKIFF_RETURN_IF_ERROR(terms_.Prepare(node_, weights_, outputs_));
    float min = min_;
    float max = max_;
    if (terms_.excess() != nullptr) {  // Clamped behind what is added.
      min = -kInfinity;
      max = kInfinity;
    }
    const bool is_signed = weights_.dtype == DType::kI8;
    FixedArray<int8_t> centred;
    if (!is_signed) SKIFF_RETURN_IF_ERROR(CentreWeights(&centred));
    PackingKey key = terms_.Key(PackingKind::kRowCodesLinear, node_, weights_);
    key.parameters[0] = inputs_;
    key.parameters[1] = outputs_;
    return provider_.Make(operator_, key, {inputs_, outputs_},
                          [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
                            return xnn_create_fully_connected_nc_qd8_f32_qc8w(
                                inputs_, outputs_, inputs_, stride_, terms_.scales(),
                                is_signed ? weights_.as<const int8_t>() : centred.data(), terms_.bias(), min,
                                max, /*flags=*/0, nullptr, cache, made);
                          });
  }

  const TensorView weights_;
  const float min_;
  const float max_;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  RowTerms terms_;
  RowParams params_;
  const xnn_quantization_params* bound_ = nullptr;
  size_t rows_ = 0;
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
