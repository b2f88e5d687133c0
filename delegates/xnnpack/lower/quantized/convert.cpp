// From f32 to codes and back.
#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"

namespace skiff::xnnpack {
namespace {

class QuantizeStep final : public KernelRowsStep {
 public:
  QuantizeStep(const NodeView& node, const Environment& environment)
      : KernelRowsStep(node, environment),
        params_(CodeParamsOf(node.out(0), -kInfinity, kInfinity)),
        kernel_(environment.kernels->codes.quantize[IntegerTypeOf(node.out(0).dtype)]) {}

 private:
  void Compute(size_t n, const void* x, void* y) const override {
    kernel_(n, static_cast<const float*>(x), y, params_);
  }

  const CodeParams params_;
  const QuantizeFn kernel_;
};

DequantizeFn KernelOf(const NodeView& node, const Environment& environment) {
  return environment.kernels->codes.dequantize[IntegerTypeOf(node.in(0).dtype)];
}

class DequantizeStep final : public KernelRowsStep {
 public:
  DequantizeStep(const NodeView& node, const Environment& environment)
      : KernelRowsStep(node, environment),
        scale_(static_cast<double>(node.in(0).quantization->scale)),
        zero_point_(node.in(0).quantization->zero_point),
        kernel_(KernelOf(node, environment)) {}

 private:
  void Compute(size_t n, const void* x, void* y) const override {
    kernel_(n, x, static_cast<float*>(y), scale_, zero_point_);
  }

  const double scale_;
  const double zero_point_;
  const DequantizeFn kernel_;
};

/// Scales along an axis: each run of neighbours has one.
class DequantizeAxisStep final : public Step {
 public:
  DequantizeAxisStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), kernel_(KernelOf(node, environment)) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    if (!x.dense() || !node_.out(0).dense()) return Refuse();
    const int axis = x.quantization->axis;
    extent_ = static_cast<size_t>(x.shape[axis]);
    run_ = static_cast<size_t>(x.shape.ElementsBetween(axis + 1, x.shape.rank()));
    outer_ = static_cast<size_t>(x.shape.ElementsBetween(0, axis));
    bytes_ = ElementBytes(x);
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const char>();
    y_ = node_.out(0).as<float>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          const auto* s = static_cast<const DequantizeAxisStep*>(self);
          for (size_t i = begin; i < begin + count; ++i) s->ComputeRun(i);
        },
        this, outer_ * extent_, environment_.pool == nullptr ? outer_ * extent_ : 1 + kBlock / run_,
        /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 8192;

  void ComputeRun(size_t index) const {
    const Quantization& quantization = *node_.in(0).quantization;
    const auto at = static_cast<int64_t>(index % extent_);
    kernel_(run_, x_ + index * run_ * bytes_, y_ + index * run_,
            static_cast<double>(quantization.ScaleAt(at)), quantization.ZeroPointAt(at));
  }

  const DequantizeFn kernel_;
  size_t outer_ = 0;
  size_t extent_ = 0;
  size_t run_ = 0;  ///< Elements.
  size_t bytes_ = 0;
  const char* x_ = nullptr;
  float* y_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerQuantizedQuantize(const NodeView& node, const Environment& environment) {
  return MakeStep<QuantizeStep>(node, environment);
}

Result<StepPointer> LowerQuantizedDequantize(const NodeView& node, const Environment& environment) {
  if (node.in(0).quantization->per_tensor()) return MakeStep<DequantizeStep>(node, environment);
  return MakeStep<DequantizeAxisStep>(node, environment);
}

}  // namespace skiff::xnnpack
