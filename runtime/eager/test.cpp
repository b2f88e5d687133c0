#include "eager/kernels.h"

namespace skiff {

Status KernelTest(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
