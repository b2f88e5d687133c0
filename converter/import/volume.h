/// Windows over three axes, as sums over the taps of the depth: plane operators work on the planes of shifted
/// volumes. Volumes are NDHWC.
#pragma once

#include <functional>

#include "import/node_builder.h"

namespace skiff {

/// One axis of a dense window.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  int64_t Span() const { return (kernel - 1) * dilation + 1; }
};

/// [N, D, H, W, C] as [N * D, H, W, C].
ValueId FoldDepth(NodeBuilder& b, ValueId x);
/// The inverse, for planes that may have changed, with the first two extents of `like`.
ValueId UnfoldDepth(NodeBuilder& b, ValueId planes, ValueId like);

/// What one tap of the depth makes of planes [N * D, H, W, C]. A bias belongs to tap 0.
using PlanesOfTap = std::function<ValueId(ValueId planes, int64_t tap)>;

ValueId ConvolveVolume(NodeBuilder& b, ValueId x, const WindowAxis& depth, const PlanesOfTap& plane);
/// The output has `output_pad` planes more at its end.
ValueId ConvolveVolumeTransposed(NodeBuilder& b, ValueId x, const WindowAxis& depth, int64_t output_pad,
                                 const PlanesOfTap& plane);

}  // namespace skiff
