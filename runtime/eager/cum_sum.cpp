#include "eager/kernels.h"

namespace skiff {

Status KernelCumSum(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
