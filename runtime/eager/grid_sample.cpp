#include "eager/kernels.h"

namespace skiff {

Status KernelGridSample2d(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
