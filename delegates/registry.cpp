#include "skiff/delegates.h"

#include "core/thread_count.h"
#include "skiff/log.h"
#include "skiff/thread_pool.h"

namespace skiff {

#define DELEGATE(Name) const Delegate& Builtin##Name##Delegate();
#include "delegates/built.def"
#undef DELEGATE

Span<const Delegate* const> BuiltinDelegates() {
  static const Delegate* const delegates[] = {
#define DELEGATE(Name) &Builtin##Name##Delegate(),
#include "delegates/built.def"
#undef DELEGATE
      &ReferenceDelegate(),  // Every runtime has it; an array needs an element.
  };
  return {delegates, sizeof(delegates) / sizeof(*delegates) - 1};
}

Result<std::unique_ptr<ThreadPool>> CreateThreadPool(int threads) {
  SKIFF_ASSIGN_OR_RETURN(const int count, ThreadCount(threads));
  for (const Delegate* delegate : BuiltinDelegates()) {
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, delegate->CreateThreadPool(count));
    if (pool) return pool;
  }
  return Fail(
      StatusCode::kUnsupported,
      "this build of Skiff has no XNNPACK, and runs everything on the calling thread: leave the pool out");
}

}  // namespace skiff
