/// Products of rows whose codes are chosen at run time (FakeQuantize) with constant codes: integers in
/// between.
#pragma once

#include <xnnpack.h>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/step.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/build_ops.h"
#include "ops/quantized.h"

namespace skiff::xnnpack {

/// Without the operator, none of this is linked.
inline constexpr bool kHasRowCodes = BuildHas(OpCode::kFakeQuantize);

/// Writes the real numbers that the codes stand for, or in their place the codes, or both: what those behind
/// it read.
class FakeQuantizeStep final : public Step {
 public:
  FakeQuantizeStep(const NodeView& node, const Environment& environment);

  FakeQuantizeStep* AsFakeQuantize() override { return this; }
  /// After Reshape(). kOutOfMemory: codes that the output has no room for beside the numbers.
  Status Want(bool codes, bool reals);

  Status Reshape() override;
  Status Bind(void* workspace) override;
  Status Run() override;

  /// From Bind() on: dense, with readable bytes behind them; and for each row what they mean, or for each of
  /// the blocks that rows are cut into.
  const int8_t* codes() const { return codes_at_; }
  const xnn_quantization_params* params() const { return params_; }
  const BlockOfCodes* blocks_of_codes() const { return blocks_of_codes_; }
  size_t rows() const { return rows_; }

 private:
  static constexpr size_t kBlock = 8192;  ///< Elements that a thread takes at a time.
  struct Range {
    float low = 0;
    float high = 0;
  };

  const float* RowAt(size_t row) const { return node_.in(0).as<const float>() + row * length_; }
  size_t BlockLength(size_t block) const;
  Range RangeOf(size_t n, const float* x) const;
  void SetRow(size_t row, Range range) const;
  void Round(size_t row, size_t begin, size_t n) const;
  void RunRow(size_t row) const;
  void RunBlocks();
  void RunBlocksOfCodes();

  const bool symmetric_;
  const size_t block_;  ///< 0: a row has one scale. Else a block of one is a row here.
  size_t rows_ = 0;
  size_t length_ = 0;
  size_t blocks_ = 0;  ///< Of a row.
  bool wants_reals_ = true;
  bool makes_codes_ = false;
  FixedArray<Range> ranges_;                        ///< Of blocks, where rows have several.
  FixedArray<unsigned char> aside_;                 ///< Codes, where the output has no room for them.
  FixedArray<xnn_quantization_params> own_params_;  ///< Where nobody reads codes.
  int8_t* codes_at_ = nullptr;
  xnn_quantization_params* params_ = nullptr;
  BlockOfCodes* blocks_of_codes_ = nullptr;
};

/// What the products read of a FakeQuantizeStep: parameters for each of their rows, of which there may be
/// more.
class RowParams {
 public:
  /// `rows`: of the product; a multiple of those of the codes.
  Status Reshape(size_t rows);
  const xnn_quantization_params* Bind(const FakeQuantizeStep& codes);
  /// Once the codes are there.
  void Fill(const FakeQuantizeStep& codes);
  /// Once the products are there: those of a row with a NaN or an infinity are NaN, which XNNPACK's kernels
  /// take to a bound of the clamp. A row has `runs` runs of `length` results, `stride` apart.
  void KeepNan(float* results, size_t runs, size_t length, size_t stride) const;

 private:
  size_t rows_ = 0;
  bool repeated_ = false;
  const xnn_quantization_params* bound_ = nullptr;
  FixedArray<xnn_quantization_params> params_;
};

/// Scales of the weights and biases, one of each for every output. The biases are added to real numbers.
class RowTerms {
 public:
  Status Prepare(const NodeView& node, const TensorView& weights, size_t outputs);
  const float* scales() const { return numbers_.data(); }
  const float* bias() const { return numbers_.data() + outputs_; }
  /// The real numbers by which the weights are more than if the middle of their codes stood for 0; null
  /// where it does.
  const float* excess() const { return numbers_.size() > 2 * outputs_ ? bias() + outputs_ : nullptr; }
  /// Of weights that are packed with these; what depends on the kind is to be added.
  PackingKey Key(PackingKind kind, const NodeView& node, const TensorView& weights) const;

 private:
  FixedArray<float> numbers_;
  size_t outputs_ = 0;
};

/// The FakeQuantize of this node's segment that makes its input 0; nothing where there is none.
std::optional<NodeView> CodesBehind(const NodeView& node);

/// Whether a Conv2d or FullyConnected node behind a FakeQuantize of its segment has weights for this, and
/// this CPU is no faster with floats.
bool RunsOnRowCodes(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerRowCodes(const NodeView& node, const Environment& environment);

/// The code of i8 or u8 that is one of i8 without a zero point.
inline int32_t MiddleCode(DType dtype) { return dtype == DType::kU8 ? 128 : 0; }
inline bool IsAroundMiddle(const TensorView& weights) {
  return HasZeroPoint(*weights.quantization, MiddleCode(weights.dtype));
}

/// Whether kernels of ours take such products of rows: they know of zero points.
bool HasRowCodesDense(const Kernels& kernels);
/// The same of a Conv2d node's windows, where that takes less time than floats.
bool TakesWindowsOfRowCodes(const NodeView& node, const TensorView& weights, const Kernels& kernels);

// The kinds. `weights` outlive the step; those of LowerRowCodesConvolution() are around the middle of i8.
Result<StepPointer> LowerRowCodesLinear(const NodeView& node, const Environment& environment,
                                        const TensorView& weights, float min, float max);
Result<StepPointer> LowerRowCodesDense(const NodeView& node, const Environment& environment,
                                       const TensorView& weights, float min, float max);
Result<StepPointer> LowerRowCodesConvolution(const NodeView& node, const Environment& environment,
                                             const TensorView& weights);

}  // namespace skiff::xnnpack
