/// One function for each lowering of quantized.def.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

// table.cpp
Result<StepPointer> LowerQuantizedTable(const NodeView& node, const Environment& environment);
// binary.cpp
Result<StepPointer> LowerQuantizedBinary(const NodeView& node, const Environment& environment);
// convert.cpp
Result<StepPointer> LowerQuantizedQuantize(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedDequantize(const NodeView& node, const Environment& environment);
// convolution.cpp
Result<StepPointer> LowerQuantizedConv2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedConvTranspose2d(const NodeView& node, const Environment& environment);
// linear.cpp
Result<StepPointer> LowerQuantizedFullyConnected(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedMatMul(const NodeView& node, const Environment& environment);
// same.cpp
Result<StepPointer> LowerQuantizedMaxPool2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedResize2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedPad(const NodeView& node, const Environment& environment);
// softmax.cpp
Result<StepPointer> LowerQuantizedSoftmax(const NodeView& node, const Environment& environment);
// sums.cpp
Result<StepPointer> LowerQuantizedAveragePool2d(const NodeView& node, const Environment& environment);
Result<StepPointer> LowerQuantizedReduce(const NodeView& node, const Environment& environment);

}  // namespace skiff::xnnpack
