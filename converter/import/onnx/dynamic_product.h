/// Products of integers that are made at run time, as quantisers write them: DynamicQuantizeLinear, then
/// MatMulInteger or ConvInteger, Cast, and Mul by both scales. Their result is a product of real numbers, of
/// which x is rounded by its own range (FakeQuantize); so delegates need to know one thing only.
#pragma once

#include <unordered_map>

#include "import/onnx/nested.h"

namespace skiff {

/// What a value of such a chain stands for.
struct OnnxDynamicValue {
  enum class Kind : uint8_t {
    kCodes,    ///< Of x: a DynamicQuantizeLinear's first output.
    kProduct,  ///< Of the codes with those of constant weights, in i32 or f32.
    kScales,   ///< Of x and of the weights, as a factor.
  };
  Kind kind = Kind::kCodes;
  ValueId x = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;
  // Of a product.
  ValueId weights = kNoValue;
  ValueId weights_zero_point = kNoValue;
  bool is_convolution = false;
  OnnxAttributes attributes;
  // Of scales, a constant.
  ValueId weights_scale = kNoValue;
};

/// Each does nothing where the node is none of such a chain. The node's own outputs have been made.
void NoteDynamicCodes(OnnxBuilder& b, ValueId scale, ValueId zero_point);
/// Of any node: codes that it moves are those of x, moved in the same way.
void NoteMovedCodes(OnnxBuilder& b);
void NoteDynamicProduct(OnnxBuilder& b, bool is_convolution);
void NoteDynamicCast(OnnxBuilder& b);
void NoteDynamicScales(OnnxBuilder& b);
/// Of a Mul whose output has not been made: makes it and returns true where that ends a chain.
bool OutputDynamicProduct(OnnxBuilder& b);

/// Whether the weights, their zero points and scales are constants that a product can have.
bool IsDynamicProduct(OnnxBuilder& b, const OnnxDynamicValue& product, ValueId weights_scale);
/// x, rounded by its own range, times constant integers, as a helper value or as ONNX output 0 where `suffix`
/// is null.
ValueId EmitDynamicProduct(OnnxBuilder& b, const char* suffix, const OnnxDynamicValue& product,
                           ValueId weights_scale);

}  // namespace skiff
