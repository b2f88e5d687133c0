/// The delegates that this build contains.
#pragma once

#include "skiff/delegate.h"
#include "skiff/span.h"

namespace skiff {

/// Pass this to Model::Open(). The reference delegate is not in the list: every runtime has it.
Span<const Delegate* const> BuiltinDelegates();

}  // namespace skiff
