/// Elements that are stored in fewer bits than f32, as f32.
#pragma once

#include <cstdint>

#include "skiff/quantization.h"

namespace skiff {

/// Whether elements of this dtype, quantised or not, can be widened: f16, and quantised integers.
bool CanWiden(DType dtype, bool quantized);

/// Exact, NaNs included.
void WidenHalves(const uint16_t* from, int64_t count, float* to);

/// The numbers that dense quantised integers stand for, rounded once: what operator Dequantize makes of them.
void WidenCodes(const ConstTensorView& codes, float* to);

}  // namespace skiff
