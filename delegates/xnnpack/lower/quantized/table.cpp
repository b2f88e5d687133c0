// Operators that make one code of another: the reference kernel computes all 256 of them once.
// Two codes of one x are one code of it.
#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/quantized/look_up.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "eager/quantized.h"
#include "ops/build_ops.h"

namespace skiff::xnnpack {
namespace {

/// All codes of x, and what nodes make of them.
class Codes {
 public:
  explicit Codes(const TensorView& type)
      : view_(bytes_, type.dtype, Shape{static_cast<int64_t>(kCodes)}, type.quantization) {
    for (size_t i = 0; i < kCodes; ++i) bytes_[i] = static_cast<uint8_t>(i);
  }
  Codes(const Codes&) = delete;
  Codes& operator=(const Codes&) = delete;

  const TensorView& view() const { return view_; }

 private:
  uint8_t bytes_[kCodes];
  const TensorView view_;
};

Status ComputeCodes(const NodeView& node, Span<const TensorView> inputs, const TensorView& output) {
  const KernelArgs args = {node.op(), &node.attrs(), inputs, {&output, 1}};
  double scratch[4 * kCodes];
  if (eager::QuantizedScratchBytes(args) > sizeof(scratch)) return Refuse();
  return eager::RunQuantized(node.def(), args, reinterpret_cast<unsigned char*>(scratch));
}

class TableStep final : public KernelRowsStep {
 public:
  using KernelRowsStep::KernelRowsStep;

  Status Fill() {
    const Codes x(node_.in(0));
    return ComputeCodes(node_, {&x.view(), 1}, Result());
  }

  Status FillComposed(const NodeView& inner, size_t x_index) {
    const Codes x(node_.in(x_index));
    const Codes between(inner.out(0));
    SKIFF_RETURN_IF_ERROR(ComputeCodes(inner, {&x.view(), 1}, between.view()));
    const TensorView inputs[] = {x_index == 0 ? x.view() : between.view(),
                                 x_index == 0 ? between.view() : x.view()};
    return ComputeCodes(node_, {inputs, 2}, Result());
  }

 private:
  void Compute(size_t n, const void* x, void* y) const override {
    look_up_(n, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), table_.bytes);
  }

  TensorView Result() {
    const TensorView& y = node_.out(0);
    return {table_.bytes, y.dtype, Shape{static_cast<int64_t>(kCodes)}, y.quantization};
  }

  const SkiffLookUpFn look_up_ = xnn_init_x8_lut_config()->microkernel;
  CodeTable table_;
};

}  // namespace

Result<StepPointer> LowerQuantizedTable(const NodeView& node, const Environment& environment) {
  if (!kBuildHasKernels || node.def().kernel == nullptr) return Refuse();
  SKIFF_ASSIGN_OR_RETURN(StepPointer step, MakeStep<TableStep>(node, environment));
  SKIFF_RETURN_IF_ERROR(static_cast<TableStep&>(*step).Fill());
  return step;
}

Result<StepPointer> LowerComposedTable(const NodeView& inner, const NodeView& node, size_t x,
                                       const Environment& environment) {
  if (!kBuildHasKernels || node.def().kernel == nullptr || inner.def().kernel == nullptr) return Refuse();
  SKIFF_ASSIGN_OR_RETURN(StepPointer step, MakeStep<TableStep>(node, environment, x));
  SKIFF_RETURN_IF_ERROR(static_cast<TableStep&>(*step).FillComposed(inner, x));
  return step;
}

}  // namespace skiff::xnnpack
