// Operators whose lowerings take codes as they take floats.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"

namespace skiff::xnnpack {

Result<StepPointer> LowerQuantizedMaxPool2d(const NodeView& node, const Environment& environment) {
  return LowerMaxPool2d(node, environment);
}

Result<StepPointer> LowerQuantizedResize2d(const NodeView& node, const Environment& environment) {
  return LowerResize2d(node, environment);
}

Result<StepPointer> LowerQuantizedPad(const NodeView& node, const Environment& environment) {
  return LowerPad(node, environment);
}

}  // namespace skiff::xnnpack
