/// Worker threads that several Sessions share, so that many of them do not mean many threads.
#pragma once

#include <memory>

#include "skiff/delegate.h"

namespace skiff {

/// Of the delegate that runs on the CPU's threads; it ends with its threads, after all Sessions that use it.
/// `threads` counts the one that calls Session::Run(), as SessionOptions::threads does, and 0 means the same.
/// SessionOptions::thread_pool takes `get()` of the result.
///
/// Sessions that share a pool may run at the same time on different threads. An operator whose work is shared
/// out has all of the pool until it is done, and those of other Sessions wait; small operators run on their
/// Session's own thread and wait for nobody. So the pool bounds threads, and a short run may wait for long
/// operators of another.
///
/// kInvalidArgument: more than kMaxThreads. kUnsupported: this build runs nothing on more than one thread.
/// kOutOfMemory: no memory for it, or the system does not give so many threads. None is left then.
Result<std::unique_ptr<ThreadPool>> CreateThreadPool(int threads = 0);

}  // namespace skiff
