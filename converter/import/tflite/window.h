/// Windows and biases of TensorFlow Lite convolutions.
#pragma once

#include "import/tflite/builder.h"

namespace skiff {

AutoPad PaddingOf(tflite::Padding padding);

/// A convolution's bias of sums: quantised as the sums of products of x and weights are, where these are
/// quantised. kNoValue where the operator has none.
ValueId BiasOf(TfliteBuilder& b, size_t input, ValueId x, ValueId weights);

/// What a convolution multiplies: both quantised, or both real numbers.
struct Operands {
  ValueId x = kNoValue;
  ValueId weights = kNoValue;
};
Operands ProductOperands(TfliteBuilder& b, size_t x, size_t weights);

/// One axis of a transposed convolution.
struct TransposedPads {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t output = 0;  ///< What the output has beyond the last window.
};

/// The spatial extents that a transposed convolution's shape operand states for its output. SAME shares the
/// pads out as it does for a convolution from the output to the input. Where it cannot be told what the pads
/// are, there are none, and the output is cropped while the model runs.
class TransposedExtents {
 public:
  /// Of an input [N, ..., C] of this rank; the operand lists as many extents.
  TransposedExtents(TfliteBuilder& b, tflite::Padding padding, ValueId stated, ValueId x, int64_t rank);
  /// Each axis once. `span`: of the kernel, with its dilation.
  TransposedPads PadsOf(int64_t axis, int64_t stride, int64_t span);
  bool crops() const { return !open_.empty(); }
  /// The convolution's result, with the stated extents.
  ValueId Cropped(ValueId y);

 private:
  struct OpenAxis {
    int64_t axis, stride, span;
  };
  TfliteBuilder& b_;
  const bool same_;
  const ValueId stated_, x_;
  const int64_t rank_;
  std::vector<OpenAxis> open_;  ///< In their order.
};

/// A constant's axes in another order, ahead of time; the node where it is no constant.
ValueId PermutedWeights(TfliteBuilder& b, const char* suffix, ValueId weights, const Ints& perm);

}  // namespace skiff
