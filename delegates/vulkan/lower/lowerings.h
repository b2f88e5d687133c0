/// One function for each lowering of lowerings.def, and what they share.
#pragma once

#include "core/half.h"
#include "delegates/vulkan/lower/emitter.h"

namespace skiff::vulkan {

/// How constants are packed (WeightsKey::layout). 0 is "as they are".
enum WeightsLayout : uint32_t {
  kDepthwiseWeights = 1,  ///< [kernel row][kernel column][channel].
  kMatrixWeights,         ///< [depth][column, padded to 4]; a convolution's columns are output channels.
  kPaddedBias,            ///< Zeros up to a multiple of 4, and where there is no bias.
  kBatchNormScale,
  kBatchNormShift,
  kRecurrentWeights,  ///< As recurrent.comp says.
  kCodeWeights,       ///< As quantized_product.glsl says, and the next two.
  kCodeWeightsAndSums,
  kCodeParameters,
  kCodeColumns,    ///< As quantized_weights.comp says.
  kLookupTable,    ///< 256 codes.
  kStoredWeights,  ///< As stored_weights.comp says, and the next.
  kStoredParameters,
};

/// Elements of a constant as floats.
class Floats {
 public:
  explicit Floats(const TensorView& view) : view_(view) {}
  float operator[](int64_t i) const {
    return view_.dtype == DType::kF16 ? HalfToFloat(view_.as<const uint16_t>()[i])
                                      : view_.as<const float>()[i];
  }

 private:
  const TensorView& view_;
};

/// Stands for several inputs that decide one constant together.
ContentHash HashOfInputs(const Emitter& emit, std::initializer_list<size_t> inputs);

/// Elements for shaders that move them: 0 floats, 1 words of 32 bits, kByteElements; 64-bit elements are an
/// axis of 2 words.
struct MovedElement {
  uint32_t words = 0;
  int64_t per_element = 1;
};
/// 8 bits, of which an invocation writes four.
inline constexpr uint32_t kByteElements = 4;
MovedElement MovedAs(DType dtype);
/// Of a shader that writes `elements` of them.
inline uint64_t InvocationsFor(const MovedElement& element, uint64_t elements) {
  return element.words == kByteElements ? (elements + 3) / 4 : elements;
}
/// Floats in the storage type to f32 in scratch, and back.
inline constexpr MovedElement kToSingle{2, 1};
inline constexpr MovedElement kFromSingle{3, 1};

/// A strided block of `input` to a strided block of `output`, strides and beginnings in elements.
struct Block {
  Shape extents;
  int64_t from = 0;
  int64_t to = 0;
  int64_t from_strides[kMaxRank] = {};
  int64_t to_strides[kMaxRank] = {};
};
Status EmitCopy(Emitter& emit, const Operand& from, const Operand& to, const MovedElement& element,
                const Block& block);

// elementwise.cpp
/// What shaders of pools are told, and begin their push constants with.
struct PoolWindows {
  uint32_t count, channels;
  int32_t in_height, in_width;
  uint32_t out_height, out_width;
  int32_t kernel[2], stride[2], dilation[2], pads[4];
};
/// For invocations that compute so many elements each. kUnsupported: see ReachFits(), or their windows have
/// too many taps.
Result<PoolWindows> PoolWindowsOf(const Emitter& emit, int64_t elements);

/// Whether a window and its pads, which may follow from the picture, reach no further than shaders can count.
inline bool ReachFits(int64_t taps, int64_t dilation, int64_t pad_begin, int64_t pad_end) {
  constexpr int64_t kFurthest = (int64_t{1} << 30) - 1;
  return taps - 1 <= kFurthest / dilation && pad_begin <= kFurthest && pad_end <= kFurthest;
}

Status LowerUnary(Emitter& emit);
Status LowerBinary(Emitter& emit);
Status LowerCompare(Emitter& emit);
Status LowerWhere(Emitter& emit);
Status LowerCast(Emitter& emit);
// convolution.cpp
Status LowerConv2d(Emitter& emit);
Status LowerConvTranspose2d(Emitter& emit);
Status LowerFullyConnected(Emitter& emit);
Status LowerMatMul(Emitter& emit);
// windows.cpp
Status LowerMaxPool2d(Emitter& emit);
Status LowerAveragePool2d(Emitter& emit);
Status LowerResize2d(Emitter& emit);
// rows.cpp
Status LowerReduce(Emitter& emit);
Status LowerArg(Emitter& emit);
Status LowerTopK(Emitter& emit);
Status LowerCumSum(Emitter& emit);
Status LowerSoftmax(Emitter& emit);
Status LowerLayerNorm(Emitter& emit);
Status LowerFakeQuantize(Emitter& emit);
Status LowerBatchNorm(Emitter& emit);
// recurrent.cpp
Status LowerRecurrent(Emitter& emit);
// quantized/codes.cpp
Status LowerLookup(Emitter& emit);
// movement.cpp
Status LowerAlias(Emitter& emit);
Status LowerTranspose(Emitter& emit);
Status LowerChannelShuffle(Emitter& emit);
Status LowerConcat(Emitter& emit);
Status LowerSplit(Emitter& emit);
Status LowerSlice(Emitter& emit);
Status LowerExpand(Emitter& emit);
Status LowerTile(Emitter& emit);
Status LowerPad(Emitter& emit);
Status LowerGather(Emitter& emit);
Status LowerGatherND(Emitter& emit);
// scatter.cpp
Status LowerGatherElements(Emitter& emit);
Status LowerScatterElements(Emitter& emit);
Status LowerScatterND(Emitter& emit);

}  // namespace skiff::vulkan
