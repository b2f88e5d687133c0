#include "eager/kernels.h"

namespace skiff {

Status KernelTrilu(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
