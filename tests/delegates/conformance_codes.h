/// Quantised arguments of cases. What they point to lives as long as the process.
#pragma once

#include <string>

#include "conformance_cases.h"

namespace skiff::testing {

/// With one scale, or with `count` of them along `axis`, all of which differ.
const Quantization* Quantized(float scale, int32_t zero_point);
/// `dead`: every third scale is so small that nothing comes of it.
const Quantization* QuantizedAlong(int axis, int64_t count, float scale, bool dead = false);

/// Along an axis of such a tensor, with a scale for each run of `block` neighbours (0: for each index).
/// `zeros`: and zero points from 0 to 4.
const Quantization* QuantizedInBlocks(const Shape& shape, int axis, int64_t block, float scale, bool zeros);

/// Codes of all values, those at the ends among them.
Argument CodesOf(DType dtype, const Shape& shape, const Quantization* quantization);

enum class Bias {
  kAbsent,
  kExact,       ///< i32, whose scale is the products'.
  kOtherScale,  ///< i32 of another scale.
  kLarge,       ///< i32 that f32 does not hold exactly.
  kF32,
};

/// What the operands of a product look like.
struct Codes {
  DType dtype = DType::kI8;
  bool per_channel = false;
  Bias bias = Bias::kExact;
  float y_scale = 0.02f;
  bool dead = false;             ///< See QuantizedAlong().
  int weights_zero_point = 121;  ///< Of u8.
  /// Codes of weights less their zero point, where these are not all that there are.
  double least_weight = 0;
  double most_weight = 0;
  bool largest = false;  ///< All codes of x are.
};

/// `op` with codes of x, constant weights and a bias; `axis` of the weights becomes the output's channels.
Case& AddProduct(CaseList& list, OpCode op, const std::string& name, const Shape& x, const Shape& weights,
                 int axis, const Codes& codes);

}  // namespace skiff::testing
