/// Convolutions over one to three axes. One over three is the sum, over the taps of its depth, of plane
/// convolutions of shifted volumes. Results have the channels behind the spatial axes.
#pragma once

#include "import/onnx/builder.h"

namespace skiff {

/// OIHW or OIW to OHWI.
ValueId ConvolutionWeights(OnnxBuilder& b, ValueId w, int spatial_rank);

/// Of x [N, C, D, H, W] with weights [O, C / groups, kd, kh, kw]. `attrs` are the plane's.
ValueId VolumeConvolution(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias, const WindowAttributes& window,
                          const Conv2dAttrs& attrs);

/// One axis of a transposed convolution, with the pads resolved.
struct TransposedAxis {
  WindowAxis window;
  int64_t output_pad = 0;
};

/// Depth, height and width; what the operator does not have keeps its defaults.
struct TransposedWindow {
  int spatial_rank = 2;
  TransposedAxis axes[3];
};

/// Of x [N, C, spatial axes] with weights [C, O / groups, kernel].
ValueId TransposedConvolution(OnnxBuilder& b, ValueId x, ValueId w, ValueId bias,
                              const TransposedWindow& window, int64_t groups);

}  // namespace skiff
