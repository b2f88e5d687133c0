#include "eager/kernels.h"

namespace skiff {

Status KernelGatherElements(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }
Status KernelGatherND(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
