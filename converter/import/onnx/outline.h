/// What an ONNX model says about itself.
#pragma once

#include "import/import_model.h"
#include "import/onnx/proto.h"

namespace skiff {

SourceOutline OutlineOf(const onnx::ModelProto& model);

}  // namespace skiff
