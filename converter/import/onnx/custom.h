/// Nodes of the application's own operators in ONNX files.
#pragma once

#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace skiff {

/// "acme::Mish"; of ONNX's own domain "Mish".
std::string CustomNameOfOnnx(const std::string& domain, const std::string& type);

/// The attributes as a FlexBuffers map: integers, floats, strings, and vectors of them by their names. Throws
/// Error (kUnsupported), whose sentence follows the operator's name, for tensors and graphs.
std::vector<uint8_t> CustomOptionsOfOnnx(const onnx::NodeProto& node);

}  // namespace skiff
