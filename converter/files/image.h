/// From a picture in a file to an input, as ImageSpec (skiff/model.h) says, and back.
#pragma once

#include <string>

#include "files/picture.h"
#include "graph/graph.h"
#include "skiff/model.h"

namespace skiff {

/// What ImageInput makes of a picture. The input takes one at a time; extents that are open become the
/// picture's.
TensorData PreprocessPicture(const Picture& picture, const PortInfo& port);

/// Reads and preprocesses. Throws Error, also for an input that has no image settings (saying how to store
/// them), and for one that takes several pictures at a time.
TensorData ReadImage(const std::string& path, const PortInfo& port);

/// What an input with image settings shows, as samples of 0..255: of a batch, picture `index`. What the
/// settings make of no sample becomes the nearest one.
Picture PictureOf(const TensorData& input, const PortInfo& port, int64_t index);

}  // namespace skiff
