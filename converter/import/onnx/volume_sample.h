/// GridSample over three spatial axes.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// Of x [N, C, D, H, W] at the grid [N, d, h, w, 3]. The result is [N, d, h, w, C].
ValueId VolumeSample(OnnxBuilder& b, ValueId x, ValueId grid, const GridSampleAttrs& attrs);

}  // namespace skiff
