#include "eager/kernels.h"

namespace skiff {

Status KernelScatterElements(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }
Status KernelScatterND(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
