#include "delegates/registry.h"

#ifdef SKIFF_WITH_XNNPACK
#include "delegates/xnnpack/delegate.h"
#endif

namespace skiff {

Span<const Delegate* const> BuiltinDelegates() {
#ifdef SKIFF_WITH_XNNPACK
  static const Delegate* const delegates[] = {&XnnpackDelegate()};
  return {delegates, 1};
#else
  return {};
#endif
}

}  // namespace skiff
