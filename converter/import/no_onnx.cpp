// Stands in for the importer of ONNX models where there is no protobuf to read them with.
#include "graph/error.h"
#include "import/onnx/import_onnx.h"

namespace skiff {

std::unique_ptr<SourceModel> OpenOnnx(const std::string& path) {
  Throw(StatusCode::kUnsupported, "{}: this build of Skiff cannot read ONNX models; convert on the host",
        path);
}

}  // namespace skiff
