/// Elementwise work takes subnormal numbers for zero wherever it runs, and products do nowhere.
#pragma once

#include <pthreadpool.h>

namespace skiff::xnnpack {

/// Calls `work` on this thread, as a pool would that is asked to flush.
template <class Work>
void Flushing(const Work& work) {
  pthreadpool_parallelize_1d(
      nullptr, [](void* call, size_t) { (*static_cast<const Work*>(call))(); }, const_cast<Work*>(&work),
      /*range=*/1, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

}  // namespace skiff::xnnpack
