#include "eager/kernels.h"

namespace skiff {

Status KernelTopK(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
