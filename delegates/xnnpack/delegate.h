/// The XNNPACK delegate: every node on XNNPACK's operators, on kernels of our own, or on the reference
/// kernel.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

const Delegate& BuiltinXnnpackDelegate();

}  // namespace skiff
