/// From a picture to an input, exactly as ImageSpec (skiff/model.h) says.
#pragma once

#include <string>
#include <vector>

#include "files/picture.h"
#include "graph/graph.h"
#include "skiff/model.h"

namespace skiff {

/// Bilinear, half-pixel centres, edges clamped, no antialiasing, not rounded: float samples of 0..255, rows
/// from the top, channels interleaved.
std::vector<float> ResizeBilinear(const Picture& picture, int width, int height);

/// Resize, order the channels, (value - mean) * scale, lay out as the input wants it, quantise where it is
/// quantised. `port.image` must describe a picture with as many channels as `picture` has.
TensorData PreprocessPicture(const Picture& picture, const PortInfo& port);

/// Reads and preprocesses. Throws Error, also for an input that has no image settings (saying how to store
/// them).
TensorData ReadImage(const std::string& path, const PortInfo& port);

}  // namespace skiff
