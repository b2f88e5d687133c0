#include "delegates/registry.h"

#include "delegates/thread_pool.h"
#include "skiff/log.h"

#ifdef SKIFF_WITH_VULKAN
#include "delegates/vulkan/delegate.h"
#endif
#ifdef SKIFF_WITH_XNNPACK
#include "delegates/xnnpack/delegate.h"
#endif

namespace skiff {

Span<const Delegate* const> BuiltinDelegates() {
  static const Delegate* const delegates[] = {
#ifdef SKIFF_WITH_XNNPACK
      &XnnpackDelegate(),
#endif
#ifdef SKIFF_WITH_VULKAN
      &BuiltinVulkanDelegate(),
#endif
      &ReferenceDelegate(),  // Every runtime has it; an array needs an element.
  };
  return {delegates, sizeof(delegates) / sizeof(*delegates) - 1};
}

#ifndef SKIFF_WITH_XNNPACK
void DestroyThreadPool::operator()(void*) const {}

Result<ThreadPool> CreateThreadPool(int) {
  return Fail(
      StatusCode::kUnsupported,
      "this build of Skiff has no XNNPACK, and runs everything on the calling thread: leave the pool out");
}
#endif

}  // namespace skiff
