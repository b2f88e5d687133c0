/// What the XNNPACK delegate has lowerings for, by types alone. No XNNPACK header is needed.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

const DelegateSupport& XnnpackSupport();

}  // namespace skiff
