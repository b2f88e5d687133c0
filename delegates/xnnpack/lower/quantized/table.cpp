// Operators that make one code of another: the reference kernel computes all 256 of them once. Of Lookup the
// model has them.
#include <cstring>

#include "delegates/xnnpack/lower/kernel_rows.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/quantized/look_up.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "eager/quantized.h"
#include "ops/build_ops.h"

namespace skiff::xnnpack {
namespace {

/// All codes of x.
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

class TableStep final : public KernelRowsStep {
 public:
  using KernelRowsStep::KernelRowsStep;

  Status Fill() {
    const Codes x(node_.in(0));
    const TensorView& y = node_.out(0);
    const TensorView table(table_.bytes, y.dtype, Shape{static_cast<int64_t>(kCodes)}, y.quantization);
    const KernelArgs args = {node_.op(), &node_.attrs(), {&x.view(), 1}, {&table, 1}};
    double scratch[2 * kCodes];
    if (eager::QuantizedScratchBytes(args) > sizeof(scratch)) return Refuse();
    return eager::RunQuantized(node_.def(), args, reinterpret_cast<unsigned char*>(scratch));
  }

  void Take(const TensorView& table) { std::memcpy(table_.bytes, table.data, kCodes); }

 private:
  void Compute(size_t n, const void* x, void* y) const override {
    look_up_(n, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), table_.bytes);
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

Result<StepPointer> LowerLookup(const NodeView& node, const Environment& environment) {
  SKIFF_ASSIGN_OR_RETURN(StepPointer step, MakeStep<TableStep>(node, environment));
  static_cast<TableStep&>(*step).Take(node.in(1));
  return step;
}

}  // namespace skiff::xnnpack
