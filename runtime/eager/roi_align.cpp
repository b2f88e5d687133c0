#include "eager/kernels.h"

namespace skiff {

Status KernelRoiAlign(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
