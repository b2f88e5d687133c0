#include "eager/kernels.h"

namespace skiff {

Status KernelArg(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
