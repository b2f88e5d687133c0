#include "eager/kernels.h"

namespace skiff {

Status KernelMaxPool2dIndices(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
