/// What an ONNX model says about itself.
#pragma once

#include <set>
#include <string>

#include "import/import_model.h"
#include "import/onnx/proto.h"

namespace skiff {

SourceOutline OutlineOf(const onnx::ModelProto& model);

/// Where tensors say that their elements are, relative to the model's folder.
std::set<std::string> ExternalLocations(const onnx::ModelProto& model);

}  // namespace skiff
