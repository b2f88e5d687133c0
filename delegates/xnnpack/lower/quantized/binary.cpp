// Binary operators of codes with broadcasting, in steps of the output.
#include <cstring>

#include "delegates/xnnpack/lower/broadcast.h"
#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/quantized_support.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

struct BinaryRow {
  BinaryKernel kernel;
  OpCode op;
  bool clamps;  ///< Arithmetic carries a clamp.
};

constexpr BinaryRow kRows[] = {
    {BinaryKernel::kAdd, OpCode::kAdd, true},      {BinaryKernel::kSub, OpCode::kSub, true},
    {BinaryKernel::kMul, OpCode::kMul, true},      {BinaryKernel::kDiv, OpCode::kDiv, true},
    {BinaryKernel::kMin, OpCode::kMin, false},     {BinaryKernel::kMax, OpCode::kMax, false},
    {BinaryKernel::kPRelu, OpCode::kPRelu, false},
};

class CodeBinaryStep final : public BroadcastStep {
 public:
  CodeBinaryStep(const NodeView& node, const Environment& environment, const BinaryRow& row)
      : BroadcastStep(node, environment),
        kernel_(environment.kernels->codes
                    .binary[static_cast<size_t>(row.kernel)][CodeTypeOf(node.out(0).dtype)]) {
    const ClampAttrs clamp = row.clamps ? node.As<ClampAttrs>() : ClampAttrs();
    const CodeParams y = CodeParamsOf(node.out(0), clamp.min, clamp.max);
    const Quantization& a = *node.in(0).quantization;
    const Quantization& b = *node.in(1).quantization;
    const CodeFactors factors = CodeFactorsOf(node.op(), a.scale, b.scale, node.out(0).quantization->scale);
    params_ = {factors.a,    factors.b,   static_cast<float>(y.low), static_cast<float>(y.high), a.zero_point,
               b.zero_point, y.zero_point};
  }

 private:
  static constexpr size_t kBlock = 1024;

  void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) override {
    for (int i = 0; i < 2; ++i) repeats_[i] = repeats[i];
  }

  /// An input that is one value throughout a run becomes a block of them.
  void Compute(size_t n, const Addresses& at) const override {
    if (!repeats_[0] && !repeats_[1]) return kernel_(n, at[1], at[2], at[0], params_);
    char blocks[2][kBlock];
    const size_t block = n < kBlock ? n : kBlock;
    const char* from[2];
    for (int i = 0; i < 2; ++i) {
      from[i] = repeats_[i] ? blocks[i] : at[1 + i];
      if (repeats_[i]) std::memset(blocks[i], *at[1 + i], block);
    }
    for (size_t done = 0; done < n; done += block) {
      kernel_(n - done < block ? n - done : block, from[0], from[1], at[0] + done, params_);
      for (int i = 0; i < 2; ++i) from[i] += repeats_[i] ? 0 : block;
    }
  }

  const CodeBinaryFn kernel_;
  CodeBinaryParams params_;
  bool repeats_[2] = {};
};

}  // namespace

Result<StepPointer> LowerQuantizedBinary(const NodeView& node, const Environment& environment) {
  for (const BinaryRow& row : kRows) {
    if (row.op == node.op()) return MakeStep<CodeBinaryStep>(node, environment, row);
  }
  return Refuse();
}

}  // namespace skiff::xnnpack
