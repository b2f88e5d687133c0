/// What the delegates that come with Skiff can do, whether or not this build has them: the host plans for
/// devices.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

/// In the order of preference.
Span<const DelegateSupport* const> BuiltinSupports();

/// The name of the delegate with this number, also of those that only this list knows.
const char* NameOfDelegate(DelegateKind kind);

}  // namespace skiff
