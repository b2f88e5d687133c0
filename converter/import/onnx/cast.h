/// Casts to ONNX's element types, those that stand as wider ones among them.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// ONNX output 0: x as numbers of the type, which is noted. Floats of 8 and 4 bits are rounded as the node's
/// attributes say it; integers of 4 and 2 bits are the lowest bits of x; bfloat16 keeps what f32 has.
/// Specification: ONNX, operator Cast.
void OutputAs(OnnxBuilder& b, ValueId x, const OnnxType& type);

}  // namespace skiff
