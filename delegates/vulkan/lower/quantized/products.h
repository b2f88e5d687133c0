/// What the products with constant codes share.
#pragma once

#include "delegates/vulkan/lower/convolution.h"
#include "delegates/vulkan/lower/quantized/lowerings.h"

namespace skiff::vulkan {

inline int64_t Fours(int64_t count) { return (count + 3) / 4; }

/// Input 1: an output channel has `taps` runs of `depth` codes.
struct CodeMatrix {
  int64_t channels;
  int64_t taps;
  int64_t depth;
  bool channels_last;  ///< [depth][channel] instead of [channel][tap][depth].

  int64_t Index(int64_t channel, int64_t tap, int64_t k) const {
    return channels_last ? k * channels + channel : (channel * taps + tap) * depth + k;
  }
};

/// The scale of an output channel.
inline int64_t ScaleOf(const Quantization& quantization, int64_t channel) {
  return quantization.per_tensor() ? 0 : channel;
}

/// Floats times codes, to floats.
Status EmitWeightsProduct(Emitter& emit, const CodeMatrix& matrix, float low, float high);

}  // namespace skiff::vulkan
