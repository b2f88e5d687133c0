#include "eager/kernels.h"

namespace skiff {

Status KernelReverseSequence(const KernelArgs&) { return Fail(StatusCode::kUnsupported, "not built yet"); }

}  // namespace skiff
