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
/// So that an input has an output of the stated extents; where one of them is open, the output that the
/// padding makes of each input. SAME shares the pads out as it does for a convolution from the output to the
/// input.
TransposedPads PadsOfTransposed(const TfliteBuilder& b, tflite::Padding padding, int64_t stride,
                                int64_t kernel, std::optional<int64_t> input, std::optional<int64_t> output);

/// A constant's axes in another order, ahead of time; the node where it is no constant.
ValueId PermutedWeights(TfliteBuilder& b, const char* suffix, ValueId weights, const Ints& perm);

}  // namespace skiff
