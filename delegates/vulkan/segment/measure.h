/// Measures which work groups and tiles are fastest for the pipelines of a segment.
#pragma once

#include "delegates/vulkan/segment/segment.h"

namespace skiff::vulkan {

/// At the extents of this moment, and with zeros for inputs: no shader's time depends on values. Variants
/// that were measured for the Model before are left alone. Sizes that do not work are not chosen.
Status MeasureSegment(const SegmentView& view, const Environment& environment);

}  // namespace skiff::vulkan
