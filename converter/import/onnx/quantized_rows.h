/// Builders of rows that two domains have, ai.onnx and com.microsoft.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

void BuildQuantizeLinear(OnnxBuilder& b);
void BuildDequantizeLinear(OnnxBuilder& b);
/// With the attribute channels_last of com.microsoft.
void BuildQLinearConv(OnnxBuilder& b);

}  // namespace skiff
