// x * scale + bias for each channel. XNNPACK has a kernel for just that, which takes NaN to a bound on x86.
#include <algorithm>
#include <cmath>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/flushing.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/weights/packing_scope.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kElementsAtOnce = 8192;
/// Rows of few channels, side by side, are taken for one with as many numbers at least: a vector's loops.
constexpr size_t kFewestAtOnce = 64;

class ScaleRowsStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    if (factors_.empty()) SKIFF_RETURN_IF_ERROR(ComputeFactors(from.length));
    const bool dense = from.stride == from.length && to.stride == to.length;
    const size_t together = dense && from.length < kFewestAtOnce ? repeats_ : 1;
    rows_ = from.count / together;
    rest_ = from.count % together * from.length;
    columns_ = from.length * together;
    x_stride_ = from.stride * together;
    y_stride_ = to.stride * together;
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const float>();
    y_ = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t first, size_t count) {
          const auto* s = static_cast<const ScaleRowsStep*>(self);
          s->Scale(first, count, s->columns_);
        },
        this, rows_, std::max<size_t>(kElementsAtOnce / columns_, 1), PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    if (rest_ > 0) Flushing([this] { Scale(rows_, 1, rest_); });
    return OkStatus();
  }

 private:
  void Scale(size_t first, size_t count, size_t columns) const {
    environment_.kernels->scale_rows(count, columns, x_ + first * x_stride_, x_stride_, factors_.data(),
                                     factors_.data() + factors_.size() / 2, limits_, y_ + first * y_stride_,
                                     y_stride_);
  }

  Status ComputeFactors(size_t channels) {
    limits_.min = -kInfinity;
    limits_.max = kInfinity;
    FixedArray<float> once;
    if (node_.op() == OpCode::kBatchNorm) {
      SKIFF_RETURN_IF_ERROR(ComputeBatchNormFactors(node_, &once));
    } else {
      const auto& attrs = node_.As<Conv2dAttrs>();
      limits_.min = attrs.min;
      limits_.max = attrs.max;
      SKIFF_RETURN_IF_ERROR(once.Allocate(2 * channels));
      PackingScope::WillPack();
      std::copy_n(node_.in(1).as<const float>(), channels, once.data());
      if (node_.Has(2)) std::copy_n(node_.in(2).as<const float>(), channels, once.data() + channels);
    }
    repeats_ = std::max<size_t>(kFewestAtOnce / channels, 1);
    SKIFF_RETURN_IF_ERROR(factors_.Allocate(2 * channels * repeats_));
    for (size_t i = 0; i < 2 * repeats_; ++i)
      std::copy_n(once.data() + i / repeats_ * channels, channels, factors_.data() + i * channels);
    return OkStatus();
  }

  size_t rows_ = 0;
  size_t columns_ = 0;
  size_t rest_ = 0;  ///< Numbers of the rows that are left.
  size_t x_stride_ = 0;
  size_t y_stride_ = 0;
  KernelParams limits_;
  size_t repeats_ = 1;
  FixedArray<float> factors_;  ///< Scales, then biases, of as many rows as are repeated.
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

}  // namespace

Status ComputeBatchNormFactors(const NodeView& node, FixedArray<float>* factors) {
  const auto channels = static_cast<size_t>(node.in(0).shape.last());
  SKIFF_RETURN_IF_ERROR(factors->Allocate(2 * channels));
  const auto at = [&](size_t input, size_t i) {
    return static_cast<double>(node.in(input).as<const float>()[i]);
  };
  for (size_t i = 0; i < channels; ++i) {
    const double scale = at(1, i) / std::sqrt(at(4, i) + static_cast<double>(node.As<NormAttrs>().epsilon));
    (*factors)[i] = static_cast<float>(scale);
    (*factors)[channels + i] = static_cast<float>(at(2, i) - at(3, i) * scale);
  }
  return OkStatus();
}

bool RunsScaleRows(const NodeView& node) {
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  const auto all = [](const Ints& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value == wanted; });
  };
  return node.in(0).dtype == DType::kF32 && attrs.groups == w[0] && w.elements() == w[0] &&
         all(attrs.strides, 1) && all(attrs.pads, 0);
}

Result<StepPointer> LowerScaleRows(const NodeView& node, const Environment& environment) {
  return MakeStep<ScaleRowsStep>(node, environment);
}

}  // namespace skiff::xnnpack
