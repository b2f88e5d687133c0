// Operators that make one code of another: the reference kernel computes all 256 of them once.
#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "eager/quantized.h"

namespace skiff::xnnpack {
namespace {

constexpr int64_t kCodes = 256;

class TableStep final : public KernelRowsStep {
 public:
  using KernelRowsStep::KernelRowsStep;

  Status Fill() {
    uint8_t codes[kCodes];
    for (int i = 0; i < kCodes; ++i) codes[i] = static_cast<uint8_t>(i);
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    const TensorView input(codes, x.dtype, Shape{kCodes}, x.quantization);
    const TensorView output(table_, y.dtype, Shape{kCodes}, y.quantization);
    const KernelArgs args = {node_.op(), &node_.attrs(), {&input, 1}, {&output, 1}};
    double scratch[2 * kCodes];
    if (eager::QuantizedScratchBytes(args) > sizeof(scratch)) return Refuse();
    return eager::RunQuantized(node_.def(), args, reinterpret_cast<unsigned char*>(scratch));
  }

 private:
  void Compute(size_t n, const void* x, void* y) const override {
    LookUp(n, static_cast<const uint8_t*>(x), table_, static_cast<uint8_t*>(y));
  }

  uint8_t table_[kCodes] = {};
};

}  // namespace

Result<StepPointer> LowerQuantizedTable(const NodeView& node, const Environment& environment) {
  if (!kBuildHasKernels || node.def().kernel == nullptr) return Refuse();
  SKIFF_ASSIGN_OR_RETURN(StepPointer step, MakeStep<TableStep>(node, environment));
  SKIFF_RETURN_IF_ERROR(static_cast<TableStep&>(*step).Fill());
  return step;
}

}  // namespace skiff::xnnpack
